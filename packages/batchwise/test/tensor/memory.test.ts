// Ownership of a tensor's memory: what is passed on, what is copied, and that no caller sees
// another's data.

import { batchTensors, type Outputs, type Tensor, type TensorBatchOptions } from "batchwise/tensor";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { reasonOf } from "../support.ts";
import { doubled, float32, int64, lists } from "./kit.ts";

type Record0 = Readonly<Record<string, Tensor>>;

function batcher(handler: (features: Record0) => Outputs, options: TensorBatchOptions<Record0, never> = {}) {
  return batchTensors<Record0>(handler, { clock: virtualClock(), ...(options as object) });
}

const dataOf = (answer: unknown): Float32Array => (answer as Tensor<"float32">).data;

describe("the handler's input", () => {
  const seen: Tensor[] = [];
  const keep = ({ ids }: Record0): Outputs => {
    seen.push(ids as Tensor);
    return doubled(ids as Tensor);
  };

  test("is a single caller's own memory where nothing is padded, also for a part of its rows", async () => {
    seen.length = 0;
    const ids = int64([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
    await batcher(keep)({ ids });
    expect(seen[0]?.data).toBe(ids.data);
    await batcher(keep, { maxBatchSize: 2 })({ ids });
    expect(seen.slice(1).map(({ data }) => [(data as BigInt64Array).buffer === ids.data.buffer, data.length])).toEqual([
      [true, 4],
      [true, 2],
    ]);
  });

  test.each<[string, object, object]>([
    ["a multiple asks for padding", { padToMultipleOf: 4 }, {}],
    ["`copyInputs` asks for it", { copyInputs: true }, {}],
    ["a handler object asks for it", {}, { copyInputs: true }],
  ])("is a copy where %s", async (_, options, asked) => {
    seen.length = 0;
    const ids = int64([[1, 2]]);
    const fn = batchTensors<Record0>({ run: keep, ...asked }, { clock: virtualClock(), ...options });
    await fn({ ids });
    expect((seen[0] as Tensor<"int64">).data.buffer).not.toBe(ids.data.buffer);
    expect(ids).toEqual(int64([[1, 2]]));
  });

  test("may be transferred with `copyInputs`, and the batch still be tried again", async () => {
    let runs = 0;
    const fn = batcher(
      ({ ids }) => {
        runs += 1;
        structuredClone(ids, { transfer: [(ids as Tensor<"int64">).data.buffer as ArrayBuffer] });
        if (runs === 1) throw new Error("once");
        return float32([1, 2]);
      },
      { copyInputs: true, retry: { attempts: 2 } },
    );
    const ids = int64([[1], [2]]);
    expect(await fn({ ids })).toEqual(float32([1, 2]));
    expect(lists(ids)).toEqual([[1], [2]]);
  });
});

describe("a caller's result", () => {
  const output = float32([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  const one = { ids: int64([[1]]) };
  const two = { ids: int64([[2], [3]]) };

  test("is the handler's own memory where the batch has only its rows", async () => {
    const fn = batcher(() => output);
    expect(dataOf(await fn({ ids: int64([[1], [2], [3]]) }))).toBe(output.data);
  });

  test("is memory of its own where others are in the batch: it may be changed, kept and transferred", async () => {
    const fn = batcher(() => output);
    const [first, second] = await Promise.all([fn(one), fn(two)]);
    expect([first, second]).toEqual([
      float32([[1, 2]]),
      float32([
        [3, 4],
        [5, 6],
      ]),
    ]);
    // The mistake that many make with a view: its buffer is not its data.
    expect([...new Float32Array(dataOf(first).buffer)]).toEqual([1, 2]);
    structuredClone(first, { transfer: [dataOf(first).buffer as ArrayBuffer] });
    dataOf(second).fill(0);
    expect(lists(output)).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
  });

  test('is a view with `copyOutputs: "never"`, and always a copy with "always"', async () => {
    const views = batcher(() => output, { copyOutputs: "never" });
    const answers = await Promise.all([views(one), views(two)]);
    expect(answers).toEqual([
      float32([[1, 2]]),
      float32([
        [3, 4],
        [5, 6],
      ]),
    ]);
    expect(answers.map((answer) => dataOf(answer).buffer === output.data.buffer)).toEqual([true, true]);
    const scratch = float32([[0]]);
    const copies = batcher(
      ({ ids }) => {
        scratch.data[0] = Number((ids as Tensor<"int64">).data[0]);
        return scratch;
      },
      { copyOutputs: "always" },
    );
    const first = await copies({ ids: int64([[1]]) });
    await copies({ ids: int64([[2]]) });
    expect(lists(first as Tensor)).toEqual([[1]]);
  });

  describe('with `copyOutputs: "always"`, of a handler that uses its output memory again', () => {
    const scratch = new Float32Array(2);
    const run = ({ ids }: Record0): Outputs => {
      const data = scratch.subarray(0, (ids as Tensor).data.length);
      for (let row = 0; row < data.length; row += 1) data[row] = 10 * Number((ids as Tensor<"int64">).data[row]);
      return { type: "float32", data, dims: [data.length, 1] };
    };
    const runLater = async (features: Record0): Promise<Outputs> => {
      await null;
      return run(features);
    };
    const row = (value: number) => ({ ids: int64([[value]]) });

    test.each<[string, object, object]>([
      ["a function", { run }, {}],
      ["an async function", { run: runLater }, {}],
      ["a `finish`", { run: ({ ids }: Record0) => ids, finish: (ids: Tensor) => run({ ids }) }, {}],
      ["two calls at a time that do not await", { run }, { concurrency: 2 }],
      ["`run` of the next batch beside `finish`", { prepare: (ids: Record0) => ids, run: runLater }, { prefetch: 1 }],
      ["`dedupe`", { run: runLater }, { dedupe: ({ ids }: Record0) => String((ids as Tensor).data) }],
    ])("is the caller's own rows, also of one call over two batches: %s", async (_, handler, options) => {
      const fn = batchTensors<Record0>(handler as { run: typeof run }, {
        ...{ clock: virtualClock(), maxBatchSize: 2, copyOutputs: "always" },
        ...options,
      });
      const answers = await Promise.all([
        fn({ ids: int64([[1], [2], [3], [4]]) }),
        fn.submitMany([row(5), row(6)]),
        fn.submitMany([row(7), row(8)]),
        fn(row(9)),
      ]);
      expect(answers.flat().map((answer) => lists(answer as Tensor))).toEqual([
        [[10], [20], [30], [40]],
        ...[[[50]], [[60]], [[70]], [[80]], [[90]]],
      ]);
      const buffers = answers.flat().map((answer) => dataOf(answer).buffer);
      expect(new Set(buffers).size).toBe(6);
      expect(buffers.map(({ byteLength }) => byteLength)).toEqual([16, 4, 4, 4, 4, 4]);
    });
  });

  test("is its own also where two calls share a row by `dedupe`, and where a cache kept it", async () => {
    for (const copyOutputs of ["shared", "never"] as const) {
      const kept = new Map<string, Outputs>();
      const fn = batcher(({ ids }) => doubled(ids as Tensor), {
        copyOutputs,
        dedupe: ({ ids }) => String((ids as Tensor).data),
        cache: kept as never,
      });
      const [first, second] = await Promise.all([fn(one), fn(one)]);
      (first as Tensor<"int64">).data[0] = 77n;
      ((await fn(one)) as Tensor<"int64">).data[0] = 88n;
      const third = await fn(one);
      expect([second, third, kept.get("1")]).toEqual([int64([[2]]), int64([[2]]), int64([[2]])]);
      expect(fn.stats()).toMatchObject({ submitted: 4, deduped: 1, cacheHits: 2, batches: 1 });
    }
  });
});

describe("data that have gone between the submit and the batch", () => {
  test("reject their own call; the others of the batch are answered", async () => {
    const fn = batcher(({ ids }) => doubled(ids as Tensor));
    const gone = int64([[5, 6]]);
    const answers = [fn({ ids: int64([[1]]) }), fn({ ids: gone }), fn({ ids: int64([[2]]) })];
    structuredClone(gone, { transfer: [gone.data.buffer as ArrayBuffer] });
    const [first, second, third] = await Promise.allSettled(answers);
    expect(second).toMatchObject({
      status: "rejected",
      reason: { message: "Expected `features.ids.data` to have 2 elements for dims [1, 2], got 0" },
    });
    expect([first, third].map((settled) => lists((settled as PromiseFulfilledResult<Tensor>).value))).toEqual([
      [[2]],
      [[4]],
    ]);
  });

  test("reject the batch where there are no others, and the handler is not called", async () => {
    let calls = 0;
    const fn = batcher(({ ids }) => {
      calls += 1;
      return ids as Tensor;
    });
    const gone = int64([[5]]);
    const answer = fn({ ids: gone });
    structuredClone(gone, { transfer: [gone.data.buffer as ArrayBuffer] });
    expect(await reasonOf(answer)).toMatchObject({ code: "INVALID_OPTION" });
    expect(calls).toBe(0);
  });
});
