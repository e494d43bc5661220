// Warnings: problems that a batcher survives and its owner should know. Each is given once, and
// kept until there is a listener.

import { batch, batchStream, createBatcher, createTokenBatcher, type WarningEvent } from "batchwise";
import { describe, expect, test } from "vitest";
import { echoAll, range, reasonOf, rig, thrownBy, watch } from "../support.ts";

type Listens = { on(name: "warning", listener: (warning: WarningEvent) => void): () => void };

function warningsOf(batcher: Listens): WarningEvent[] {
  const warnings: WarningEvent[] = [];
  batcher.on("warning", (warning) => void warnings.push(warning));
  return warnings;
}

const echo = (items: number[]): number[] => items;

describe("warnings without a listener", () => {
  test("are given to the first listener when it comes, in their order, and to no later one", async () => {
    const batcher = createBatcher(echo, { prefetch: 1, dedupe: String, cache: { get: fail, set: fail } });
    expect(await batcher.submit(1)).toBe(1);
    const first = warningsOf(batcher);
    expect(first.map(({ code }) => code)).toEqual(["OPTIONS", "CACHE_FAILED", "CACHE_FAILED"]);
    expect(warningsOf(batcher)).toEqual([]);
    expect(first[1]).toMatchObject({ message: expect.any(String), cause: new Error("no disk") });
  });

  test("are kept again when the last listener has gone", async () => {
    const batcher = createBatcher(echo, { dedupe: String, cache: { get: () => undefined, set: fail } });
    const heard: WarningEvent[] = [];
    const stop = batcher.on("warning", (warning) => void heard.push(warning));
    await batcher.submit(1);
    stop();
    await batcher.submit(2);
    expect([heard.length, warningsOf(batcher).length]).toEqual([1, 1]);
  });

  test("are few, however many there were: memory does not grow with them", async () => {
    const batcher = createBatcher(echo, { dedupe: String, cache: { get: () => undefined, set: fail } });
    await batcher.submitMany(range(1_000));
    const { length } = warningsOf(batcher);
    expect(length).toBeGreaterThan(0);
    expect(length).toBeLessThan(100);
  });

  test("are not given to listeners of other events, and not when the listener stops in between", async () => {
    const batcher = createBatcher(echo, { prefetch: 1 });
    const others: unknown[] = [];
    batcher.on("batch", (event) => void others.push(event));
    batcher.on("item", (event) => void others.push(event));
    expect(others).toEqual([]);
    expect(warningsOf(batcher)).toHaveLength(1);
  });

  test("reach a listener that throws once, and cause no further warning", () => {
    const batcher = createBatcher(echo, { prefetch: 1 });
    batcher.on("warning", () => {
      throw new Error("listener");
    });
    expect(warningsOf(batcher)).toEqual([]);
  });

  test("of a function that batch() returned are kept as well", () => {
    expect(warningsOf(batch(echo, { prefetch: 1 }))).toHaveLength(1);
  });
});

