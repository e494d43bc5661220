// What users of `batched.inference` and `batched.aio.inference` rely on: the cases of the tests of
// mixedbread's `batched`, with its quirks left out. docs/coming-from.md points here. What each test
// stands for there (names without `test_`, `batch_processor_` and `async_model_batch_processor_`;
// most exist for threads and for asyncio):
//
// has its options from the start ................ initialization (2 of them) has no start; shut
// down ....................... start_and_shutdown answers a call of two rows ....................
// call, acall, call (asyncio) answers a call of more rows than a batch ...... acall_multiple,
// call_multiple lets calls of few rows go first ............... prioritize counts rows and the time
// of its batches ....... stats is made of a sync, an async handler ...........
// dynamically_decorator (2), concurrent hands an error to every caller ................
// exception_handling (2), acall_exception_handling runs ten calls at once ........................
// concurrent_calls, acall_concurrent padding with a token ... summed away ..........
// with_pad_tokens, with_padding is on the right unless ........................
// padding_side_initialization (2) with the side ... is seen ...................
// with_padding_side_left, _right (2 each), and of the decorator (2 each) of five calls at once
// ......................... concurrent_calls_with_padding is done for each feature
// ...................... multiple_keys_left_padding, stack_features_multiple_keys_left_padding
// stacking rows with the side ............... stack_features_right_padding_default, _left_padding,
// _torch_tensors_...

import { batchTensors, type FeaturesOf, stack, type Tensor, type TensorBatchOptions, unstack } from "batchwise/tensor";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { range, reasonOf } from "../support.ts";
import { doubled, float32, int64, lists, sums } from "./kit.ts";

interface Inputs {
  readonly input: Tensor<"int64">;
}

interface Encoded {
  readonly input_ids: Tensor<"int64">;
}

/** A batcher on a clock that stands still: what waits for time would hang. */
function of<Given extends FeaturesOf<Given>, Output extends Tensor>(
  handler: (features: Given) => Output | Promise<Output>,
  options: Partial<TensorBatchOptions<Given, Output>> = {},
) {
  return batchTensors<Given, Output>(handler, { clock: virtualClock(), ...(options as object) });
}

const twice = ({ input }: Inputs): Tensor<"int64"> => doubled(input);
const same = ({ input_ids: ids }: Encoded): Tensor<"int64"> => ids;
const one = (value: number): Inputs => ({ input: int64([[value]]) });
const fail = (): never => {
  throw new Error("Test error");
};
/** A slow handler, on a clock that the test moves. */
function slow<Given extends FeaturesOf<Given>>(handler: (features: Given) => Tensor<"int64">, options: object) {
  const clock = virtualClock();
  const later = (features: Given) =>
    new Promise<Tensor<"int64">>((resolve) => {
      clock.setTimeout(() => resolve(handler(features)), 100);
    });
  return { clock, fn: batchTensors<Given, Tensor<"int64">>(later, { clock, ...options }) };
}

