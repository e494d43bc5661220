// Faults of the target's rule: each of these refused callers for long.

import { type BatchOptions, createBatcher } from "batchwise";
import { simulate } from "batchwise/simulate";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { expect, test, vi } from "vitest";
import { Lane } from "../../src/core/queue/lane.ts";
import { Queue } from "../../src/core/queue/queue.ts";
import { normal, randomOf } from "../../src/simulate/random.ts";
import { RunTimeModel } from "../../src/target/run-time-model.ts";

type Options = BatchOptions<number, number>;

/** A handler that takes `runMs` of its call, or fails where that is NaN, in virtual time. */
function rig(runMs: (size: number, call: number) => number, options: Options = {}) {
  const clock = virtualClock();
  let calls = 0;
  const handler = (items: number[]): Promise<number[]> => {
    const ms = runMs(items.length, calls++);
    return new Promise((resolve, reject) => {
      clock.setTimeout(() => (Number.isNaN(ms) ? reject(new Error("failed")) : resolve(items)), ms || 10);
    });
  };
  const batcher = createBatcher(handler, { clock, targetLatencyMs: 100, ...options });
  const seen = new Map<number, { answered: number; refused: number; failed: number }>();
  const submit = (item: number, priority = 0): void => {
    const counts = seen.get(priority) ?? { answered: 0, refused: 0, failed: 0 };
    seen.set(priority, counts);
    batcher.submit(item, { priority }).then(
      () => void counts.answered++,
      (error: { code?: string }) => void (error.code === "OVERLOADED" ? counts.refused++ : counts.failed++),
    );
  };
  const counts = (priority = 0) => seen.get(priority) ?? { answered: 0, refused: 0, failed: 0 };
  return { batcher, clock, submit, counts };
}

/** `perSecond` items a second, evenly, for `ms`. */
async function load(clock: VirtualClock, perSecond: number, ms: number, submit: () => void): Promise<void> {
  const stepMs = 1_000 / perSecond;
  for (let at = 0; at < ms; at += stepMs) {
    submit();
    await clock.advance(stepMs);
  }
}

test("items of no cost do not end all service", async () => {
  const { clock, submit, counts } = rig(() => 10, { cost: (item) => item });
  for (const item of [0, 0, 0, ...Array.from({ length: 50 }, () => 20)]) {
    submit(item);
    await clock.advance(1_000);
  }
  expect(counts()).toMatchObject({ answered: 53, refused: 0 });
});

test.each([
  ["the first call", 0],
  ["the second call, the first of many items", 1],
])("one failure of %s does not cap batches for long", async (_which, failing) => {
  const { clock, submit, counts } = rig((size, call) => (call === failing ? Number.NaN : 20 + 0.5 * size));
  submit(1);
  await clock.advance(50);
  for (let item = 0; item < 20; item += 1) submit(item);
  await clock.advance(50);
  await load(clock, 400, 6_000, () => submit(1));
  await clock.advance(1_000);
  expect(counts().refused).toBeLessThan(300);
});

test("one stall of a size that is new does not take capacity for ever", async () => {
  let stalls = false;
  const { clock, submit, counts } = rig((size) => (stalls && size === 20 ? 400 : 10 + 0.5 * size));
  for (const size of [1, 2, 4, 8, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64]) {
    for (let item = 0; item < size; item += 1) submit(item);
    await clock.advance(1_000);
  }
  stalls = true;
  for (let item = 0; item < 20; item += 1) submit(item);
  await clock.advance(1_000);
  stalls = false;
  const before = counts().refused;
  await load(clock, 1_000, 10_000, () => submit(1));
  await clock.advance(1_000);
  expect(counts().refused - before).toBeLessThan(500);
});

test("a flood of a lower priority refuses no caller of the default one", async () => {
  const { clock, submit, counts } = rig((size) => 10 + size, { targetLatencyMs: 200, maxBatchSize: 8 });
  for (const size of [1, 2, 4, 8, 8, 8, 8]) {
    for (let item = 0; item < size; item += 1) submit(item);
    await clock.advance(1_000);
  }
  let step = 0;
  await load(clock, 2_000, 2_000, () => {
    submit(1, -1);
    step += 1;
    if (step % 20 === 0) submit(1);
  });
  await clock.advance(2_000);
  expect(counts(-1).refused).toBeGreaterThan(1_000);
  expect(counts().refused).toBe(0);
});

