import { batchTensors, type Outputs, type Tensor, type TensorBatcher, type TensorBatchOptions } from "batchwise/tensor";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { reasonOf } from "../support.ts";
import { doubled, float32, int64, lists, note, type Recorded, sums, tensor } from "./kit.ts";

type Record0 = Readonly<Record<string, Tensor>>;

interface Rig extends Recorded {
  readonly fn: TensorBatcher<Record0, Outputs>;
}

/**
 * A batcher on a clock that stands still, whose handler records its input. Without a handler it
 * returns `ids`.
 */
function rig(
  options: TensorBatchOptions<Record0, never> = {},
  handler: (features: Record0) => Outputs = ({ ids }) => ids as Tensor,
): Rig {
  const recorded: Recorded = { batches: [], dims: [] };
  const fn = batchTensors<Record0>(
    (features) => {
      note(recorded, features);
      return handler(features);
    },
    { clock: virtualClock(), ...(options as object) },
  );
  return { ...recorded, fn };
}

const listsOf = async (answers: Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.all(answers)).map((answer) => lists(answer as Tensor));

describe("calls of one turn", () => {
  test("are one batch, padded to its longest row, and each caller gets its own rows", async () => {
    const { fn, batches } = rig({}, ({ ids }) => sums(ids as Tensor));
    const answers = [[[1, 2]], [[3], [4]], [[5, 6, 7]]].map((rows) => fn({ ids: int64(rows) }));
    expect(await Promise.all(answers)).toEqual([int64([3]), int64([3, 4]), int64([18])]);
    expect(batches).toEqual([
      {
        ids: [
          [1, 2, 0],
          [3, 0, 0],
          [4, 0, 0],
          [5, 6, 7],
        ],
      },
    ]);
  });

  test("are padded feature by feature, with tokens of their own, on the configured side", async () => {
    const { fn, batches } = rig({ padTokens: { ids: 9, bias: -1 }, paddingSide: "left" });
    const one = { ids: int64([[1, 2]]), mask: int64([[1, 1]]), bias: float32([[0.5]]) };
    const two = { ids: int64([[3]]), mask: int64([[1]]), bias: float32([[1, 2]]) };
    await Promise.all([fn(one), fn(two)]);
    expect(batches).toEqual([
      {
        ids: [
          [1, 2],
          [9, 3],
        ],
        mask: [
          [1, 1],
          [0, 1],
        ],
        bias: [
          [-1, 0.5],
          [1, 2],
        ],
      },
    ]);
  });

  test("are padded to a multiple: a number or a list for all, a record for single features", async () => {
    const all = rig({ padToMultipleOf: 4 });
    await all.fn({ ids: int64([[1]]), mask: int64([[1, 1, 1, 1, 1]]) });
    expect(all.dims).toEqual([{ ids: [1, 4], mask: [1, 8] }]);
    const each = rig({ padToMultipleOf: [1, 4] });
    await each.fn({ ids: int64([[1]]), boxes: float32([[[1, 2]]]) });
    expect(each.dims).toEqual([{ ids: [1, 1], boxes: [1, 1, 4] }]);
    const some = rig({ padToMultipleOf: { image: [1, 1, 8], ids: 2 } });
    await some.fn({ ids: int64([[1]]), image: float32(new Array(30).fill(0), [1, 3, 2, 5]), mask: int64([[1]]) });
    expect(some.dims).toEqual([{ ids: [1, 2], image: [1, 3, 2, 8], mask: [1, 1] }]);
  });

  test("may be of any rank: every dimension after the rows is padded to the longest", async () => {
    const { fn, dims } = rig();
    await Promise.all([
      fn({ ids: float32(new Array(6).fill(1), [1, 1, 2, 3]) }),
      fn({ ids: float32(new Array(8).fill(1), [1, 2, 4, 1]) }),
    ]);
    expect(dims).toEqual([{ ids: [2, 2, 4, 3] }]);
  });
});

