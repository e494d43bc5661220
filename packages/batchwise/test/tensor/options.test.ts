// The options of any batcher, on tensors.

import { batchTensors, type Tensor, type TensorBatchOptions } from "batchwise/tensor";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { reasonOf, thrownBy } from "../support.ts";
import { doubled, float32, int64, lists } from "./kit.ts";

type Record0 = Readonly<Record<string, Tensor>>;
type Options = TensorBatchOptions<Record0, Tensor>;

function rig(options: Options = {}) {
  const shapes: (readonly number[])[] = [];
  const costs: number[] = [];
  const fn = batchTensors<Record0, Tensor>(
    ({ ids }, { cost }) => {
      shapes.push((ids as Tensor).dims);
      costs.push(cost);
      return ids as Tensor;
    },
    { clock: virtualClock(), ...options },
  );
  return { fn, shapes, costs };
}

const row = (length: number): Record0 => ({ ids: int64(new Array(length).fill(1), [1, length]) });
const submit = async (options: Options, lengths: number[]) => {
  const of = rig(options);
  await Promise.all(lengths.map((length) => of.fn(row(length))));
  return of;
};

describe("the cost of a batch", () => {
  test("is rows x longest, and `maxBatchCost` caps it", async () => {
    const { shapes, costs } = await submit({ maxBatchCost: 24 }, [2, 3, 8, 4, 4, 4, 12, 2]);
    expect(shapes).toEqual([
      [3, 8],
      [3, 4],
      [2, 12],
    ]);
    expect(costs).toEqual([24, 12, 24]);
  });

  test("counts the padding of `padToMultipleOf`, so that the cap holds for the computed size", async () => {
    const { shapes } = await submit({ maxBatchCost: 24, padToMultipleOf: 8 }, [2, 3, 4, 2]);
    expect(shapes).toEqual([
      [3, 8],
      [1, 8],
    ]);
  });

  test("of several features is that of the largest", async () => {
    const { fn, costs } = rig();
    await fn({ ids: int64([[1, 2]]), image: float32(new Array(24).fill(0), [1, 3, 2, 4]) });
    expect(costs).toEqual([24]);
  });

  test("goes by `lengthOf`, a row at a time", async () => {
    const lengthOf = ({ ids }: Record0): number => ((ids as Tensor).dims[1] as number) * 10;
    expect((await submit({ lengthOf }, [1, 3])).costs).toEqual([60]);
    const dims: unknown[] = [];
    const { fn } = rig({ lengthOf: ({ ids }) => dims.push((ids as Tensor).dims) });
    await fn({
      ids: int64([
        [1, 2],
        [3, 4],
      ]),
    });
    expect(dims).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  test("is the sum where the user gives a `cost`, unless `batchCost` says otherwise", async () => {
    expect((await submit({ cost: () => 5 }, [1, 3])).costs).toEqual([10]);
    expect(
      (await submit({ cost: ({ ids }) => (ids as Tensor).data.length, batchCost: "padded" }, [1, 3])).costs,
    ).toEqual([6]);
    expect((await submit({ batchCost: "sum" }, [1, 3])).costs).toEqual([4]);
    expect((await submit({ batchCost: (rows) => rows.length ** 2 }, [1, 3])).costs).toEqual([4]);
    const { fn, costs } = rig();
    await Promise.all([fn(row(3), { cost: 100 }), fn(row(2))]);
    await fn.submitMany([row(1), row(2)], { cost: ({ ids }) => ((ids as Tensor).dims[1] as number) * 7 });
    expect(costs).toEqual([200, 28]);
  });

  test("over the cap by itself is refused, or goes as a batch of one", async () => {
    expect(await reasonOf(rig({ maxBatchCost: 4 }).fn(row(5)))).toMatchObject({ code: "ITEM_TOO_LARGE" });
    expect((await submit({ maxBatchCost: 4, oversize: "alone" }, [5, 2, 2])).shapes).toEqual([
      [1, 5],
      [2, 2],
    ]);
  });

  test('is the measure of `order: "length"` and `maxBatchCost: "learn"`: rows of similar length share a batch', async () => {
    const { fn, shapes, costs } = rig({ order: "length", maxBatchCost: "learn", maxBatchSize: 4 });
    const lengths = [4, 90, 5, 91, 4, 92, 5, 93];
    const answers = await Promise.all(lengths.map((length) => fn(row(length))));
    expect(answers.map(({ data }) => data.filter((value) => value === 1n).length)).toEqual(lengths);
    expect(shapes.map(([rows = 0, longest = 0]) => rows * longest)).toEqual(costs);
    expect(costs.reduce((sum, cost) => sum + cost, 0)).toBeLessThan(500);
  });

  test("of an empty row goes by its other dimensions: to those the whole batch would be padded", async () => {
    const empty = { ids: int64([], [1, 0, 1_000_000_000]) };
    expect(await reasonOf(rig({ maxBatchCost: 1_000 }).fn(empty))).toMatchObject({ code: "ITEM_TOO_LARGE" });
    const { fn, costs } = rig();
    await fn({ ids: int64([], [2, 0]) });
    expect(costs).toEqual([2]);
  });

  test("that throws for a row rejects its call", async () => {
    const { fn } = rig({
      lengthOf: () => {
        throw new Error("no length");
      },
    });
    expect(await reasonOf(fn(row(1)))).toMatchObject({ message: "no length" });
  });
});

describe("functions of an item", () => {
  test("get a row: `key` and `fairBy` decide where it goes", async () => {
    const key = ({ ids }: Record0): string => String((ids as Tensor).data[0]);
    const { fn, shapes } = rig({ key, fairBy: key });
    const answer = await fn({ ids: int64([[1], [2], [1]]) });
    expect([lists(answer as Tensor), shapes]).toEqual([
      [[1], [2], [1]],
      [
        [2, 1],
        [1, 1],
      ],
    ]);
    expect(await reasonOf(rig({ key: () => 1 as never }).fn(row(1)))).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("`dedupe` and `cache` are for rows: equal ones are computed once, and kept in memory of their own", async () => {
    const seen: number[] = [];
    const store = new Map<string, Tensor>();
    const fn = batchTensors<Record0, Tensor>(
      ({ ids }) => {
        seen.push((ids as Tensor).dims[0] as number);
        return doubled(ids as Tensor);
      },
      {
        dedupe: ({ ids }) => String((ids as Tensor).data),
        cache: {
          get: async (key) => store.get(key),
          set: (key, result) => store.set(key, result),
          delete: (key) => store.delete(key),
        },
        clock: virtualClock(),
      },
    );
    expect(
      lists(
        (await fn({
          ids: int64([
            [1, 2],
            [3, 4],
            [1, 2],
          ]),
        })) as Tensor,
      ),
    ).toEqual([
      [2, 4],
      [6, 8],
      [2, 4],
    ]);
    expect(store.get("3,4")).toEqual(int64([[6, 8]]));
    expect((store.get("3,4") as Tensor<"int64">).data.buffer.byteLength).toBe(16);
    expect(
      lists(
        (await fn({
          ids: int64([
            [3, 4],
            [5, 6],
          ]),
        })) as Tensor,
      ),
    ).toEqual([
      [6, 8],
      [10, 12],
    ]);
    expect(seen).toEqual([2, 1]);
    await fn.forget("3,4");
    expect([...store.keys()]).toEqual(["1,2", "5,6"]);
  });

  test("a cache that holds something else is a miss and a warning", async () => {
    const warnings: string[] = [];
    const fn = batchTensors<Record0, Tensor>(({ ids }) => ids as Tensor, {
      dedupe: () => "same",
      cache: { get: () => int64([[1], [2]]), set: () => {} },
      clock: virtualClock(),
    });
    fn.on("warning", ({ code }) => warnings.push(code));
    expect(lists((await fn(row(1))) as Tensor)).toEqual([[1]]);
    expect(warnings).toHaveLength(1);
  });

  test("`smallCallFirst` and `priority` count the rows of a call", async () => {
    const seen: unknown[] = [];
    const fn = batchTensors<Record0, Tensor>(
      ({ ids }) => {
        seen.push(lists(ids as Tensor));
        return ids as Tensor;
      },
      { smallCallFirst: 2, maxBatchSize: 3, clock: virtualClock() },
    );
    await Promise.all([fn({ ids: int64([[1], [2], [3], [4]]) }), fn({ ids: int64([[9]]) })]);
    expect(seen).toEqual([
      [[9], [1], [2]],
      [[3], [4]],
    ]);
    seen.length = 0;
    await fn.submitMany([row(1), { ids: int64([[2]]) }], { priority: ({ ids }) => Number((ids as Tensor).data[0]) });
    expect(seen).toEqual([[[2], [1]]]);
  });

  test("a signal and a deadline end all rows of a call", async () => {
    const { fn, shapes } = rig();
    const controller = new AbortController();
    const answer = fn({ ids: int64([[1], [2]]) }, { signal: controller.signal });
    const other = fn(row(1));
    controller.abort(new Error("gone"));
    expect(await reasonOf(answer)).toMatchObject({ message: "gone" });
    await other;
    expect(shapes).toEqual([[1, 1]]);
    expect(await reasonOf(fn({ ids: int64([[1], [2]]) }, { timeoutMs: 0 }))).toMatchObject({
      code: "DEADLINE_EXCEEDED",
    });
    await fn.close();
    expect(await reasonOf(fn(row(1)))).toMatchObject({ code: "CLOSED" });
  });
});

describe("mistakes in options", () => {
  test.each([
    [{ padTokenz: {} }, "Unknown option `padTokenz`, did you mean `padTokens`?"],
    [{ spreadKwargs: true }, "Unknown option `spreadKwargs`: the handler gets one record and spreads it itself"],
    [{ maxBatchsize: 3 }, "did you mean `maxBatchSize`?"],
    [{ minBatchSize: 3 }, "`preferredBatchSize`"],
    [{ padTokens: 0 }, "Expected `padTokens` to be an object, got `0` (number)"],
    [{ padTokens: { ids: null } }, "Expected `padTokens.ids` to be a number, bigint, boolean or string, got object"],
    [{ paddingSide: "both" }, 'Expected `paddingSide` to be "right" or "left", got `both` (string)'],
    [{ padToMultipleOf: 0 }, "Expected `padToMultipleOf` to be an integer >= 1, or a list of them, got `0` (number)"],
    [
      { padToMultipleOf: { ids: [8, 1.5] } },
      "Expected `padToMultipleOf.ids` to be an integer >= 1, or a list of them, got `1.5` (number)",
    ],
    [
      { padToMultipleOf: [8, 0] },
      "Expected `padToMultipleOf` to be an integer >= 1, or a list of them, got `0` (number)",
    ],
    [{ lengthOf: 3 }, "Expected `lengthOf` to be a function, got `3` (number)"],
    [{ copyInputs: 1 }, "Expected `copyInputs` to be a boolean"],
    [{ copyOutputs: true }, 'Expected `copyOutputs` to be "shared" or "always" or "never", got `true` (boolean)'],
    [{ maxBatchSize: 0 }, "Expected `maxBatchSize` to be an integer >= 1"],
    [{ cost: 3 }, "Expected `cost` to be a function"],
    [{ key: 3 }, "Expected `key` to be a function"],
    [{ dedupe: () => "", cache: {} }, "Expected `cache` to be an object with get, set"],
    [[], "Expected `options` to be an object"],
  ])("are refused: %j", (options, message) => {
    expect(thrownBy(() => batchTensors(() => float32([]), options as never))).toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(message) as string,
    });
  });

  test("so are invalid handlers, and a stage that a call of many rows has no place for", () => {
    expect(thrownBy(() => batchTensors(undefined as never))).toMatchObject({ code: "INVALID_OPTION" });
    const handler = { run: () => float32([]), prepareItem: () => {} };
    expect(thrownBy(() => batchTensors(handler))).toMatchObject({
      message: expect.stringContaining("`handler.prepareItem`") as string,
    });
  });

  test("the options in force are shown, and limits may change", async () => {
    const { fn, shapes } = rig({ paddingSide: "left", padTokens: { ids: 3 } });
    expect(fn.options).toMatchObject({
      paddingSide: "left",
      padTokens: { ids: 3 },
      maxBatchSize: 32,
      copyOutputs: "shared",
    });
    fn.configure({ maxBatchSize: 1 });
    await Promise.all([fn(row(1)), fn(row(1))]);
    expect([fn.options.maxBatchSize, shapes.length]).toEqual([1, 2]);
  });
});

describe("a handler object", () => {
  test("has stages of its own around the stacked features, and `open` and `close`", async () => {
    const log: string[] = [];
    const fn = batchTensors(
      {
        open: () => void log.push("open"),
        prepare: ({ ids }: { ids: Tensor<"int64"> }) => [...ids.data].map(Number),
        run: (numbers: number[]) => numbers.map((value) => value * 2),
        finish: async (numbers: number[]) => float32(numbers),
        close: () => void log.push("close"),
      },
      { prefetch: 1, clock: virtualClock() },
    );
    fn.on("warning", ({ message }) => log.push(message));
    const answers = await Promise.all([fn({ ids: int64([[1]]) }), fn({ ids: int64([[2], [3]]) })]);
    expect(answers).toEqual([float32([2]), float32([4, 6])]);
    await fn.close();
    expect(log).toEqual(["open", "close"]);
  });
});

describe("the defaults of a handler object", () => {
  const handler = {
    run: ({ ids }: Record0) => ids as Tensor,
    defaults: { concurrency: 3, maxBatchCost: "learn", order: "length", maxBatchSize: 7 },
  } as const;

  test("hold where the options do not have them", () => {
    expect(batchTensors(handler).options).toMatchObject({
      ...{ concurrency: 3, maxBatchCost: "learn", order: "length", maxBatchSize: 7 },
    });
    const own = { concurrency: 1, maxBatchCost: 64, order: "fifo", maxBatchSize: undefined } as const;
    expect(batchTensors(handler, own).options).toMatchObject({
      ...{ concurrency: 1, maxBatchCost: 64, order: "fifo", maxBatchSize: 7 },
    });
  });

  test("do not change the order where a batch has a cost of its own", () => {
    expect(batchTensors(handler, { batchCost: "sum" }).options).toMatchObject({ order: "fifo", batchCost: "sum" });
    expect(batchTensors(handler, { cost: () => 1 }).options).toMatchObject({ order: "fifo", batchCost: "sum" });
  });

  test("are checked as options are", () => {
    const made = (defaults: unknown) => thrownBy(() => batchTensors({ ...handler, defaults } as never)) as Error;
    expect(made({ concurrency: 0 }).message).toContain("Expected `concurrency` to be an integer >= 1");
    expect(made({ workers: 2 }).message).toContain("Unknown option `workers`");
    expect(made("fast").message).toContain("Expected `handler.defaults` to be an object, got `fast` (string)");
  });
});