test("`targetLatencyMs: Infinity` is no target: the default batch size stays, and `prefetch` is allowed", async () => {
  const sizes: number[] = [];
  const handler = async (items: number[]): Promise<number[]> => {
    sizes.push(items.length);
    return items;
  };
  await using batcher = createBatcher(handler, { targetLatencyMs: Infinity, prefetch: 1 });
  await Promise.all(Array.from({ length: 100 }, (_, item) => batcher.submit(item)));
  expect(Math.max(...sizes)).toBe(32);
});

test("after a warm-up of single items a handler whose time is all fixed still gets larger batches", async () => {
  const { clock, submit, counts } = rig(() => 60);
  for (let item = 0; item < 6; item += 1) {
    submit(item);
    await clock.advance(1_000);
  }
  await load(clock, 200, 4_000, () => submit(1));
  await clock.advance(1_000);
  // Of 800, those can be in time that come in the last 40 ms of a run of 60: 533.
  expect(counts().answered).toBeGreaterThan(300);
});

test("a batch whose callers have all left, and which stops for that, says nothing of its size", async () => {
  const clock = virtualClock();
  const sizes: number[] = [];
  const handler = (items: number[], { signal }: { readonly signal: AbortSignal }): Promise<number[]> => {
    sizes.push(items.length);
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      clock.setTimeout(() => resolve(items), 20);
    });
  };
  const batcher = createBatcher(handler, { clock, targetLatencyMs: 100 });
  const submit = (count: number, signal?: AbortSignal): void => {
    for (let item = 0; item < count; item += 1) {
      batcher.submit(item, signal === undefined ? {} : { signal }).catch(() => {});
    }
  };
  for (let call = 0; call < 5; call += 1) {
    submit(1);
    await clock.advance(1_000);
  }
  const leave = new AbortController();
  submit(8, leave.signal);
  await clock.advance(5);
  leave.abort();
  await clock.advance(1_000);
  sizes.length = 0;
  submit(8);
  await clock.advance(1_000);
  expect(sizes).not.toContain(1);
});

test("times that fall with the size give no fixed time below zero", async () => {
  const { batcher, clock, submit } = rig((size) => (size > 8 ? 60 : 10));
  for (let round = 0; round < 40; round += 1) {
    for (let item = 0; item < (round % 2 === 0 ? 8 : 16); item += 1) submit(item);
    await clock.advance(1_000);
  }
  expect(batcher.stats().learned?.target?.fixedMs).toBeGreaterThanOrEqual(0);
});

test("times of sizes that seldom run are still right after many batches of other sizes", () => {
  const model = new RunTimeModel();
  const random = randomOf(1, 0);
  const run = (size: number): void => model.record(size, (10 + 0.1 * size) * Math.exp(0.1 * normal(random)));
  for (let batch = 0; batch < 20; batch += 1) for (const size of [1, 30]) run(size);
  for (let batch = 0; batch < 50_000; batch += 1) run(8 + (batch % 8));
  expect(model.predict(1) / 10.1).toBeCloseTo(1, 0);
  expect(model.predict(30) / 13).toBeCloseTo(1, 0);
});

test("large batches are used again when they are no longer slow, in overload, too", async () => {
  let answered = 0;
  const recoveredAt = 16_000;
  const runMs = ({ size, atMs }: { readonly size: number; readonly atMs: number }): number => {
    if (atMs > recoveredAt) answered += size;
    return 10 + 0.1 * size + (atMs > 2_000 && atMs < 8_000 && size > 5 ? 500 : 0);
  };
  await simulate({
    arrivals: { kind: "poisson", perSecond: 3_000 },
    service: { kind: "function", runMs, noise: 0.1 },
    options: { targetLatencyMs: 50 },
    durationMs: recoveredAt + 2_000,
  });
  expect(answered).toBeGreaterThan(5_000);
});

