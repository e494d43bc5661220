import { type BatchOptions, BatchwiseError, batchStream, createBatcher, rateLimiter } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { reasonOf } from "../support.ts";

interface Job {
  readonly name: string;
  readonly priority?: number;
  readonly tenant?: string;
  readonly key?: string;
}

const jobs = (count: number, of: Omit<Job, "name"> = {}): Job[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `${of.tenant ?? of.key ?? ""}${of.priority ?? ""}#${index}`,
    ...of,
  }));

/** A handler of 10 ms and 1 ms an item, a target of 50 ms, and a batcher that knows the handler. */
async function rig(options: BatchOptions<Job, string> = {}, runMs = (size: number): number => 10 + size) {
  const clock = virtualClock();
  const sizes: number[] = [];
  const handler = (items: Job[]): Promise<string[]> => {
    sizes.push(items.length);
    const ms = runMs(items.length);
    return new Promise((resolve, reject) => {
      clock.setTimeout(
        () => {
          if (ms === Infinity) reject(new Error("too large"));
          else resolve(items.map(({ name }) => name));
        },
        ms === Infinity ? 10 : ms,
      );
    });
  };
  const given: BatchOptions<Job, string> = { clock, targetLatencyMs: 50, ...options };
  const batcher = createBatcher(handler, given);
  const refused: string[] = [];
  const answered: string[] = [];
  const submit = (list: readonly Job[]): void => {
    for (const job of list) {
      batcher.submit(job, { priority: job.priority ?? 0 }).then(
        (name) => answered.push(name),
        (error: BatchwiseError) => refused.push(error.code === "OVERLOADED" ? job.name : `${job.name}: ${error.code}`),
      );
    }
  };
  const known = [1, 2, 4, 8, 16, 24, 24, 24, 16, 8, 4, 2, 1];
  const learn = async (list: readonly number[] = [...known, ...known, ...known, ...known]): Promise<void> => {
    for (const size of list) {
      submit(jobs(size));
      await clock.advance(1_000);
    }
    answered.length = 0;
    refused.length = 0;
    sizes.length = 0;
  };
  return { batcher, clock, submit, answered, refused, sizes, learn };
}