describe("a processor of tensors", () => {
  test("has its options from the start, and starts nothing before the first call", () => {
    const clock = virtualClock();
    const fn = batchTensors(twice, { maxBatchSize: 32, maxWaitMs: 5, smallCallFirst: 8, clock });
    expect(fn.options).toMatchObject({ maxBatchSize: 32, maxWaitMs: 5, smallCallFirst: 8, padTokens: {} });
    expect([clock.timers, fn.closed]).toEqual([0, false]);
  });

  test("has no start; shut down, it answers waiting calls and refuses later ones", async () => {
    const fn = of(twice);
    const answer = fn(one(1));
    await fn.close();
    expect([lists(await answer), fn.closed]).toEqual([[[2]], true]);
    expect(await reasonOf(fn(one(2)))).toMatchObject({ code: "CLOSED" });
  });

  test("answers a call of two rows, as fn(features) and as fn.submit(features)", async () => {
    const fn = of(twice);
    const input = int64([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(lists(await fn({ input }))).toEqual([
      [2, 4, 6],
      [8, 10, 12],
    ]);
    expect(lists(await fn.submit({ input }))).toEqual([
      [2, 4, 6],
      [8, 10, 12],
    ]);
  });

  test("answers a call of more rows than a batch, in their order", async () => {
    const fn = of(twice, { maxBatchSize: 3 });
    expect(lists(await fn({ input: int64(range(5).map((value) => [value + 1])) }))).toEqual([[2], [4], [6], [8], [10]]);
    expect(fn.stats().batches).toBe(2);
  });

  test("lets calls of few rows go first, by a threshold", async () => {
    const seen: unknown[] = [];
    const fn = of(
      ({ input }: Inputs) => {
        seen.push(lists(input));
        return input;
      },
      { smallCallFirst: 3, maxBatchSize: 2 },
    );
    await Promise.all([fn({ input: int64([[1], [2], [3], [4]]) }), fn({ input: int64([[5], [6]]) })]);
    expect(seen).toEqual([
      [[5], [6]],
      [[1], [2]],
      [[3], [4]],
    ]);
  });

  test("counts rows and the time of its batches", async () => {
    const { clock, fn } = slow(({ input }: Inputs) => input, { maxBatchSize: 2 });
    for (const input of [
      int64([
        [1, 2],
        [3, 4],
      ]),
      int64([
        [5, 6],
        [7, 8],
      ]),
    ]) {
      const answer = fn({ input });
      await clock.advance(100);
      await answer;
    }
    expect(fn.stats()).toMatchObject({ completed: 4, waiting: 0, runMs: { mean: 100 } });
  });

  test.each([
    ["a sync", twice],
    ["an async", async (features: Inputs) => twice(features)],
  ])(
    "is made of %s handler: calls of one turn share its batches, calls after one another do not",
    async (_, handler) => {
      const together = of(handler, { maxBatchSize: 3 });
      const answers = await Promise.all(range(10).map((value) => together(one(value))));
      expect(answers.map(lists)).toEqual(range(10).map((value) => [[value * 2]]));
      expect(together.stats().batches).toBe(4);
      const apart = of(handler, { maxBatchSize: 3 });
      for (const value of range(5)) expect(lists(await apart(one(value)))).toEqual([[value * 2]]);
      expect(apart.stats().batches).toBe(5);
    },
  );

  test.each([
    ["a sync", fail],
    ["an async", async () => fail()],
  ])("hands an error of %s handler to every caller", async (_, handler) => {
    const fn = of<Inputs, Tensor<"int64">>(handler);
    const reasons = await Promise.all([
      reasonOf(fn(one(1))),
      reasonOf(
        fn({
          input: int64([
            [1, 2],
            [3, 4],
          ]),
        }),
      ),
    ]);
    expect(reasons.map((reason) => (reason as Error).message)).toEqual(["Test error", "Test error"]);
  });

  test("runs ten calls at once in two batches of five, also while the handler is slow", async () => {
    const { clock, fn } = slow(twice, { maxBatchSize: 5, maxWaitMs: 50 });
    const answers = Promise.all(range(10).map((value) => fn(one(value))));
    await clock.advance(200);
    expect((await answers).map((answer) => lists(answer))).toEqual(range(10).map((value) => [[value * 2]]));
    expect(fn.stats()).toMatchObject({ batches: 2, completed: 10 });
  });
});

describe("padding", () => {
  const encoded = (...rows: number[][]): Encoded => ({ input_ids: int64(rows) });
  const calls = [encoded([1, 2, 3]), encoded([4, 5])];

  test("with a token that the handler sums away makes no difference", async () => {
    const fn = of(({ input }: Inputs) => sums(input) as Tensor<"int64">, { maxBatchSize: 2, padTokens: { input: 0 } });
    expect(
      await Promise.all(
        [
          [1, 2, 3],
          [4, 5],
        ].map((row) => fn({ input: int64([row]) })),
      ),
    ).toEqual([int64([6]), int64([9])]);
  });

  test("is on the right unless `paddingSide` says left", () => {
    expect(of(twice).options.paddingSide).toBe("right");
    expect(of(twice, { paddingSide: "left" }).options.paddingSide).toBe("left");
  });

  test.each([
    [undefined, [4, 5, 0]],
    ["right", [4, 5, 0]],
    ["left", [0, 4, 5]],
  ] as const)("with the side %s is seen in an output as long as the input", async (paddingSide, short) => {
    const fn = of(same, { maxBatchSize: 2, padTokens: { input_ids: 0 }, paddingSide });
    expect((await Promise.all(calls.map((call) => fn(call)))).map(lists)).toEqual([[[1, 2, 3]], [short]]);
    expect(fn.stats().batches).toBe(1);
  });

  test("of five calls at once goes to the longest of them all", async () => {
    const { clock, fn } = slow(same, {
      maxBatchSize: 5,
      maxWaitMs: 50,
      padTokens: { input_ids: 0 },
      paddingSide: "left",
    });
    const rows = [
      [1, 2, 3],
      [4, 5],
      [6, 7, 8, 9],
      [10, 11],
      [12, 13, 14],
    ];
    const answers = Promise.all(rows.map((row) => fn(encoded(row))));
    await clock.advance(100);
    expect((await answers).map((answer) => lists(answer))).toEqual([
      [[0, 1, 2, 3]],
      [[0, 0, 4, 5]],
      [[6, 7, 8, 9]],
      [[0, 0, 10, 11]],
      [[0, 12, 13, 14]],
    ]);
  });

  test("of rows that are alike adds nothing, over two batches either", async () => {
    const fn = of(({ input }: Inputs) => input, { maxBatchSize: 3, padTokens: { input: 0 } });
    const input = int64([
      [1, 2],
      [3, 4],
      [5, 6],
      [7, 8],
    ]);
    expect(await fn({ input })).toEqual(input);
    expect(fn.stats()).toMatchObject({ batches: 2, completed: 4 });
  });

  test("is done for each feature, and a record of outputs has them all", async () => {
    const fn = batchTensors(
      ({ input_ids, attention_mask }: Encoded & { readonly attention_mask: Tensor<"int64"> }) => ({
        input_ids,
        attention_mask,
      }),
      { maxBatchSize: 2, padTokens: { input_ids: 0, attention_mask: 0 }, paddingSide: "left", clock: virtualClock() },
    );
    const answers = await Promise.all([
      fn({ input_ids: int64([[1, 2]]), attention_mask: int64([[1, 1]]) }),
      fn({ input_ids: int64([[3, 4, 5]]), attention_mask: int64([[1, 1, 1]]) }),
    ]);
    expect(answers).toEqual([
      { input_ids: int64([[0, 1, 2]]), attention_mask: int64([[0, 1, 1]]) },
      { input_ids: int64([[3, 4, 5]]), attention_mask: int64([[1, 1, 1]]) },
    ]);
  });
});

describe("stacking rows", () => {
  const rows = [
    [1, 2, 3],
    [4, 5],
    [6, 7, 8, 9],
  ].map((row) => int64(row));

  test.each([
    [
      undefined,
      [
        [1, 2, 3, 0],
        [4, 5, 0, 0],
        [6, 7, 8, 9],
      ],
    ],
    [
      "left",
      [
        [0, 1, 2, 3],
        [0, 0, 4, 5],
        [6, 7, 8, 9],
      ],
    ],
  ] as const)("with the side %s pads them to the longest, and apart they are rows again", (paddingSide, expected) => {
    const stacked = stack(rows, { padToken: 0, paddingSide });
    expect(lists(stacked)).toEqual(expected);
    expect(unstack(stacked).map(lists)).toEqual(expected);
  });

  test("keeps floats as they are", () => {
    expect(lists(stack([float32([0.5, 1.5]), float32([2.5])], { paddingSide: "left" }))).toEqual([
      [0.5, 1.5],
      [0, 2.5],
    ]);
  });
});

describe("keyword features", () => {
  test("are spread by the handler's own parameter, and callers name them in a record", async () => {
    const fn = batchTensors(
      ({ left, right }: { readonly left: Tensor<"int64">; readonly right: Tensor<"int64"> }) => ({
        ...left,
        data: left.data.map((value, index) => value + (right.data[index] as bigint)),
      }),
      { clock: virtualClock() },
    );
    const answers = await Promise.all([
      fn({ left: int64([[1, 2]]), right: int64([[10, 20]]) }),
      fn({ left: int64([[3]]), right: int64([[30]]) }),
    ]);
    expect(answers.map(lists)).toEqual([[[11, 22]], [[33, 0]]]);
  });
});