describe("a warning of code OPTIONS", () => {
  const cases: [what: string, options: object, words: string[]][] = [
    ["`prefetch` without `prepare`", { prefetch: 1 }, ["`prefetch`", "`prepare`"]],
    [
      "a `maxQueueSize` below a batch",
      { maxWaitMs: 5, maxQueueSize: 31 },
      ["`maxQueueSize` 31", "`preferredBatchSize` 32"],
    ],
    [
      "a `maxQueueSize` below `preferredBatchSize`",
      { maxWaitMs: 5, maxQueueSize: 7, preferredBatchSize: 8 },
      ["`maxQueueSize` 7"],
    ],
    ["a `preferredBatchSize` without a wait", { preferredBatchSize: 8 }, ["`preferredBatchSize`", "`maxWaitMs`"]],
    ["a deadline that ends each wait", { timeoutMs: 40, maxWaitMs: 50 }, ["`timeoutMs`", "`maxWaitMs`"]],
    ["`onFull` of an endless queue", { onFull: "reject", maxQueueSize: Infinity }, ["`onFull`", "`maxQueueSize`"]],
    ["a `preferredBatchSize` of 1", { maxWaitMs: 5, preferredBatchSize: 1 }, ["`preferredBatchSize` 1", "`maxWaitMs`"]],
  ];

  /** None of them has an effect beside the others, which is harmless. */
  const WRAPPER = { maxWaitMs: 5, gather: "tick", oversize: "alone", isolateFailures: true, maxBatchSize: 1 } as const;

  test.each(cases)("is given once for %s, in words that name the way out", async (_, options, words) => {
    const of = rig<number>(options);
    const warnings = warningsOf(of.batcher);
    expect(warnings).toMatchObject([{ code: "OPTIONS" }]);
    for (const word of words) expect(warnings[0]?.message).toContain(word);
    void of.batcher.submitSettled(range(40));
    await echoAll(of);
    await of.clock.advance(100);
    await echoAll(of);
    expect(warnings).toHaveLength(1);
  });

  test.each([
    ["the defaults", {}],
    ["a wait", { maxWaitMs: 50 }],
    ["a small queue without a wait", { maxQueueSize: 4 }],
    ["a deadline behind the wait", { maxWaitMs: 5, timeoutMs: 6 }],
    ["a deadline without a wait", { timeoutMs: 50 }],
    ["a wait that only a deadline ends", { maxWaitMs: Infinity, timeoutMs: Infinity }],
    ["options that a wrapper sets for each of its batchers", WRAPPER],
    ["a queue as large as a batch", { maxWaitMs: 5, maxQueueSize: 32 }],
    ["`preferredBatchSize: 1` without a wait", { preferredBatchSize: 1 }],
    ["`maxBatchSize: 1`, whose batches are full with one", { maxBatchSize: 1, maxWaitMs: 5 }],
    ["one item in the queue and in a batch", { maxBatchSize: 1, maxQueueSize: 1, maxWaitMs: 5 }],
  ])("is not given for %s", (_, options) => {
    expect(warningsOf(createBatcher(echo, options))).toEqual([]);
  });

  test("is not given for `prefetch` where the handler has `prepare`", () => {
    const handler = { prepare: (items: number[]) => items, run: echo };
    expect(warningsOf(createBatcher(handler, { prefetch: 1 }))).toEqual([]);
  });

  test.each([
    ["configure() begins a wait that they end", { preferredBatchSize: 1 }, { maxWaitMs: 50 }],
    ["configure() sets the size that ends it", { maxWaitMs: 50 }, { preferredBatchSize: 1 }],
    ["configure() makes the queue too small", { maxWaitMs: 50 }, { maxQueueSize: 4 }],
  ])("is given once also when %s", (_, options, changes) => {
    const batcher = createBatcher(echo, options);
    const warnings = warningsOf(batcher);
    expect(warnings).toEqual([]);
    batcher.configure(changes);
    batcher.configure(changes);
    batcher.configure({ concurrency: 2 });
    expect(warnings).toMatchObject([{ code: "OPTIONS" }]);
  });

  test("is given when the default cap of 32 closes a batch below half of `maxBatchCost`, and then never again", async () => {
    const of = rig<number>({ maxBatchCost: 65, cost: () => 1 });
    const warnings = warningsOf(of.batcher);
    void of.batcher.submitMany(range(31));
    await echoAll(of);
    expect(warnings).toEqual([]);
    for (const _ of range(2)) {
      void of.batcher.submitMany(range(32));
      await echoAll(of);
    }
    expect(warnings).toMatchObject([{ code: "OPTIONS" }]);
    for (const word of ["`maxBatchSize` 32", "`maxBatchCost` 65"]) expect(warnings[0]?.message).toContain(word);
  });

  test.each([
    ["closed at half of `maxBatchCost` or above", { maxBatchCost: 64 }],
    ["without a cap on cost", {}],
    ["where 32 was asked for", { maxBatchCost: 1_000, maxBatchSize: 32 }],
  ])("is not given for batches of 32 %s", async (_, options) => {
    const of = rig<number>(options);
    void of.batcher.submitMany(range(64));
    await echoAll(of);
    expect(warningsOf(of.batcher)).toEqual([]);
  });
});

