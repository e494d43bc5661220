// A few cells of the latency target by simulation, and its invariants on random settings.

import { type Service, type SimulateOptions, type SimulationReport, simulate } from "batchwise/simulate";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const line: Service = { kind: "line", fixedMs: 20, itemMs: 1, noise: 0.1 };
const run = (options: Partial<SimulateOptions>): Promise<SimulationReport> =>
  simulate({
    arrivals: { kind: "poisson", perSecond: 880 },
    service: line,
    options: { targetLatencyMs: 150 },
    durationMs: 12_000,
    warmUpMs: 3_000,
    ...options,
  });

describe("in overload", () => {
  test.each([
    ["20 + n", line, 150, 733],
    ["10 + 0.1 n", { kind: "line", fixedMs: 10, itemMs: 0.1, noise: 0.1 }, 50, 6_000],
    ["5 + 3 for each 8", { kind: "steps", fixedMs: 5, stepMs: 3, stepSize: 8, noise: 0.1 }, 50, 2_087],
    [
      "15 up to 16, then + 1.2 n",
      {
        kind: "table",
        points: [
          [16, 15],
          [17, 16.2],
        ],
        noise: 0.1,
      },
      100,
      1_067,
    ],
  ] as const)(
    "%s serves nearly all that the capacity allows, in time",
    async (_name, service, targetLatencyMs, capacity) => {
      const arrivals = { kind: "poisson", perSecond: 1.3 * capacity } as const;
      const report = await run({ arrivals, service: service as Service, options: { targetLatencyMs } });
      expect(report.latencyMs.p99).toBeLessThan(1.05 * targetLatencyMs);
      expect(report.goodput / report.bound.goodput).toBeGreaterThan(0.88);
      expect(report.refusedAfterMs.mean).toBeLessThan(0.5 * targetLatencyMs);
    },
  );

  test("callers who try five times are nearly all served in a surge", async () => {
    const points = [
      [0, 500],
      [5_000, 500],
      [5_001, 1_100],
      [6_500, 1_100],
      [6_501, 500],
      [30_000, 500],
    ] as const;
    const { offered, refused } = await run({ arrivals: { kind: "curve", points }, attempts: 5, durationMs: 25_000 });
    expect(refused / offered).toBeLessThan(0.02);
  });

  test("a handler that becomes 1.6 times slower is followed", async () => {
    const service = { ...line, changes: [{ fromMs: 5_000, toMs: 8_000, factor: 1.6 }] };
    const { goodput, latencyMs } = await run({ service });
    expect(goodput).toBeGreaterThan(0.58);
    expect(latencyMs.p99).toBeLessThan(1.15 * 150);
  });

  test("a cold start serves most of the possible load in its first two seconds", async () => {
    const arrivals = { kind: "poisson", perSecond: 1_100 } as const;
    const { goodput, bound } = await run({ arrivals, durationMs: 2_000, warmUpMs: 0 });
    expect(goodput / bound.goodput).toBeGreaterThan(0.8);
  });
});

test("below saturation hardly any caller is refused, and latency is that of a batcher without a target", async () => {
  const light = { arrivals: { kind: "poisson", perSecond: 400 } } as const;
  const [on, off] = [await run(light), await run({ ...light, options: { maxBatchSize: 1_024 } })];
  expect(on.goodput).toBeGreaterThan(0.999);
  expect(on.latencyMs.mean / off.latencyMs.mean).toBeCloseTo(1, 1);
});

test("`maxWaitMs: Infinity` with a target makes the fewest calls, in time", async () => {
  const light = { arrivals: { kind: "poisson", perSecond: 200 } } as const;
  const [on, off] = [await run({ ...light, options: { targetLatencyMs: 150, maxWaitMs: Infinity } }), await run(light)];
  expect(on.calls).toBeLessThan(0.5 * off.calls);
  expect(on.latencyMs.p99).toBeLessThan(1.05 * 150);
});

test("every item is answered or refused once, whatever the options", async () => {
  const options = fc.record({
    targetLatencyMs: fc.integer({ min: 5, max: 300 }),
    maxBatchSize: fc.integer({ min: 1, max: 200 }),
    maxQueueSize: fc.integer({ min: 1, max: 300 }),
    concurrency: fc.integer({ min: 1, max: 8 }),
    onFull: fc.constantFrom("wait", "reject", "drop-oldest"),
    maxWaitMs: fc.constantFrom(0, 5, 100, Infinity),
    priorityAgingMs: fc.constantFrom(1, 10_000, Infinity),
    isolateFailures: fc.boolean(),
    isFair: fc.boolean(),
    isKeyed: fc.boolean(),
  });
  const troubles = fc.record({
    noise: fc.double({ min: 0, max: 1, noNaN: true }),
    share: fc.constantFrom(0, 0.1),
    above: fc.constantFrom(5, 1e6),
  });
  const one = fc.tuple(options, troubles, fc.integer({ min: 20, max: 2_000 }), fc.nat());
  await fc.assert(
    fc.asyncProperty(one, async ([{ isFair, isKeyed, ...limits }, { noise, share, above }, perSecond, seed]) => {
      const of = (count: number) => (item: number) => String(item % count);
      const given = { ...limits, ...(isFair ? { fairBy: of(3) } : {}), ...(isKeyed ? { key: of(4) } : {}) } as const;
      const { stats, offered, answered, refused, failed } = await simulate({
        arrivals: { kind: "bursts", perSecond },
        service: { ...line, noise, failures: { share, above } },
        options: given as NonNullable<SimulateOptions["options"]>,
        submit: (item) => ({ priority: item % 7 === 0 ? 1 : 0 }),
        durationMs: 1_500,
        seed,
      });
      expect(answered + refused + failed).toBe(offered);
      expect(stats).toMatchObject({ submitted: offered, waiting: 0, blocked: 0, running: 0 });
      expect(stats.completed + stats.failed + stats.rejected + stats.expired).toBe(offered);
      expect(stats.batchSize.max).toBeLessThanOrEqual(limits.maxBatchSize);
      // Something always runs.
      expect(offered === 0 || stats.batches > 0).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test("a single caller is never refused, however slow the handler is", async () => {
  const one = fc.tuple(fc.integer({ min: 5, max: 200 }), fc.double({ min: 0, max: 0.3, noNaN: true }), fc.nat());
  await fc.assert(
    fc.asyncProperty(one, async ([targetLatencyMs, noise, seed]) => {
      const arrivals = { kind: "closed", callers: 1, thinkMs: 30 } as const;
      const service = { ...line, noise };
      const { refused, answered } = await simulate({
        arrivals,
        service,
        options: { targetLatencyMs },
        durationMs: 3_000,
        seed,
      });
      expect(refused).toBe(0);
      expect(answered).toBeGreaterThan(30);
    }),
    { numRuns: 15 },
  );
});

test("an item's own deadline before the target ends it, not a refusal", async () => {
  const { stats } = await run({
    options: { targetLatencyMs: 150 },
    submit: () => ({ timeoutMs: 40 }),
    durationMs: 5_000,
  });
  expect(stats.expired).toBeGreaterThan(1_000);
  expect(stats.learned?.target?.refused).toBeLessThan(stats.expired / 10);
});