test("where thousands of keys wait, not every turn looks at each", async () => {
  const clock = virtualClock();
  const handler = (items: number[]): Promise<number[]> =>
    new Promise((resolve) => clock.setTimeout(() => resolve(items), items.includes(-1) ? 1e9 : 10));
  const batcher = createBatcher(handler, { clock, key: String, targetLatencyMs: 1e6 });
  for (let item = 0; item < 4; item += 1) {
    void batcher.submit(item);
    await clock.advance(100);
  }
  void batcher.submit(-1);
  const looks = vi.spyOn(Lane.prototype, "oldestAt");
  for (let item = 0; item < 2_000; item += 1) {
    void batcher.submit(item);
    if (item % 10 === 0) await clock.advance(1);
  }
  // In a sum of powers of 1.1, about eleven times the last one.
  expect(looks.mock.calls.length).toBeLessThan(50_000);
  looks.mockRestore();
});

test("a slowness of four batches takes no capacity", async () => {
  const isSlow = ({ size, atMs }: { readonly size: number; readonly atMs: number }): boolean =>
    size > 32 && atMs > 4_000 && atMs < 5_000;
  const { goodput } = await simulate({
    arrivals: { kind: "poisson", perSecond: 1_440 },
    service: { kind: "function", runMs: (batch) => (isSlow(batch) ? 5 : 1) * (10 + 0.5 * batch.size), noise: 0.1 },
    options: { targetLatencyMs: 100 },
    warmUpMs: 25_000,
    durationMs: 30_000,
  });
  expect(goodput).toBeGreaterThan(0.97);
});

test.each([2_000, 3_600_000])("a stall of %i ms of the second batch does not put off callers", async (stallMs) => {
  const { batcher, clock, submit } = rig((size, call) => (call === 1 ? stallMs : 10 + 0.5 * size));
  for (let item = 0; item < 3; item += 1) {
    submit(item);
    await clock.advance(4_000_000);
  }
  const startedAt = clock.now();
  const read: number[] = [];
  const reading = (async () => {
    for await (const item of batcher.map(Array.from({ length: 20 }, (_, index) => index))) read.push(item);
    return clock.now() - startedAt;
  })();
  for (let step = 0; step < 200; step += 1) await clock.advance(50);
  expect(await reading).toBeLessThan(1_000);
});

test("`retryAfterMs` is at most ten times the target", async () => {
  const { batcher, clock, submit } = rig(() => 60_000);
  for (let item = 0; item < 12; item += 1) {
    submit(item);
    await clock.advance(60_000);
  }
  submit(1);
  await clock.advance(1);
  const refused = batcher.submitSettled([1, 2, 3]);
  await clock.advance(200);
  const [one] = await refused;
  expect(one).toMatchObject({ reason: { code: "OVERLOADED", retryAfterMs: 1_000 } });
});

test("`capacityPerSecond` keeps to caps that are set", async () => {
  const { batcher, clock, submit } = rig((size) => 10 + 0.5 * size);
  for (let round = 0; round < 30; round += 1) {
    for (let item = 0; item < ([1, 2, 24][round % 3] ?? 0); item += 1) submit(item);
    await clock.advance(1_000);
  }
  const capacity = (): number => batcher.stats().learned?.target?.capacityPerSecond ?? 0;
  expect(capacity()).toBeGreaterThan(1_000);
  batcher.configure({ maxBatchSize: 2 });
  expect(capacity()).toBeCloseTo((1_000 * 2) / 11, -1);
});

test.each([
  [300, 1],
  [40, 0],
])("a target that is shorter than a run of one item is warned of once: %i ms", async (runMs, count) => {
  const { batcher, clock, submit } = rig(() => runMs);
  const warnings: string[] = [];
  batcher.on("warning", ({ code, message }) => void warnings.push(`${code}: ${message}`));
  for (let item = 0; item < 20; item += 1) {
    submit(item);
    await clock.advance(1_000);
  }
  expect(warnings).toHaveLength(count);
  if (count === 0) return;
  expect(warnings[0]).toContain("OPTIONS: `targetLatencyMs` 100 is shorter than a run of one item (about ");
  const runOf = Number(/about (\d+) ms/.exec(warnings[0] ?? "")?.[1]);
  expect(runOf).toBeGreaterThan(280);
  expect(runOf).toBeLessThan(310);
});

test("exact times for long do not make the model blind to later noise", () => {
  const model = new RunTimeModel();
  for (let batch = 0; batch < 5_000; batch += 1) model.record(10, 20);
  expect(model.upper(10) / model.predict(10)).toBeGreaterThan(1.02);
});