describe("rows", () => {
  test("an input of rank 1 is one row", async () => {
    const { fn, batches } = rig();
    expect(await listsOf([fn({ ids: int64([1, 2]) }), fn({ ids: int64([[3]]) })])).toEqual([[[1, 2]], [[3, 0]]]);
    expect(batches).toEqual([
      {
        ids: [
          [1, 2],
          [3, 0],
        ],
      },
    ]);
  });

  test("an output of rank 1 has a row an element", async () => {
    const { fn } = rig({}, ({ ids }) => float32(lists(sums(ids as Tensor))));
    expect(
      await Promise.all([
        fn({
          ids: int64([
            [1, 2],
            [3, 4],
          ]),
        }),
        fn({ ids: int64([5]) }),
      ]),
    ).toEqual([float32([3, 7]), float32([5])]);
  });

  test("of one call travel in several batches and come back in order, padded alike", async () => {
    const { fn, batches } = rig({ maxBatchSize: 2 });
    const answers = [
      fn({ ids: int64([[1], [2], [3]]) }),
      fn({
        ids: int64([
          [4, 5, 6],
          [7, 8, 9],
        ]),
      }),
    ];
    expect(await listsOf(answers)).toEqual([
      [
        [1, 0, 0],
        [2, 0, 0],
        [3, 0, 0],
      ],
      [
        [4, 5, 6],
        [7, 8, 9],
      ],
    ]);
    expect(batches).toEqual([
      { ids: [[1], [2]] },
      {
        ids: [
          [3, 0, 0],
          [4, 5, 6],
        ],
      },
      { ids: [[7, 8, 9]] },
    ]);
  });

  test("are counted: in caps, statistics and the handler's context", async () => {
    const seen: number[] = [];
    const fn = batchTensors(
      ({ ids }, { requests }) => {
        seen.push(requests.length);
        return ids as Tensor;
      },
      { maxBatchSize: 4, clock: virtualClock() },
    );
    await Promise.all([fn({ ids: int64([[1], [2], [3]]) }), fn({ ids: int64([[4], [5], [6]]) })]);
    expect(seen).toEqual([4, 2]);
    expect(fn.stats()).toMatchObject({ submitted: 6, completed: 6, batches: 2 });
  });

  test("that fail reject only their calls, while the others of the batch are answered with `isolateFailures`", async () => {
    const { fn } = rig({ isolateFailures: true }, ({ ids }) => {
      if ((ids as Tensor<"int64">).data.includes(13n)) throw new Error("poison");
      return ids as Tensor;
    });
    const settled = await fn.submitSettled([{ ids: int64([[1]]) }, { ids: int64([[2], [13]]) }, { ids: int64([[3]]) }]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(settled[1]).toMatchObject({ reason: { message: "poison" } });
  });
});

describe("answers", () => {
  const three = {
    ids: int64([
      [1, 2],
      [3, 4],
      [5, 6],
    ]),
  };

  test("may be a record, a list or a tensor, and callers get the same shape", async () => {
    const ids = (features: Record0): Tensor => features.ids as Tensor;
    const shapes: ((features: Record0) => Outputs)[] = [
      (given) => ({ twice: doubled(ids(given)), sum: sums(ids(given)), nothing: undefined as never }),
      (given) => [doubled(ids(given)), sums(ids(given))],
      (given) => doubled(ids(given)),
    ];
    const answers = shapes.map((shape) => {
      const { fn } = rig({ maxBatchSize: 2 }, shape);
      return Promise.all([fn(three), fn({ ids: int64([[7, 8]]) })]);
    });
    const twice = [
      int64([
        [2, 4],
        [6, 8],
        [10, 12],
      ]),
      int64([[14, 16]]),
    ] as const;
    const sum = [int64([3, 7, 11]), int64([15])] as const;
    expect(await Promise.all(answers)).toEqual([
      [
        { twice: twice[0], sum: sum[0] },
        { twice: twice[1], sum: sum[1] },
      ],
      [
        [twice[0], sum[0]],
        [twice[1], sum[1]],
      ],
      [twice[0], twice[1]],
    ]);
  });

  test.each([
    ["fewer rows", (): Outputs => float32([1, 2]), "Expected `output` to be a tensor of 3 rows, got 2 rows (dims [2])"],
    [
      "more rows in a list",
      (): Outputs => [float32([[1], [2], [3], [4]])],
      "`output[0]` to be a tensor of 3 rows, got 4 rows (dims [4, 1])",
    ],
    ["no rows", (): Outputs => ({ loss: float32(1) }), "`output.loss` to be a tensor of 3 rows, got no rows (dims [])"],
    [
      "nothing",
      (): Outputs => undefined as never,
      "Expected `output` to be a tensor, or a list or a record of tensors, got `undefined`",
    ],
    ["an empty record", (): Outputs => ({}), "got an empty one"],
    [
      "a list of numbers",
      (): Outputs => [1, 2, 3] as never,
      "Expected `output[0]` to be a tensor { type, data, dims }, got `1` (number)",
    ],
    [
      "data that do not fill the dims",
      (): Outputs => float32([1, 2], [3, 1]),
      "`output.data` to have 3 elements for dims [3, 1], got 2",
    ],
    ["a type that is not known", (): Outputs => ({ ...float32([1, 2, 3]), type: "float8" }), "got `float8` (string)"],
  ])("with %s reject the batch with BATCH_RESULT, and name the fault", async (_, answer, message) => {
    const error = await reasonOf(rig({}, answer).fn(three));
    expect(error).toMatchObject({ code: "BATCH_RESULT", message: expect.stringContaining(message) as string });
  });

  test("that are an Error reject the batch with it", async () => {
    const error = new Error("no model");
    expect(await reasonOf(rig({}, () => error as never).fn(three))).toBe(error);
  });

  test.each([
    [
      "in another type",
      (batch: number): Outputs => tensor(batch === 0 ? "int32" : "int64", [1]),
      /to be int32 as the first, got int64/,
    ],
    [
      "under other names",
      (batch: number): Outputs => ({ [`of${batch}`]: int64([1]) }),
      /Expected a record of of0, got a record of of1/,
    ],
    [
      "in another shape",
      (batch: number): Outputs => (batch === 0 ? int64([1]) : [int64([1])]),
      /Expected a tensor, got a list of 1/,
    ],
  ])("that come %s for rows of the same call reject it with BATCH_RESULT", async (_, answer, message) => {
    let batch = -1;
    const { fn } = rig({ maxBatchSize: 1 }, () => {
      batch += 1;
      return answer(batch);
    });
    expect(await reasonOf(fn(three))).toMatchObject({
      code: "BATCH_RESULT",
      message: expect.stringMatching(message) as string,
    });
  });
});

describe("calls that cannot be stacked with the others", () => {
  test("go in batches of their own: another type, rank, name or kind of array", async () => {
    const { fn, batches } = rig({}, (features) => Object.values(features)[0] as Tensor);
    const odd: Record0[] = [
      { ids: int64([[1]]) },
      { ids: tensor("int32", [[2]]) },
      { other: int64([[3]]) },
      { ids: int64([[[4]]]) },
    ];
    const answers = [...odd, { ids: int64([[5, 6]]) }].map((features) => fn(features as Record0));
    expect(await listsOf(answers)).toEqual([[[1, 0]], [[2]], [[3]], [[[4]]], [[5, 6]]]);
    expect(batches).toEqual([
      {
        ids: [
          [1, 0],
          [5, 6],
        ],
      },
      { ids: [[2]] },
      { other: [[3]] },
      { ids: [[[4]]] },
    ]);
  });

  test("keep the user's key, and so does submitMany over records of different kinds", async () => {
    const keys: (string | undefined)[] = [];
    const fn = batchTensors(
      ({ ids }, { key }) => {
        keys.push(key);
        return ids as Tensor;
      },
      { key: () => "model", clock: virtualClock() },
    );
    const records = [{ ids: int64([[1]]) }, { ids: tensor("int32", [[2]]) }, { ids: int64([[3], [4]]) }];
    expect((await fn.submitMany(records)).map((answer) => lists(answer as Tensor))).toEqual([[[1]], [[2]], [[3], [4]]]);
    expect(keys[0]).toBe("model");
    expect(keys[1]).toMatch(/^model with "ids" int32/);
    await fn({ ids: tensor("int32", [[2]]) }, { key: "other" });
    expect(keys[2]).toMatch(/^other with "ids" int32/);
  });

  test("names in another order make no difference", async () => {
    const { fn, batches } = rig();
    await Promise.all([fn({ ids: int64([[1]]), mask: int64([[1]]) }), fn({ mask: int64([[0]]), ids: int64([[2]]) })]);
    expect(batches).toEqual([{ ids: [[1], [2]], mask: [[1], [0]] }]);
  });
});

describe("a malformed call", () => {
  test.each([
    [undefined, "Expected `features` to be a record of tensors, got `undefined`"],
    [[{ ids: int64([1]) }], "got an object (Array); `submitMany` takes a list"],
    [int64([1]), "got a tensor; give it a name: `{ input: tensor }`"],
    [{}, "Expected `features` to have at least one tensor, got none"],
    [{ ids: [1, 2] }, "Expected `features.ids.type` to be one of float32"],
    [{ ids: int64(1) }, "Expected `features.ids.dims` to be of rank 1 or more, got []"],
    [{ ids: int64([], [0, 4]) }, "Expected `features` to have at least one row, got 0"],
    [{ ids: int64([], [2e7, 0]) }, "Expected `features` to have at most 65536 rows without elements, got 20000000"],
    [{ ids: int64([[1], [2], [3]]), mask: int64([[1], [2]]) }, "Expected `mask` to have 3 rows as `ids` has, got 2"],
    [
      { ids: int64([[1], [2]]), scale: float32([1, 2]) },
      "Expected `scale` to have 2 rows as `ids` has, got 1 (a tensor of rank 1 is one row)",
    ],
  ])("is refused by itself, with the actual value: %#", async (features, message) => {
    const { fn, batches } = rig();
    const fine = fn({ ids: int64([[1]]) });
    const error = await reasonOf(fn(features as never));
    expect(error).toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining(message) as string });
    await fine;
    expect(batches).toHaveLength(1);
  });

  test("fails by itself in submitSettled; submitMany sends nothing", async () => {
    const { fn, batches } = rig();
    const records = [{ ids: int64([[1]]) }, { ids: int64(1) }];
    expect(await reasonOf(fn.submitMany(records))).toMatchObject({ code: "INVALID_OPTION" });
    expect(batches).toEqual([]);
    expect((await fn.submitSettled(records)).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(await reasonOf(fn.submitMany("ids" as never))).toMatchObject({ code: "INVALID_OPTION" });
    expect(await fn.submitMany([])).toEqual([]);
    expect(await fn.submitSettled([])).toEqual([]);
  });

  test("is one whose type cannot hold its pad token", async () => {
    const { fn } = rig({ padTokens: { ids: -1 } });
    expect(await reasonOf(fn({ ids: tensor("uint8", [[1]]) }))).toMatchObject({
      code: "INVALID_OPTION",
      message: "Expected `padTokens.ids` to be an integer from 0 to 255 for a tensor of uint8, got `-1` (number)",
    });
  });

  test("a feature that is undefined counts as not given", async () => {
    const { fn, batches } = rig();
    await fn({ ids: int64([[1]]), mask: undefined as never });
    expect(batches).toEqual([{ ids: [[1]] }]);
  });
});
