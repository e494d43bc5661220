import { rateLimiter } from "batchwise";
import { type Arrivals, type Service, type SimulateOptions, simulate } from "batchwise/simulate";
import { describe, expect, test } from "vitest";

const line: Service = { kind: "line", fixedMs: 20, itemMs: 1 };
const poisson: Arrivals = { kind: "poisson", perSecond: 500 };
const base: SimulateOptions = { arrivals: poisson, service: line, targetMs: 150, durationMs: 20_000 };

describe("the simulation of a batcher", () => {
  test("gives the same report for the same seed, and another for another", async () => {
    const noisy: SimulateOptions = { ...base, service: { ...line, noise: 0.1 } };
    const first = await simulate(noisy);
    expect(await simulate(noisy)).toEqual(first);
    expect((await simulate({ ...noisy, seed: 2 })).offered).not.toBe(first.offered);
  });

  test("has the arrivals of a seed whatever the options of the batcher", async () => {
    const small = await simulate({ ...base, options: { maxBatchSize: 8, maxQueueSize: 8, onFull: "reject" } });
    expect(small.offered).toBe((await simulate(base)).offered);
    expect(small.refused).toBeGreaterThan(0);
    expect(small.offered).toBe(small.answered + small.refused);
  });

  // Inoue's bound on the mean wait of a server that serves all that waits is within 9 % of exact.
  test.each([100, 200, 500, 700])("has the mean latency that theory says at %i items/s", async (perSecond) => {
    const load = { ...base, arrivals: { kind: "poisson", perSecond } as const, durationMs: 120_000 };
    const { latencyMs } = await simulate({ ...load, options: { maxBatchSize: 100_000 } });
    const rate = perSecond / 1_000;
    const first = (21 / (2 * (1 - rate))) * (1 + 40 * rate + (1 - 20 * rate) / (1 + rate));
    const second = 30 / (1 - rate) + (rate + 2) / 2 / (1 - rate * rate);
    const bound = Math.min(first, second);
    expect(latencyMs.mean / bound).toBeGreaterThan(0.9);
    expect(latencyMs.mean / bound).toBeLessThan(1.02);
  });

  test("rounds no timer: an item is held for exactly as long as it may be", async () => {
    const lone: Arrivals = { kind: "times", atMs: [1.25, 1_000.5] };
    const { latencyMs } = await simulate({ ...base, arrivals: lone, options: { maxWaitMs: 2.5 } });
    expect(latencyMs.max).toBeCloseTo(23.5, 6);
    expect(latencyMs.p50).toBeCloseTo(23.5, 1);
  });

  test("sends items at its end that only a flush would send", async () => {
    const { answered, stats } = await simulate({ ...base, options: { maxWaitMs: Infinity }, durationMs: 100 });
    expect(answered).toBeGreaterThan(0);
    expect(stats.waiting + stats.running).toBe(0);
  });

  test("counts nothing of the warm-up", async () => {
    const all = await simulate(base);
    const rest = await simulate({ ...base, warmUpMs: 10_000 });
    expect(rest.offered / all.offered).toBeCloseTo(0.5, 1);
    expect(rest.calls).toBeLessThan(0.6 * all.calls);
  });

  test("keeps time for a limiter", async () => {
    const { calls } = await simulate({
      ...base,
      options: (clock) => ({ maxBatchSize: 1_000, limiter: rateLimiter({ callsPerMinute: 600, clock }) }),
    });
    expect(calls).toBeGreaterThan(150);
    expect(calls).toBeLessThan(220);
  });
});

describe("arrivals", () => {
  const rates: [string, Arrivals, number][] = [
    ["poisson", poisson, 500],
    ["bursts", { kind: "bursts", perSecond: 400 }, 400],
    ["bursts of random lengths", { kind: "bursts", perSecond: 400, lengths: "random" }, 400],
    ["bunches", { kind: "bunches", perSecond: 400, size: 8 }, 400],
    [
      "curve",
      {
        kind: "curve",
        points: [
          [0, 100],
          [5_000, 500],
          [10_000, 100],
        ],
      },
      300,
    ],
  ];
  test.each(rates)("%s have their mean rate", async (_name, arrivals, expected) => {
    const { offeredPerSecond } = await simulate({ ...base, arrivals, durationMs: 100_000 });
    const tolerance = "lengths" in arrivals ? 0.2 : 0.06;
    expect(Math.abs(offeredPerSecond / expected - 1)).toBeLessThan(tolerance);
  });

  test("bunches travel together", async () => {
    const bunches: Arrivals = { kind: "bunches", perSecond: 40, size: 8 };
    expect((await simulate({ ...base, arrivals: bunches })).batchSize.p50).toBeCloseTo(8, 0);
  });

  test("a list is submitted at its times", async () => {
    const { offered, batchSize } = await simulate({ ...base, arrivals: { kind: "times", atMs: [5, 5, 5, 90, 1e9] } });
    expect([offered, batchSize.max]).toEqual([4, 3]);
  });

  test("callers of a closed loop wait for their answers", async () => {
    const { offered, latencyMs } = await simulate({ ...base, arrivals: { kind: "closed", callers: 10 } });
    // All ten are in every batch: 20 + 10 ms.
    expect(latencyMs.mean).toBeCloseTo(30, 6);
    expect(offered).toBe(Math.floor(20_000 / 30) * 10 + 10);
  });

  test("callers who are refused try again as often as they may", async () => {
    const queue = { maxBatchSize: 64, maxQueueSize: 64, onFull: "reject" } as const;
    const load: SimulateOptions = { ...base, arrivals: { kind: "poisson", perSecond: 900 }, options: queue };
    const [one, five] = [await simulate(load), await simulate({ ...load, attempts: 5 })];
    expect([one.retries, five.retries > 0]).toEqual([0, true]);
    expect(five.offered).toBe(one.offered);
    expect(five.refused).toBeLessThan(one.refused);
  });
});