describe("a latency target", () => {
  test("refuses at submit items that cannot be answered in time, and says when to retry", async () => {
    const { batcher, clock, submit, learn } = await rig();
    await learn();
    submit(jobs(24));
    await clock.advance(1);
    const rest = batcher.submitSettled(jobs(200));
    await clock.advance(1_000);
    const reasons = (await rest).flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    const [error] = reasons as [BatchwiseError];
    expect(error).toBeInstanceOf(BatchwiseError);
    expect(error).toMatchObject({ code: "OVERLOADED", retryable: true });
    expect(error.retryAfterMs).toBeGreaterThan(30);
    expect(error.message).toContain("within 50 ms of its submit (targetLatencyMs).");
    expect(error.stack?.split("\n")).toHaveLength(1);
    expect(reasons.length).toBeGreaterThan(100);
    expect(batcher.stats().rejected).toBe(reasons.length);
    expect(batcher.stats().learned?.target?.refused).toBe(reasons.length);
  });

  test("answers in time whom it does not refuse, and lets go of the oldest", async () => {
    const { batcher, clock, submit, learn, refused, answered } = await rig();
    await learn();
    for (let step = 0; step < 200; step += 1) {
      submit(jobs(5));
      await clock.advance(5);
    }
    await clock.advance(1_000);
    expect(refused.length + answered.length).toBe(1_000);
    // At twice the load a batch of 28 is in time with items that come in 14 ms.
    expect(answered.length).toBeGreaterThan(600);
    expect(batcher.stats().latencyMs.max).toBeLessThan(55);
  });

  test("refuses no item before three batches have ended", async () => {
    const { clock, submit, refused, answered, sizes } = await rig({}, () => 500);
    submit(jobs(100));
    await clock.advance(1_400);
    expect([refused, answered.length]).toEqual([[], 96]);
    expect(sizes.slice(0, 2)).toEqual([32, 64]);
  });

  test("refuses at once what is too much of a burst, also after a long light load", async () => {
    const clock = virtualClock();
    const handler = (items: number[]): Promise<number[]> =>
      new Promise((resolve) => clock.setTimeout(() => resolve(items), 20 + 0.5 * items.length));
    const batcher = createBatcher(handler, { clock, targetLatencyMs: 100 });
    for (let item = 0; item < 30; item += 1) {
      void batcher.submit(item);
      await clock.advance(40);
    }
    let refused = 0;
    for (let item = 0; item < 3_000; item += 1) batcher.submit(item).catch(() => (refused += 1));
    for (let job = 0; job < 10; job += 1) await null;
    expect(refused).toBeGreaterThan(2_500);
    await clock.runAll();
    expect(refused).toBeLessThan(3_000);
  });

  test("always runs something, also where the handler is slower than the target", async () => {
    let ms = 100;
    const { clock, submit, refused, answered, learn } = await rig({}, () => ms);
    await learn([1, 1, 1, 1]);
    submit(jobs(3));
    await clock.advance(1_000);
    expect([answered.length, refused.length]).toEqual([1, 2]);
    ms = 10;
    for (let round = 0; round < 20; round += 1) {
      submit(jobs(1));
      await clock.advance(100);
    }
    answered.length = 0;
    submit(jobs(3));
    await clock.advance(1_000);
    expect(answered).toHaveLength(3);
  });

  test("applies DEADLINE_EXCEEDED to an item's own deadline", async () => {
    const { clock, submit, refused, learn } = await rig({ timeoutMs: 20 });
    await learn([1, 2, 4, 4, 4]);
    submit(jobs(8));
    await clock.advance(1);
    submit(jobs(2));
    await clock.advance(25);
    expect(refused).toEqual(["#0: DEADLINE_EXCEEDED", "#1: DEADLINE_EXCEEDED"]);
  });

  test.each([20, 1_000, Infinity])("ends a wait of %i ms in time", async (maxWaitMs) => {
    const { batcher, clock, submit, learn } = await rig({ maxWaitMs });
    await learn();
    batcher.resetStats();
    submit(jobs(3));
    await clock.advance(200);
    const { latencyMs, batches } = batcher.stats();
    expect(batches).toBe(1);
    expect(latencyMs.max).toBeLessThan(51);
    expect(latencyMs.max).toBeGreaterThan(Math.min(maxWaitMs, 30));
  });

  test("may be set and removed while it runs, and keeps its learned figures", async () => {
    const { batcher, clock, submit, refused, learn } = await rig();
    await learn();
    batcher.configure({ targetLatencyMs: Infinity });
    expect(batcher.stats().learned).toBeNull();
    submit(jobs(500));
    await clock.advance(10_000);
    expect(refused).toEqual([]);
    batcher.configure({ targetLatencyMs: 50 });
    submit(jobs(500));
    await clock.advance(10_000);
    expect(refused.length).toBeGreaterThan(400);
  });

  test("makes 1,024 the cap where none is given, and refuses `prefetch` and streams", () => {
    const echo = async (items: number[]): Promise<number[]> => items;
    expect(createBatcher(echo, { targetLatencyMs: 50 }).options.maxBatchSize).toBe(1_024);
    expect(createBatcher(echo, { targetLatencyMs: 50, maxBatchSize: 8 }).options.maxBatchSize).toBe(8);
    const staged = { prepare: (items: number[]) => items, run: echo };
    expect(() => createBatcher(staged, { targetLatencyMs: 50, prefetch: 1 })).toThrow(
      "0 when `limiter` or `targetLatencyMs` is set",
    );
    const stream = async function* (): AsyncGenerator<number[]> {};
    expect(() => batchStream(stream as never, { targetLatencyMs: 50 } as never)).toThrow("does not apply to a stream");
  });

  test("takes the largest size that succeeded for the cap when a larger one fails", async () => {
    const { clock, submit, sizes, learn, answered } = await rig({}, (size) => (size > 16 ? Infinity : 10 + size / 8));
    await learn([1, 2, 4, 8, 16, 16]);
    for (let step = 0; step < 60; step += 1) {
      submit(jobs(30));
      await clock.advance(20);
    }
    expect(sizes.filter((size) => size > 16).length).toBeLessThanOrEqual(3);
    expect(answered.length).toBeGreaterThan(700);
  });

  test("reports its learned figures in `stats()`", async () => {
    const { batcher, learn } = await rig();
    expect(batcher.stats().learned).toMatchObject({ state: "learning", target: { capacityPerSecond: 0 } });
    await learn();
    const { state, target } = batcher.stats().learned ?? {};
    expect(state).toBe("learned");
    expect(target?.fixedMs).toBeCloseTo(10, 0);
    expect(target?.unitMs).toBeCloseTo(1, 1);
    // Two runs of 15 are within 50 ms.
    expect(target?.capacityPerSecond).toBeGreaterThan(450);
    expect(target?.capacityPerSecond).toBeLessThan(620);
  });

  test("learns by cost", async () => {
    const { batcher, clock } = await rig({ cost: ({ name }) => Number(name) });
    for (const cost of [1, 2, 4, 8, 16, 32, 64, 64]) {
      void batcher.submit({ name: String(cost) });
      await clock.advance(100);
    }
    expect(batcher.stats().learned?.maxBatchCost).toBeGreaterThan(64);
  });
});