describe("an option that users bring from another library", () => {
  const refused = (make: () => unknown): string => {
    const error = thrownBy(make);
    expect(error).toMatchObject({ name: "TypeError", code: "INVALID_OPTION" });
    return String(error);
  };

  test.each([
    ["minBatchSize", "`preferredBatchSize`"],
    ["minBatchCost", "`maxWaitMs`"],
    ["maxBufferedChunks", "`batchStream`"],
    ["maxBatchTokens", "`createTokenBatcher`"],
    ["estimateTokens", "`createTokenBatcher`"],
  ])("is refused with the way out: `%s` names %s", (name, way) => {
    expect(refused(() => batch(echo, { [name]: 4 }))).toContain(way);
    expect(refused(() => createBatcher(echo, { [name]: 4 }))).toContain(way);
  });

  test.each([
    ["minBatchSize", "`preferredBatchSize`"],
    ["maxBufferedChunks", "`batchStream`"],
    ["maxBatchCost", "`maxBatchTokens`"],
  ])("is refused by a token batcher too: `%s` names %s", (name, way) => {
    expect(refused(() => createTokenBatcher(echo, { [name]: 4 }))).toContain(way);
  });

  test("is refused though its value is undefined", () => {
    expect(refused(() => createBatcher(echo, { minBatchSize: undefined } as never))).toContain("`preferredBatchSize`");
  });

  test("is refused by configure() with the same way out, which changes nothing", () => {
    const batcher = createBatcher(echo);
    const changes = { maxBatchSize: 4, minBatchSize: 2 } as never;
    expect(refused(() => batcher.configure(changes))).toContain("`preferredBatchSize`");
    expect(batcher.options.maxBatchSize).toBe(32);
  });
});

describe("a generator function for a handler", () => {
  const generators: Record<string, unknown> = {
    "an async one": async function* (items: number[]) {
      yield items;
    },
    "one that is not async": function* (items: number[]) {
      yield items;
    },
    "an async `run` of an object": {
      async *run(items: number[]) {
        yield items;
      },
    },
  };

  test.each(Object.keys(generators))("is refused with a hint at `batchStream`: %s", (what) => {
    const handler = generators[what] as () => number[];
    for (const make of [() => batch(handler), () => createBatcher(handler), () => createTokenBatcher(handler)]) {
      const error = thrownBy(make);
      expect(error).toMatchObject({ name: "TypeError", code: "INVALID_OPTION" });
      expect(String(error)).toContain("`batchStream`");
    }
  });

  test("is a valid handler of batchStream()", async () => {
    const stream = batchStream(async function* (items: number[]) {
      yield items;
    });
    const chunks: number[] = [];
    for await (const chunk of stream(7)) chunks.push(chunk);
    expect(chunks).toEqual([7]);
  });

  test("that hides in a plain function rejects its callers with BATCH_RESULT, which describes the value", async () => {
    const hidden = (items: number[]): unknown => (generators["an async one"] as (items: number[]) => unknown)(items);
    const error = await reasonOf(createBatcher(hidden as never).submit(1 as never));
    expect(error).toMatchObject({ code: "BATCH_RESULT" });
    expect(String(error)).toContain("array");
  });
});

function fail(): never {
  throw new Error("no disk");
}

test("a listener of the warning of a default size may send a caller of that batch away", async () => {
  const leaving = new AbortController();
  const of = rig<number>({ cost: () => 1, maxBatchCost: 1_000 });
  of.batcher.on("warning", () => leaving.abort("gone"));
  const first = watch(of.batcher.submit(0, { signal: leaving.signal }));
  const others = of.batcher.submitMany(range(31));
  await echoAll(of);
  expect(first).toEqual({ state: "rejected", reason: "gone" });
  expect(await others).toEqual(range(31));
  expect(of.batcher.stats()).toMatchObject({ completed: 31, cancelled: 1, running: 0, waiting: 0 });
});