describe("the service", () => {
  const shapes: [string, Service, number][] = [
    ["a line", { kind: "line", fixedMs: 5, itemMs: 2 }, 11],
    [
      "a table between its points",
      {
        kind: "table",
        points: [
          [1, 5],
          [5, 25],
        ],
      },
      15,
    ],
    [
      "a table beyond its points",
      {
        kind: "table",
        points: [
          [1, 5],
          [2, 8],
        ],
      },
      11,
    ],
    ["steps", { kind: "steps", fixedMs: 5, stepMs: 3, stepSize: 2 }, 11],
    ["a function", { kind: "function", runMs: ({ size, cost, atMs }) => size + cost + atMs }, 13],
  ];
  test.each(shapes)("is %s", async (_name, service, runMs) => {
    const three: Arrivals = { kind: "times", atMs: [7, 7, 7] };
    expect((await simulate({ ...base, service, arrivals: three })).latencyMs.max).toBeCloseTo(runMs, 9);
  });

  test("takes a time by the cost of the batch", async () => {
    const two: Arrivals = { kind: "times", atMs: [0, 0] };
    const report = await simulate({ ...base, arrivals: two, options: { cost: () => 10 } });
    expect(report.latencyMs.max).toBeCloseTo(40, 9);
    expect(report.bound.capacityPerSecond).toBeCloseTo((1_000 * 5) / 70, 6);
  });

  test("has noise around its mean, stalls, changes and failures", async () => {
    const run = async (troubles: Partial<Service>) =>
      simulate({ ...base, service: { ...line, ...troubles } as Service });
    const plain = await run({});
    const noisy = await run({ noise: 0.2 });
    expect(noisy.runMs.mean / plain.runMs.mean).toBeCloseTo(1, 1);
    expect(noisy.runMs.p99).toBeGreaterThan(1.2 * plain.runMs.p99);
    expect((await run({ stalls: { share: 0.02, factor: 10 } })).runMs.p99).toBeGreaterThan(3 * plain.runMs.p99);
    const changed = await run({ changes: [{ fromMs: 5_000, toMs: 10_000, factor: 1.6 }] });
    expect(changed.latencyMs.p99).toBeGreaterThan(1.5 * plain.latencyMs.p99);
    const failing = await run({ failures: { share: 0.1, above: 1_000 } });
    expect(failing.failed / failing.offered).toBeCloseTo(0.1, 1);
    expect((await run({ failures: { above: 0 } })).answered).toBe(0);
  });
});

describe("the bound", () => {
  // Six services of the benchmark; the size with (1 + 1 / slots) L(n) within the target.
  const cases: [string, Service, number, number][] = [
    ["20 + n", line, 150, 733.3],
    ["10 + 0.1 n", { kind: "line", fixedMs: 10, itemMs: 0.1 }, 50, 6_000],
    ["2 + 2 n", { kind: "line", fixedMs: 2, itemMs: 2 }, 60, 466.7],
    ["20 + n, tight", line, 70, 428.6],
    ["5 + 3 for each 8", { kind: "steps", fixedMs: 5, stepMs: 3, stepSize: 8 }, 50, 2_087],
  ];
  test.each(cases)("of %s", async (_name, service, targetMs, capacity) => {
    const { bound } = await simulate({ ...base, service, targetMs, durationMs: 1_000 });
    expect(bound.capacityPerSecond).toBeCloseTo(capacity, 0);
  });

  test("is more in overload than the capacity, and a part of the offered load", async () => {
    const { bound } = await simulate({ ...base, arrivals: { kind: "poisson", perSecond: 1_200 } });
    expect(bound.mostPerSecond).toBeGreaterThan(bound.capacityPerSecond);
    expect(bound.goodput).toBeCloseTo(bound.mostPerSecond / 1_200, 1);
  });

  test("without a target is the throughput of the best batch", async () => {
    const { bound } = await simulate({
      arrivals: poisson,
      service: line,
      durationMs: 1_000,
      options: { maxBatchSize: 80 },
    });
    expect(bound.mostPerSecond).toBeCloseTo(800, 6);
  });
});

