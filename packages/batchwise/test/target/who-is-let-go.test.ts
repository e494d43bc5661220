// The table of the latency target's rule: which items are refused, when, and with which error.

import { type BatchOptions, type BatchwiseError, createBatcher, rateLimiter } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

interface Item {
  readonly name: string;
  readonly priority?: number;
  readonly tenant?: string;
  readonly key?: string;
}

const TARGET_MS = 50;

const many = (count: number, name: string, of: Omit<Item, "name"> = {}): Item[] =>
  Array.from({ length: count }, () => ({ name, ...of }));

/** A handler of 10 ms and 1 ms an item that the batcher knows. `hangs`: it never answers. */
async function rig(options: BatchOptions<Item, string> = {}, clock = virtualClock()) {
  const state = { hangs: false };
  const runs: string[][] = [];
  const handler = (items: Item[]): Promise<string[]> => {
    runs.push(items.map(({ name }) => name));
    if (state.hangs) return new Promise(() => {});
    return new Promise((resolve) => clock.setTimeout(() => resolve(items.map(({ name }) => name)), 10 + items.length));
  };
  const batcher = createBatcher(handler, { clock, targetLatencyMs: TARGET_MS, priorityAgingMs: 10_000, ...options });
  for (let round = 0; round < 80; round += 1) {
    for (const size of [1, 24]) {
      void batcher.submitMany(many(size, "known"));
      await clock.advance(1_000);
    }
  }
  runs.length = 0;
  const refused: Record<string, number> = {};
  const refusedAfterMs: number[] = [];
  const errors: BatchwiseError[] = [];
  const submit = (list: readonly Item[]): void => {
    for (const item of list) {
      const at = clock.now();
      batcher.submit(item, { priority: item.priority ?? 0 }).catch((error: BatchwiseError) => {
        if (error.code !== "OVERLOADED") return;
        refused[item.name] = (refused[item.name] ?? 0) + 1;
        refusedAfterMs.push(clock.now() - at);
        errors.push(error);
      });
    }
  };
  return { batcher, clock, state, submit, refused, refusedAfterMs, errors, runs };
}

interface Arrival {
  /** Milliseconds after a batch of 24 has begun, which runs for 34. */
  readonly atMs: number;
  readonly items: readonly Item[];
}

type Row = readonly [
  title: string,
  arrivals: readonly Arrival[],
  refused: Readonly<Record<string, number>>,
  options: BatchOptions<Item, string>,
];

const byTenant = ({ tenant = "" }: Item): string => tenant;
const byKey = ({ key = "" }: Item): string => key;

// The next batch begins at 34: one that came at 10 makes it in a batch of at most 15 or 16.
const table: readonly Row[] = [
  ["nobody, where all are in time", [{ atMs: 10, items: many(14, "a") }], {}, {}],
  [
    "the oldest, where a batch of all is too long for them",
    [
      { atMs: 5, items: many(10, "old") },
      { atMs: 30, items: many(14, "young") },
    ],
    { old: 10 },
    {},
  ],
  [
    "the lowest priority first, also where it is younger",
    [
      { atMs: 10, items: many(10, "high", { priority: 1 }) },
      { atMs: 30, items: many(10, "low", { priority: -1 }) },
    ],
    { low: 5 },
    {},
  ],
  [
    "by the priority as submitted, not as it has aged",
    [
      { atMs: 10, items: many(10, "low", { priority: -1 }) },
      { atMs: 12, items: many(10, "high", { priority: 1 }) },
    ],
    { low: 5 },
    { priorityAgingMs: 0.001 },
  ],
  [
    "of tenants who came together, each in turn",
    [
      {
        atMs: 10,
        items: Array.from({ length: 10 }, () => [many(1, "a", { tenant: "a" }), many(1, "b", { tenant: "b" })]).flat(2),
      },
    ],
    { a: 2, b: 3 },
    { fairBy: byTenant },
  ],
  [
    "of a tenant's flood, that tenant's",
    [
      { atMs: 19.2, items: many(400, "greedy", { tenant: "greedy" }) },
      { atMs: 30, items: many(1, "small", { tenant: "small" }) },
    ],
    // A batch of 24 makes it with those that came first.
    { greedy: 377 },
    { fairBy: byTenant },
  ],
  [
    "lanes behind others: each runs by itself, and those ahead take their time",
    [{ atMs: 20, items: ["a", "b", "c", "d"].flatMap((key) => many(2, key, { key })) }],
    // The third begins at 58, the fourth at 69.
    { c: 1, d: 2 },
    { key: byKey },
  ],
  [
    "lanes of a lower priority, also where their items came first",
    [
      { atMs: 20, items: many(2, "low", { key: "a", priority: -1 }) },
      { atMs: 20, items: many(2, "high", { key: "b", priority: 1 }) },
      { atMs: 20, items: many(12, "mid", { key: "c" }) },
    ],
    { low: 2 },
    { key: byKey },
  ],
];

describe("lets go of", () => {
  test.each(table)("%s", async (_title, arrivals, expected, options) => {
    const { batcher, clock, submit, refused, errors } = await rig(options);
    void batcher.submitMany(many(24, "first"), { priority: 100 });
    let now = 0;
    for (const { atMs, items } of arrivals) {
      await clock.advance(atMs - now);
      now = atMs;
      submit(items);
    }
    await clock.advance(500);
    expect(refused).toEqual(expected);
    expect(errors.every(({ retryAfterMs = 0 }) => retryAfterMs > 0)).toBe(true);
  });
});

