// The batcher learns from a batch's last call: not from the opening, a pause before another call,
// or an aborted call.

import { type Batcher, type BatchOptions, createBatcher, type LearnedStats } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";
import { range } from "../support.ts";

/** A handler that takes `ms` for a batch. */
const taking =
  (clock: VirtualClock, msOf: (items: number[]) => number) =>
  (items: number[]): Promise<number[]> =>
    new Promise((resolve) => clock.setTimeout(() => resolve(items), msOf(items)));

test.each([
  ["the opening of the handler", true, {}],
  ["a pause before a retry", false, { retry: { attempts: 2, backoffMs: 2_000 } }],
])("%s sends no later item early for its deadline", async (_, opens, options) => {
  const clock = virtualClock();
  const run = taking(clock, () => 5);
  let isFirst = !opens;
  const failsFirst = (items: number[]): Promise<number[]> => {
    if (!isFirst) return run(items);
    isFirst = false;
    throw new Error("busy");
  };
  const open = (): Promise<void> => new Promise((resolve) => clock.setTimeout(resolve, 3_000));
  const handler = opens ? { open, run } : failsFirst;
  const batcher = createBatcher(handler, { clock, maxWaitMs: 50, ...options } as BatchOptions<number, number>);
  const first = batcher.submit(0);
  await clock.advance(3_200);
  await first;
  const reasons: string[] = [];
  batcher.on("batch", ({ reason, size }) => reasons.push(`${reason} ${size}`));
  const urgent = batcher.submit(1, { timeoutMs: 1_000 });
  await clock.advance(10);
  const other = batcher.submit(2);
  await clock.advance(200);
  await Promise.all([urgent, other]);
  expect(reasons).toEqual(["wait 2"]);
});

test("a batch that is prepared ahead and held for a slot took no longer", async () => {
  const clock = virtualClock();
  const run = taking(clock, (items) => (items.includes(1) ? 3_000 : 5));
  const handler = { prepare: async (items: number[]) => items, run };
  const batcher = createBatcher(handler, { clock, prefetch: 1, maxWaitMs: 50 });
  // The 95th percentile of 32 batches is the second longest.
  const answers: Promise<number>[] = [];
  for (const item of [...range(30).fill(0), 1, 2]) {
    answers.push(batcher.submit(item));
    await clock.advance(100);
  }
  await clock.advance(4_000);
  await Promise.all(answers);
  const reasons: string[] = [];
  batcher.on("batch", ({ reason, size }) => reasons.push(`${reason} ${size}`));
  answers.push(batcher.submit(3, { timeoutMs: 1_000 }));
  await clock.advance(10);
  answers.push(batcher.submit(4));
  await clock.advance(200);
  await Promise.all(answers);
  expect(reasons).toEqual(["wait 2"]);
});

/** The learned values before and after three unusual batches. */
async function learnedAcross(
  odd: (batcher: Batcher<number, number>, clock: VirtualClock) => Promise<void>,
  handlerOf: (clock: VirtualClock) => (items: number[], context: { readonly signal: AbortSignal }) => Promise<number[]>,
  options: BatchOptions<number, number> = {},
): Promise<readonly (LearnedStats | null)[]> {
  const clock = virtualClock();
  const batcher = createBatcher(handlerOf(clock), { clock, maxBatchCost: "learn", ...options });
  for (let batch = 0; batch < 60; batch += 1) {
    const call = batcher.submitMany(range(64));
    await clock.runAll();
    await call;
  }
  const before = batcher.stats().learned;
  for (let batch = 0; batch < 3; batch += 1) await odd(batcher, clock);
  return [before, batcher.stats().learned];
}

/** A handler whose next call fails if `isNext` is set. */
function failingWhenAsked() {
  const failure = {
    isNext: false,
    handlerOf: (clock: VirtualClock) => {
      const run = taking(clock, (items) => 10 + items.length);
      return (items: number[]): Promise<number[]> => {
        if (!failure.isNext) return run(items);
        failure.isNext = false;
        throw new Error("503");
      };
    },
  };
  return failure;
}