test.each([
  [{ ...base, durationMs: 0 }, "Expected `durationMs` to be a finite number > 0, got `0` (number)"],
  [{ ...base, duration: 1 }, "Unknown option `duration`, did you mean `durationMs`?"],
  [{ ...base, arrivals: { kind: "poison" } }, "Expected `arrivals.kind` to be"],
  [
    { ...base, arrivals: { kind: "poisson" } },
    "Expected `arrivals.perSecond` to be a finite number > 0, got `undefined`",
  ],
  [{ ...base, arrivals: { ...poisson, size: 1 } }, "Unknown option `arrivals.size`"],
  [{ ...base, arrivals: { kind: "bursts", perSecond: 1, factor: 5 } }, "Expected `arrivals.factor` to be at most 4"],
  [{ ...base, arrivals: { kind: "times", atMs: [2, 1] } }, "Expected `arrivals.atMs[1]` to be a finite number >= 2"],
  [{ ...base, service: { ...line, noise: -1 } }, "Expected `service.noise` to be a finite number >= 0"],
  [
    { ...base, service: { ...line, stalls: { share: 2, factor: 1 } } },
    "Expected `service.stalls.share` to be a number from 0 to 1",
  ],
  [
    {
      ...base,
      service: {
        kind: "table",
        points: [
          [1, 12],
          [1, 15],
        ],
      },
    },
    "Expected `service.points[1]` to be a finite number > 1, got `1`",
  ],
  [{ ...base, warmUpMs: 20_000 }, "Expected `warmUpMs` to be less than `durationMs` (20000)"],
  [{ ...base, options: { maxBatchSize: 0 } }, "Expected `maxBatchSize` to be an integer >= 1 or Infinity"],
] as unknown as [SimulateOptions, string][])("refuses wrong options %#", async (options, message) => {
  await expect(simulate(options)).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining(message),
  });
});

test("callers with several attempts fail and are refused as those with one", async () => {
  const given = {
    arrivals: { kind: "poisson", perSecond: 100 },
    service: { kind: "line", fixedMs: 20, itemMs: 1, stalls: { share: 1, factor: 100 } },
    options: { handlerTimeoutMs: 300 },
    durationMs: 5_000,
  } as const;
  const [once, twice] = [await simulate(given), await simulate({ ...given, attempts: 2 })];
  expect(once).toMatchObject({ answered: 0, refused: 0, failed: once.offered });
  expect(twice).toMatchObject({ answered: 0, refused: 0, failed: twice.offered });
});

test.each([300, 700, 1_000, 2_000])(
  "items that arrive independently, %i a second, are never served better than the bound",
  async (perSecond) => {
    const report = await simulate({
      arrivals: { kind: "poisson", perSecond },
      service: { kind: "line", fixedMs: 20, itemMs: 1 },
      options: { targetLatencyMs: 150 },
      durationMs: 30_000,
    });
    expect(report.goodput).toBeLessThan(1.02 * report.bound.goodput);
  },
);

describe("a simulation ends", () => {
  const closed = { kind: "closed", callers: 100 } as const;
  test.each<[string, Partial<SimulateOptions>]>([
    ["where a latency target refuses callers who do not think", { options: { targetLatencyMs: 100 } }],
    ["where a full queue refuses them", { options: { maxQueueSize: 10, onFull: "reject" } }],
    ["where they may come again at once", { options: { maxQueueSize: 10, onFull: "reject" }, retryMs: 0 }],
    ["where runs take no time", { service: { kind: "line", fixedMs: 0, itemMs: 0 } }],
  ])("%s", async (_name, given) => {
    const { offered, answered } = await simulate({ ...base, arrivals: closed, durationMs: 500, ...given });
    expect(answered).toBeGreaterThan(100);
    expect(offered).toBeLessThan(100 * 502);
  });

  test.each<[string, Arrivals]>([
    [
      "rises in no time from nothing",
      {
        kind: "curve",
        points: [
          [10, 0],
          [10, 5],
        ],
      },
    ],
    ["is far below one item in the run", { kind: "curve", points: [[1e-3, 1e-9]] }],
  ])("where the rate of a curve %s", async (_name, arrivals) => {
    const { offered } = await simulate({ ...base, arrivals, durationMs: 500 });
    expect(offered).toBe(0);
  });

  test("with an error where a limiter has another clock", async () => {
    const limiter = rateLimiter({ callsPerMinute: 600 });
    const run = simulate({ ...base, durationMs: 1_000, options: { limiter } });
    await expect(run).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("Expected `limiter` to have the clock of the simulation"),
    });
  });

  test.each([Infinity, Number.NaN, -1, "5"])("with an error where a run takes %s ms", async (runMs) => {
    const run = simulate({ ...base, service: { kind: "function", runMs: () => runMs as number } });
    await expect(run).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("`service.runMs(…)` to be a finite number >= 0, got"),
    });
  });
});