describe("in time, without an event", () => {
  test("behind a call that hangs", async () => {
    const { batcher, clock, state, submit, refused, refusedAfterMs } = await rig();
    state.hangs = true;
    void batcher.submit({ name: "first" });
    await clock.advance(10);
    submit(many(4, "a"));
    await clock.advance(3_600_000);
    expect(refused).toEqual({ a: 4 });
    // Before 36 ms a batch of the four could have been in time.
    expect(Math.min(...refusedAfterMs)).toBeGreaterThan(35);
    expect(Math.max(...refusedAfterMs)).toBeLessThan(TARGET_MS);
  });

  test("behind a call that hangs, also the submits outside a full queue", async () => {
    const { batcher, clock, state, submit, refused, refusedAfterMs } = await rig();
    batcher.configure({ maxQueueSize: 4 });
    state.hangs = true;
    void batcher.submit({ name: "first" });
    await clock.advance(10);
    submit(many(10, "a"));
    await clock.advance(TARGET_MS);
    expect(refused).toEqual({ a: 10 });
    expect(Math.max(...refusedAfterMs)).toBeLessThan(TARGET_MS);
  });

  test("one of a high priority that is late by itself, and none of a lower one for it", async () => {
    const { batcher, clock, state, submit, refused } = await rig();
    state.hangs = true;
    void batcher.submit({ name: "first" });
    await clock.advance(10);
    submit(many(1, "doomed", { priority: 5 }));
    await clock.advance(39.5);
    submit(many(12, "low"));
    await clock.advance(1);
    expect(refused).toEqual({ doomed: 1 });
  });

  test("in a pause, where nothing runs, those that would be late by themselves", async () => {
    const { batcher, clock, submit, refused, refusedAfterMs, runs } = await rig();
    batcher.pause();
    submit(many(100, "a"));
    await clock.advance(38);
    expect(refused).toEqual({});
    await clock.advance(2);
    expect(refused).toEqual({ a: 100 });
    expect(Math.max(...refusedAfterMs)).toBeLessThan(40);
    batcher.resume();
    submit(many(1, "b"));
    await clock.advance(100);
    expect(runs).toEqual([["b"]]);
  });

  test("held by a limiter, those that would be late by themselves", async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ callsPerMinute: 60, clock });
    const { submit, refused, refusedAfterMs } = await rig({ limiter }, clock);
    limiter.hold(10_000);
    submit(many(30, "a"));
    await clock.advance(38);
    expect(refused).toEqual({});
    await clock.advance(2);
    expect(refused).toEqual({ a: 30 });
    expect(Math.max(...refusedAfterMs)).toBeLessThan(40);
  });

  test("by one timer, however many wait, and by none at rest", async () => {
    const { batcher, clock, state, submit } = await rig();
    state.hangs = true;
    void batcher.submit({ name: "first" });
    await clock.settle();
    const { timers } = clock;
    for (let step = 0; step < 20; step += 1) {
      await clock.advance(0.1);
      submit(many(1, "a"));
    }
    await clock.settle();
    expect(clock.timers - timers).toBe(1);
    await clock.advance(100);
    expect(clock.timers).toBe(timers);
  });
});

describe("the refused", () => {
  test("of `submitMany` are counted in its error", async () => {
    const { batcher, clock } = await rig();
    const error = await batcher.submitMany(many(400, "a")).catch((reason: BatchwiseError) => reason);
    await clock.advance(1_000);
    expect(error).toMatchObject({ code: "OVERLOADED", retryable: true, submitted: 400 });
    expect((error as BatchwiseError).refused).toBe(batcher.stats().rejected);
    expect((error as BatchwiseError).retryAfterMs).toBeGreaterThan(0);
    const settled = batcher.submitSettled(many(400, "a"));
    await clock.advance(1_000);
    const one = (await settled).at(-1) as PromiseRejectedResult;
    expect(one.reason).toMatchObject({ code: "OVERLOADED" });
    expect(one.reason).not.toHaveProperty("submitted");
  });

  test("of `map` wait as long as they should, and not longer than its signal", async () => {
    const { batcher, clock, state } = await rig();
    const before = clock.timers;
    const stop = new AbortController();
    const reading = (async () => {
      let count = 0;
      for await (const _ of batcher.map(many(2_000, "a"), { maxPending: 2_000, signal: stop.signal })) count += 1;
      return count;
    })().catch((reason: unknown) => reason);
    for (let step = 0; step < 40; step += 1) await clock.advance(5);
    expect(batcher.stats().rejected).toBeGreaterThan(500);
    state.hangs = true;
    stop.abort("enough");
    expect(await reading).toBe("enough");
    await clock.advance(200);
    expect(clock.timers).toBe(before);
  });

  test("are none before three batches have ended", async () => {
    const clock = virtualClock();
    const handler = (items: Item[]): Promise<string[]> =>
      new Promise((resolve) => clock.setTimeout(() => resolve(items.map(({ name }) => name)), 500));
    const batcher = createBatcher(handler, { clock, targetLatencyMs: TARGET_MS });
    const all = batcher.submitSettled(many(100, "a"));
    await clock.advance(1_500);
    expect((await all).every(({ status }) => status === "fulfilled")).toBe(true);
    const later = batcher.submitSettled(many(100, "a"));
    await clock.advance(1_500);
    expect((await later).filter(({ status }) => status === "rejected").length).toBeGreaterThan(50);
  });
});