test("three batches that all callers cancelled are no failures of their size", async () => {
  const handlerOf =
    (clock: VirtualClock) =>
    (items: number[], { signal }: { readonly signal: AbortSignal }): Promise<number[]> =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        clock.setTimeout(() => resolve(items), 10 + items.length);
      });
  const [before, after] = await learnedAcross(async (batcher, clock) => {
    const controller = new AbortController();
    const call = batcher.submitSettled(range(64), { signal: controller.signal });
    await clock.settle();
    controller.abort();
    await clock.runAll();
    await call;
  }, handlerOf);
  expect(before?.state).toBe("learned");
  expect(after).toEqual(before);
});

test("three batches that were answered at a second call, after a pause, took no longer", async () => {
  const failure = failingWhenAsked();
  const [before, after] = await learnedAcross(
    async (batcher, clock) => {
      failure.isNext = true;
      const call = batcher.submitMany(range(64));
      await clock.runAll();
      await call;
    },
    failure.handlerOf,
    { retry: { attempts: 2, backoffMs: 1_000 } },
  );
  expect(before?.state).toBe("learned");
  expect(after?.state).toBe("learned");
  expect(after?.maxBatchCost).toBeGreaterThan(0.9 * (before?.maxBatchCost ?? 0));
});

test.each([
  ["between two calls", { retry: { attempts: 2, backoffMs: 30_000 } }, "fails"],
  ["while the handler opens", {}, "opens"],
  ["while it was prepared", {}, "prepares"],
  ["while it was prepared, which heeds the signal", {}, "heeds"],
] as const)("a batch that all left %s shows nothing of how long one takes", async (_, options, what) => {
  const clock = virtualClock();
  const run = taking(clock, () => 5);
  let isOdd = false;
  const isPrepared = what === "prepares" || what === "heeds";
  const handler = {
    open: () => (what === "opens" ? new Promise<void>((resolve) => clock.setTimeout(resolve, 3_000)) : undefined),
    prepare: (items: number[], { signal }: { readonly signal: AbortSignal }) => {
      if (!isPrepared || !items.includes(1)) return items;
      return new Promise<number[]>((resolve, reject) => {
        if (what === "heeds") signal.addEventListener("abort", () => reject(signal.reason));
        clock.setTimeout(() => resolve(items), 3);
      });
    },
    run: (items: number[]): Promise<number[]> => {
      if (isOdd) throw new Error("503");
      return run(items);
    },
  };
  const batcher = createBatcher(handler, { clock, maxWaitMs: 50, ...options });
  if (what === "fails") {
    const first = batcher.submit(0);
    await clock.advance(100);
    await first;
  }
  isOdd = what === "fails";
  const left = batcher.submit(1, { timeoutMs: isPrepared ? 2 : 2_000 });
  const settled = Promise.allSettled([left]);
  await clock.advance(what === "fails" ? 2_500 : 60_000);
  await settled;
  isOdd = false;
  const reasons: string[] = [];
  batcher.on("batch", ({ reason, size }) => reasons.push(`${reason} ${size}`));
  const urgent = batcher.submit(2, { timeoutMs: what === "fails" ? 1_000 : 40 });
  await clock.advance(20);
  const other = batcher.submit(3);
  await clock.advance(200);
  await Promise.all([urgent, other]);
  // Before any batch has ended, a deadline inside the wait sends its batch at once.
  expect(reasons).toEqual(what === "fails" ? ["wait 2"] : ["deadline 1", "wait 1"]);
  await batcher.close();
});

