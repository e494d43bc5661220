// Features without elements whose other dimensions would make their neighbours too large.

import { batchTensors, type Outputs, type Tensor, type TensorBatcher } from "batchwise/tensor";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

type Record0 = Readonly<Record<string, Tensor>>;

function of(...dims: number[]): Record0 {
  const size = dims.reduce((product, dim) => product * dim, 1);
  return { x: { type: "float32", data: new Float32Array(size).fill(1), dims } };
}

/** A batcher that gives `x` back, and the dimensions that its handler saw. */
function rig(): { fn: TensorBatcher<Record0, Outputs>; seen: (readonly number[])[] } {
  const seen: (readonly number[])[] = [];
  const handler = ({ x }: Record0): Outputs => {
    seen.push((x as Tensor).dims);
    return x as Tensor;
  };
  return { fn: batchTensors<Record0>(handler, { clock: virtualClock() }), seen };
}

const tooWide = (dims: string): object => ({
  status: "rejected",
  reason: {
    code: "INVALID_OPTION",
    message: expect.stringMatching(
      `^Expected \`features\\.x\` to pad the rows of a batch by at most 16777216 elements, got \\d+: dims ${dims}`,
    ) as string,
  },
});

describe("a feature without elements", () => {
  test.each([
    ["that no memory could hold", 2 ** 40],
    ["that next to the others is too large", 2 ** 20],
  ])("and with a dimension %s fails only its own caller", async (_, width) => {
    const { fn, seen } = rig();
    const [first, wide, last] = await Promise.allSettled([fn(of(1, 512, 3)), fn(of(1, 0, width)), fn(of(2, 20, 4))]);
    expect(wide).toMatchObject(tooWide(`\\[1, 0, ${width}\\]`));
    expect(first).toMatchObject({ status: "fulfilled", value: { dims: [1, 512, 4] } });
    expect(last).toMatchObject({ status: "fulfilled", value: { dims: [2, 512, 4] } });
    expect(seen.map(([, ...rowDims]) => rowDims)).toEqual([[512, 4]]);
  });

  test("and with a large dimension does not end another without elements, but itself", async () => {
    const { fn } = rig();
    const answers = await Promise.allSettled([fn(of(1, 100, 0)), fn(of(1, 0, 2 ** 20)), fn(of(1, 0, 7))]);
    expect(answers).toMatchObject([{ status: "fulfilled" }, tooWide("\\[1, 0, 1048576\\]"), { status: "fulfilled" }]);
  });

  test("of a common width joins the others, and widens them like every row", async () => {
    const { fn, seen } = rig();
    await Promise.all([fn(of(1, 3, 2)), fn(of(1, 0, 768))]);
    expect(seen).toEqual([[2, 3, 768]]);
  });
});
