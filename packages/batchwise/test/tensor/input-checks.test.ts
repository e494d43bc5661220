// A handler's own check of its calls.

import { batchTensors, type Tensor, type TensorForm } from "batchwise/tensor";
import { describe, expect, test } from "vitest";

interface Picture {
  readonly x: Tensor<"float32">;
}

function picture(...dims: [rows: number, channels: number, width: number]): Picture {
  const [rows, channels, width] = dims;
  return { x: { type: "float32", data: new Float32Array(rows * channels * width).fill(1), dims } };
}

/** Takes only three channels; `seen` has the dimensions of its batches. */
function threeChannels(): { seen: (readonly number[])[]; asked: TensorForm[]; handler: object } {
  const seen: (readonly number[])[] = [];
  const asked: TensorForm[] = [];
  const handler = {
    checkInputs({ x }: Readonly<Record<string, TensorForm>>): void {
      asked.push(x as TensorForm);
      if (x?.dims[1] !== 3) throw new RangeError(`three channels, not ${x?.dims[1]}`);
    },
    run({ x }: Picture): Tensor {
      seen.push(x.dims);
      return x;
    },
  };
  return { seen, asked, handler };
}

describe("a handler with `checkInputs`", () => {
  test("rejects only a call with wrong inputs, and pads no other to it", async () => {
    const { seen, handler } = threeChannels();
    const run = batchTensors(handler as never);
    const answers = await Promise.allSettled([
      run(picture(1, 4, 9) as never),
      run(picture(2, 3, 2) as never),
      run(picture(1, 1, 2) as never),
      run(picture(1, 3, 5) as never),
    ]);
    expect(seen).toEqual([[3, 3, 5]]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "fulfilled"]);
    expect(answers[0]).toMatchObject({ reason: { message: "three channels, not 4" } });
    expect(answers[2]).toMatchObject({ reason: { message: "three channels, not 1" } });
    expect(answers[1]).toMatchObject({ value: { dims: [2, 3, 5] } });
  });

  test("is not run where it takes none of a batch's calls: each gets its own error", async () => {
    const { seen, handler } = threeChannels();
    const run = batchTensors(handler as never);
    const answers = await Promise.allSettled([run(picture(1, 4, 9) as never), run(picture(1, 1, 2) as never)]);
    expect(seen).toEqual([]);
    expect(answers).toMatchObject([
      { reason: { message: "three channels, not 4" } },
      { reason: { message: "three channels, not 1" } },
    ]);
  });

  test("is called with the dimensions of a call in a batch of one, rounded up", async () => {
    const { asked, handler } = threeChannels();
    const run = batchTensors(handler as never, { padToMultipleOf: { x: [1, 4] } });
    await Promise.all([run(picture(2, 3, 2) as never), run(picture(1, 3, 7) as never)]);
    expect(asked).toEqual([
      { type: "float32", dims: [2, 3, 4] },
      { type: "float32", dims: [1, 3, 8] },
    ]);
  });

  test("is called before any function of the user gets the call", async () => {
    const { handler } = threeChannels();
    const got: unknown[] = [];
    const name = ({ x }: Picture): string => {
      got.push(x.dims);
      return "one";
    };
    const count = ({ x }: Picture): number => {
      got.push(x.dims);
      return 1;
    };
    const run = batchTensors<Picture, Tensor>(handler as never, { key: name, dedupe: name, fairBy: name, cost: count });
    const wrong = picture(1, 4, 9);
    await expect(run(wrong)).rejects.toThrow("three channels, not 4");
    await expect(run.submitMany([wrong], { cost: count, priority: count })).rejects.toThrow("three channels, not 4");
    const settled = await run.submitSettled([wrong, picture(1, 3, 2)]);
    expect(settled.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(new Set(got.map(String))).toEqual(new Set(["1,3,2"]));
  });

  test("is called when the call is stacked while the handler is not open, since it cannot know its inputs yet", async () => {
    const { seen, asked, handler } = threeChannels();
    let open = (): void => {};
    const opening = new Promise<void>((resolve) => {
      open = resolve;
    });
    const run = batchTensors<Picture, Tensor>({ ...handler, open: () => opening } as never);
    const early = Promise.allSettled([run(picture(1, 4, 9)), run(picture(1, 3, 2))]);
    await new Promise(setImmediate);
    expect(asked).toEqual([]);
    open();
    expect((await early).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(asked).toHaveLength(2);
    await expect(run(picture(1, 4, 9))).rejects.toThrow("three channels, not 4");
    expect(run.stats()).toMatchObject({ submitted: 2 });
    expect(seen).toEqual([[2, 3, 2]]);
  });

  test("that is no function is refused", () => {
    expect(() => batchTensors({ run: () => [], checkInputs: 3 } as never)).toThrow("handler.checkInputs");
  });
});