test("three batches that most callers left before the last call are not taken for quick ones", async () => {
  const failure = failingWhenAsked();
  const [before, after] = await learnedAcross(
    async (batcher, clock) => {
      failure.isNext = true;
      const controller = new AbortController();
      const leaving = batcher.submitSettled(range(60), { signal: controller.signal });
      const staying = batcher.submitMany(range(4));
      await clock.settle();
      controller.abort();
      await clock.runAll();
      await Promise.all([leaving, staying]);
    },
    failure.handlerOf,
    { retry: { attempts: 2, backoffMs: 1_000 } },
  );
  expect(before?.state).toBe("learned");
  expect(after).toEqual(before);
});

test("deadlines that pass in batches of items that were prepared first count against their size", async () => {
  const clock = virtualClock();
  const sizes: number[] = [];
  const batcher = createBatcher(
    {
      prepareItem: (item: number) => new Promise<number>((resolve) => clock.setTimeout(() => resolve(item), 200)),
      run: (items: number[], { signal }: { readonly signal: AbortSignal }) =>
        new Promise<number[]>((resolve, reject) => {
          sizes.push(items.length);
          signal.addEventListener("abort", () => reject(signal.reason));
          clock.setTimeout(() => resolve(items), items.length > 100 ? 5_000 : 20 + items.length / 10);
        }),
    },
    { clock, maxBatchCost: "learn", maxBatchSize: 1_000, timeoutMs: 1_000 },
  );
  for (let round = 0; round < 60; round += 1) {
    const call = batcher.submitSettled(range(300));
    await clock.runAll();
    await call;
  }
  expect(sizes.filter((size) => size > 100).length).toBeLessThan(sizes.length / 5);
  await batcher.close();
});

test("with isolateFailures a half that runs too long does not take the call of the others", async () => {
  const clock = virtualClock();
  const signals: AbortSignal[] = [];
  const batcher = createBatcher(
    (items: string[], { signal }) => {
      if (items.length > 1) throw new Error("one of them is bad");
      signals.push(signal);
      return items[0] === "hangs" ? new Promise<string[]>(() => {}) : items;
    },
    { clock, isolateFailures: true, handlerTimeoutMs: 50 },
  );
  const call = batcher.submitSettled(["hangs", "one", "two", "three"]);
  await clock.advance(1_000);
  const answers = (await call).map((answer) => (answer.status === "fulfilled" ? answer.value : answer.reason.code));
  expect(answers).toEqual(["HANDLER_TIMEOUT", "one", "two", "three"]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, false, false]);
  await batcher.close();
});

test("a size that configure has set is not taken for the default", async () => {
  const batcher = createBatcher((items: number[]) => items, { maxBatchCost: 1_000 });
  const warnings: string[] = [];
  batcher.on("warning", ({ message }) => warnings.push(message));
  batcher.configure({ maxBatchSize: 8 });
  await batcher.submitMany(range(8));
  expect(warnings).toEqual([]);
  await batcher.close();
});

test("a limiter that has failed holds no timer once nothing waits", async () => {
  const clock = virtualClock();
  const fails = (): never => {
    throw new Error("no");
  };
  const limiter = { reserve: fails, giveBack() {}, withdraw() {}, hold() {} };
  const batcher = createBatcher((items: number[]) => items, { clock, limiter });
  batcher.on("warning", () => {});
  const controller = new AbortController();
  const answer = batcher.submit(1, { signal: controller.signal });
  await clock.settle();
  controller.abort();
  await expect(answer).rejects.toThrow();
  await batcher.idle();
  await clock.settle();
  expect(clock.timers).toBe(0);
  await batcher.close();
});

test("statistics that a listener resets are never below zero", async () => {
  let now = 0;
  const clock = virtualClock();
  const ticking = { ...clock, now: () => (now += 1), setTimeout: clock.setTimeout, clearTimeout: clock.clearTimeout };
  const batcher = createBatcher((items: number[]) => items, { clock: ticking });
  batcher.on("item", () => batcher.resetStats());
  await batcher.submit(1);
  const { busyMs, utilization } = batcher.stats();
  expect(Math.min(busyMs, utilization)).toBeGreaterThanOrEqual(0);
  await batcher.close();
});