test.each([
  [45, 0.01, 60, 4, 0.67],
  [50, 0.1, 70, 3, 0.6],
  [40, 0.05, 60, 4, 0.95],
  [40, 0.05, 60, 2, 0.6],
])("slots whose runs take most of the target: %i + %f n, target %i, %i slots", async (...row) => {
  const [fixedMs, itemMs, targetLatencyMs, concurrency, least] = row;
  const { goodput, latencyMs } = await simulate({
    arrivals: { kind: "poisson", perSecond: 1_000 },
    service: { kind: "line", fixedMs, itemMs, noise: 0.1 },
    options: { targetLatencyMs, concurrency },
    warmUpMs: 3_000,
    durationMs: 9_000,
  });
  expect(goodput).toBeGreaterThan(least);
  expect(latencyMs.p99).toBeLessThan(1.08 * targetLatencyMs);
});

test("rare large items are counted by their own cost", async () => {
  const { goodput, latencyMs } = await simulate({
    arrivals: { kind: "poisson", perSecond: 1_600 },
    service: { kind: "line", fixedMs: 10, itemMs: 0.5, noise: 0.1 },
    item: (_index, random) => (random() < 0.01 ? 101 : 1),
    options: { targetLatencyMs: 100, cost: (item: number) => item },
    warmUpMs: 4_000,
    durationMs: 12_000,
  });
  expect(goodput).toBeGreaterThan(0.55);
  expect(latencyMs.p99).toBeLessThan(105);
});

test("one item of a priority does not make later ones be looked at as mixed", async () => {
  const { clock, submit } = rig((size) => 10 + 0.5 * size);
  for (const size of [1, 2, 4, 8, 8]) {
    for (let item = 0; item < size; item += 1) submit(item);
    await clock.advance(1_000);
  }
  submit(1);
  submit(1, 1);
  const serve = (): Promise<void> => load(clock, 1_000, 1_000, () => submit(1));
  await serve();
  const looks = vi.spyOn(Queue.prototype, "lanes");
  await serve();
  // Only where an item is late.
  expect(looks.mock.calls.length).toBeLessThan(200);
  looks.mockRestore();
});

/** Random numbers from 0 to 1, the same in each run. */
function drawer(): () => number {
  let seed = 7;
  return () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return (seed + 0.5) / 2 ** 31;
  };
}

/** Each 500th run or so begins a slow time of eight. */
function slowTimes(draw: () => number): () => number {
  let left = 0;
  return () => {
    if (draw() < 0.002) left = 8;
    left -= 1;
    return left >= 0 ? 3 : 1;
  };
}

const heavyTail = (draw: () => number) => () =>
  Math.exp(0.6 * Math.sqrt(-2 * Math.log(draw())) * Math.cos(2 * Math.PI * draw()));

test.each([
  ["a heavy tail", heavyTail],
  ["slow times", slowTimes],
])("times of sizes that come by turns, with %s, do not part from what they are", (_noise, of) => {
  const factor = of(drawer());
  const model = new RunTimeModel();
  for (let batch = 0; batch < 40; batch += 1)
    for (const [size, ms] of [
      [1, 5],
      [1_000, 20],
    ] as const)
      model.record(size, ms * factor());
  for (let round = 0; round < 5; round += 1) {
    for (let batch = 0; batch < 20_000; batch += 1) model.record(1, 5 * factor());
    for (let batch = 0; batch < 40; batch += 1) model.record(1_000, 20 * factor());
  }
  // The speed may be that of a slow time.
  const ratio = model.predict(1_000) / model.predict(1);
  expect(ratio).toBeGreaterThan(2);
  expect(ratio).toBeLessThan(8);
});

test("items of the highest costs, whose sums are not finite, end no service", async () => {
  for (const cost of [1e299, 1e306, Number.MAX_VALUE]) {
    for (const concurrency of [1, 4]) {
      const { batcher, clock, submit, counts } = rig(() => 10, { cost: () => cost, concurrency });
      await load(clock, 1_000, 500, () => submit(0));
      await clock.advance(1_000);
      const { answered, refused, failed } = counts();
      expect([answered > 20, answered + refused, failed]).toEqual([true, 500, 0]);
      await batcher.close();
    }
  }
});
