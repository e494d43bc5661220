import { type Batcher, type BatchOptions, createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { closedError } from "../../src/core/contract/errors.ts";
import { revoked, trapped } from "./objects.ts";

type Options = BatchOptions<number, number>;

const failure = new Error("of the user's own making");

/** Each option function that is called with an item, with a valid return value. */
const functions: Record<string, (bad: (item: number) => unknown) => Options> = {
  cost: (bad) => ({ cost: (item) => (item === 2 ? (bad(item) as number) : 1) }),
  "cost with a cap": (bad) => ({ cost: (item) => (item === 2 ? (bad(item) as number) : 1), maxBatchCost: 100 }),
  key: (bad) => ({ key: (item) => (item === 2 ? (bad(item) as string) : "k") }),
  dedupe: (bad) => ({ dedupe: (item) => (item === 2 ? (bad(item) as string) : String(item)) }),
  "key with dedupe": (bad) => ({ dedupe: String, key: (item) => (item === 2 ? (bad(item) as string) : "k") }),
  fairBy: (bad) => ({ fairBy: (item) => (item === 2 ? (bad(item) as string) : "t") }),
};

const values: Record<string, unknown> = {
  undefined: undefined,
  null: null,
  NaN: Number.NaN,
  "minus one": -1,
  symbol: Symbol("odd"),
  object: {},
  array: [1],
  bigint: 1n,
  date: new Date(0),
  function: () => 1,
  promise: Promise.resolve("k"),
};

/** Errors that throw when they are read. */
const unreadables: Record<string, unknown> = {
  "a revoked proxy": revoked({}),
  "a proxy whose `has` throws": trapped("has", {}),
  "a proxy whose prototype cannot be read": trapped("getPrototypeOf", {}),
  "an error of ours whose code cannot be read": trapped("get", closedError("")),
};

function echoing(options: Options): Batcher<number, number> {
  return createBatcher<number, number>(async (items) => items, options);
}

describe.each(Object.keys(functions))("%s", (name) => {
  const options = functions[name] as (bad: (item: number) => unknown) => Options;

  test("that throws rejects only that item, with its own error", async () => {
    const batcher = echoing(
      options(() => {
        throw failure;
      }),
    );
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled).toEqual([
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: failure },
      { status: "fulfilled", value: 3 },
    ]);
    expect(batcher.stats()).toMatchObject({ submitted: 3, completed: 2, failed: 1 });
    expect(await batcher.submit(4)).toBe(4);
    await batcher.close();
  });

  test.each(Object.keys(unreadables))(
    "that throws %s rejects only that item, and never throws at the submit",
    async (thrown) => {
      const batcher = echoing(
        options(() => {
          throw unreadables[thrown];
        }),
      );
      const settled = await batcher.submitSettled([1, 2, 3]);
      expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      const answer = batcher.submit(2);
      // A matcher would read the thrown value.
      expect(await answer.catch((error: unknown) => error === unreadables[thrown])).toBe(true);
      expect(batcher.stats()).toMatchObject({ submitted: 4, completed: 2, failed: 2 });
      await batcher.close();
    },
  );

  test.each(Object.keys(values))("that returns %s rejects only that item", async (value) => {
    const batcher = echoing(options(() => values[value]));
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((settled[1] as PromiseRejectedResult).reason).toMatchObject({ code: "INVALID_OPTION" });
    expect(batcher.stats()).toMatchObject({ completed: 2, failed: 1, waiting: 0, running: 0 });
    await batcher.close();
  });

  test("that throws undefined rejects only that item, with undefined", async () => {
    const batcher = echoing(
      options(() => {
        throw undefined;
      }),
    );
    const settled = await batcher.submitSettled([2, 1]);
    expect(settled[0]).toEqual({ status: "rejected", reason: undefined });
    expect(settled[1]).toMatchObject({ value: 1 });
  });

  test("is called once for each item", async () => {
    let calls = 0;
    const batcher = echoing(
      options(() => {
        calls += 1;
        return name.startsWith("cost") ? 1 : "k";
      }),
    );
    await batcher.submit(2);
    expect(calls).toBe(1);
  });
});

describe("batchCost", () => {
  const answers: Record<string, (items: readonly number[]) => unknown> = {
    throws: () => {
      throw failure;
    },
    "returns NaN": () => Number.NaN,
    "returns a text": () => "5",
    "returns a bigint": () => 5n,
    "returns a negative number": () => -1,
    "returns undefined": () => undefined,
  };

  test.each(Object.keys(answers))("that %s for a single item rejects that item", async (how) => {
    const batcher = echoing({
      batchCost: (items) => (items.includes(2) ? (answers[how]?.(items) as number) : items.length),
      maxBatchCost: 10,
    });
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    await batcher.close();
  });

  test.each(Object.keys(answers))("that %s for several items sends them one by one", async (how) => {
    const sizes: number[] = [];
    const batcher = createBatcher<number, number>(
      (items) => {
        sizes.push(items.length);
        return items;
      },
      { batchCost: (items) => (items.length > 1 ? (answers[how]?.(items) as number) : 1), maxBatchCost: 10 },
    );
    expect(await batcher.submitMany([1, 2, 3])).toEqual([1, 2, 3]);
    expect(sizes).toEqual([1, 1, 1]);
    await batcher.close();
  });

  test.each(Object.keys(answers))("that %s without a cap fails no item", async (how) => {
    const batcher = echoing({ batchCost: answers[how] as (items: readonly number[]) => number });
    expect(await batcher.submitMany([1, 2, 3])).toEqual([1, 2, 3]);
    expect(Number.isFinite(batcher.stats().averageBatchCost)).toBe(true);
    await batcher.close();
  });

  test("that shrinks when items are added, against its promise, loses no item", async () => {
    const batcher = echoing({ batchCost: (items) => 10 / items.length, maxBatchCost: 10 });
    expect(await batcher.submitMany([1, 2, 3, 4, 5])).toEqual([1, 2, 3, 4, 5]);
    await batcher.close();
  });
});

describe("captureContext and prepareItem", () => {
  test("that throw reject only that item", async () => {
    let calls = 0;
    const batcher = createBatcher(async (items: number[]) => items, {
      captureContext: () => {
        calls += 1;
        if (calls === 2) throw failure;
      },
    });
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const preparing = createBatcher({
      prepareItem: (item: number) => {
        if (item === 2) throw failure;
        return item;
      },
      run: (items: number[]) => items,
    });
    expect((await preparing.submitSettled([1, 2, 3])).map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
  });
});

describe("retry.when", () => {
  test.each<[how: string, when: () => unknown, calls: number]>([
    [
      "throws",
      () => {
        throw new Error("when");
      },
      1,
    ],
    ["returns undefined", () => undefined, 1],
    ["returns a word", () => "yes", 3],
  ])("that %s does not hide the handler's error from callers", async (_, when, expected) => {
    let calls = 0;
    const batcher = createBatcher<number, number>(
      () => {
        calls += 1;
        throw failure;
      },
      { retry: { attempts: 3, when: when as () => boolean } },
    );
    const settled = await batcher.submitSettled([1]);
    expect(settled).toEqual([{ status: "rejected", reason: failure }]);
    expect(calls).toBe(expected);
    await batcher.close();
  });
});