/** 24 run, with 33 ms to go; then these come at once, 15 of which can be in time. */
async function crowd(list: readonly Job[], options: BatchOptions<Job, string> = {}) {
  const all = await rig({ priorityAgingMs: 10_000, ...options });
  await all.learn();
  all.submit(jobs(24, { key: "first" }));
  await all.clock.advance(1);
  all.submit(list);
  await all.clock.advance(500);
  const names = (of: string): number => all.answered.filter((name) => name.startsWith(of)).length;
  return { ...all, names };
}

describe("which items are refused", () => {
  test("the lowest priority first, in any order of arrival", async () => {
    const { names, refused } = await crowd([...jobs(10, { priority: -1 }), ...jobs(4, { priority: 1 })]);
    expect(names("1#")).toBe(4);
    expect(refused.every((name) => name.startsWith("-1#"))).toBe(true);
  });

  test("priority as submitted, not as aged", async () => {
    const list = [...jobs(10, { priority: -1 }), ...jobs(4, { priority: 1 })];
    const { names } = await crowd(list, { priorityAgingMs: 0.001 });
    expect(names("1#")).toBe(4);
  });

  test("within a priority, the earliest", async () => {
    const { clock, submit, answered, refused, learn } = await rig();
    await learn();
    submit(jobs(24));
    await clock.advance(14);
    submit(jobs(4, { key: "old" }).map(({ name }) => ({ name })));
    await clock.advance(16);
    submit(jobs(14, { key: "new" }).map(({ name }) => ({ name })));
    await clock.advance(500);
    expect(answered.filter((name) => name.startsWith("new"))).toHaveLength(14);
    expect(refused.every((name) => name.startsWith("old"))).toBe(true);
  });

  test("of a crowd of one tenant, that tenant's", async () => {
    const list = [...jobs(40, { tenant: "greedy" }), ...jobs(2, { tenant: "small" })];
    const { names } = await crowd(list, { fairBy: ({ tenant = "" }) => tenant });
    expect(names("small")).toBe(2);
  });

  test("lanes behind others, where those ahead take the time", async () => {
    const lanes = Array.from({ length: 6 }, (_, lane) => jobs(2, { key: `lane${lane}` })).flat();
    const { names, refused } = await crowd(lanes, { key: ({ key = "" }) => key });
    expect(names("lane0")).toBe(2);
    expect(refused.some((name) => name.startsWith("lane5"))).toBe(true);
    expect(refused.some((name) => name.startsWith("lane0"))).toBe(false);
  });

  test("while paused, only certain ones", async () => {
    const { batcher, clock, submit, refused, learn } = await rig();
    await learn();
    batcher.pause();
    submit(jobs(100));
    await clock.advance(20);
    submit(jobs(1));
    await clock.settle();
    expect(refused).toEqual([]);
  });

  test("once resumed, also those submitted in the same turn", async () => {
    const { batcher, clock, submit, refused, learn } = await rig();
    await learn();
    batcher.pause();
    submit(jobs(1));
    batcher.resume();
    submit(jobs(1_000));
    expect(batcher.stats().rejected).toBeGreaterThan(900);
    await clock.settle();
    expect(refused.length).toBeGreaterThan(900);
  });

  test("held by a limiter, only certain ones", async () => {
    const clock = virtualClock();
    const limiter = rateLimiter({ callsPerMinute: 600, clock });
    const handler = (items: number[]): Promise<number[]> =>
      new Promise((resolve) => clock.setTimeout(() => resolve(items), 5));
    const batcher = createBatcher(handler, { clock, limiter, targetLatencyMs: 200 });
    for (let step = 0; step < 100; step += 1) {
      void batcher.submit(step).catch(() => {});
      await clock.advance(10);
    }
    await clock.advance(1_000);
    expect(batcher.stats().rejected).toBe(0);
  });
});

describe("calls of many items", () => {
  test("are refused item by item", async () => {
    const { batcher, clock, learn } = await rig();
    await learn();
    const all = batcher.submitMany(jobs(24));
    await clock.settle();
    const settled = batcher.submitSettled(jobs(500));
    await clock.settle();
    const error = reasonOf(batcher.submitMany(jobs(300)));
    await clock.advance(500);
    expect(await all).toHaveLength(24);
    const outcomes = (await settled).map(({ status }) => status);
    expect(outcomes).toContain("rejected");
    expect(await error).toMatchObject({ code: "OVERLOADED" });
  });

  test("are waited out by `map`", async () => {
    const { batcher, clock, learn } = await rig();
    await learn();
    const read: string[] = [];
    const reading = (async () => {
      for await (const name of batcher.map(jobs(300), { maxPending: 300 })) read.push(name);
    })();
    for (let step = 0; step < 60; step += 1) await clock.advance(1_000);
    await reading;
    expect(read).toEqual(jobs(300).map(({ name }) => name));
  });
});
