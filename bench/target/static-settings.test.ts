import { expect, test } from "vitest";
import { wantedOf } from "./cells.ts";
import { runEngine } from "./engine.ts";
import { loadOf } from "./load.ts";
import { leastLatencyMs } from "./optimum.ts";
import { runPolicy, timeoutsAlone } from "./policies.ts";
import { runTimes, type TargetService, tuned } from "./services.ts";
import { runSetting, type Setting, settings } from "./static-settings.ts";

const [first, , , , , last] = tuned as readonly [TargetService, ...TargetService[]];

test("there are 663 different settings", () => {
  expect(new Set(settings().map((setting) => JSON.stringify(setting))).size).toBe(663);
});

test.each<[number, Setting, number]>([
  [1.2, { maxBatchSize: 55, maxQueueSize: 55, onFull: "drop-oldest", maxWaitMs: 0 }, 1],
  [2, { maxBatchSize: 80, maxQueueSize: 40, onFull: "drop-oldest", maxWaitMs: 0 }, 1],
  [2, { maxBatchSize: 30, maxQueueSize: 90, onFull: "drop-oldest", maxWaitMs: 0 }, 1],
  [1.2, { maxBatchSize: 40, maxQueueSize: 100, onFull: "reject", maxWaitMs: 0 }, 1],
  [0.5, { maxBatchSize: 20, maxQueueSize: 20, onFull: "drop-oldest", maxWaitMs: 20 }, 1],
  [1.2, { maxBatchSize: 40, maxQueueSize: 40, onFull: "drop-oldest", maxWaitMs: 0 }, 4],
])("the fast simulator gives the engine's goodput (load %d, %o, %d slots)", async (load, setting, slots) => {
  for (const kind of ["poisson", "bursts"] as const) {
    const wanted = wantedOf(first, load, { slots, durationMs: 4_000, warmUpMs: 1_000 });
    const { arrivals } = wanted;
    const given = { ...wanted, arrivals: { ...(arrivals as { perSecond: number }), kind } };
    const report = await runEngine(given, { ...setting });
    const outcome = runSetting(loadOf(given), setting);
    expect(outcome.offered).toBe(report.offered);
    expect(outcome.answered / report.answered).toBeCloseTo(1, 2);
    expect(outcome.goodput).toBeGreaterThan(0.99 * report.goodput);
    expect(outcome.goodput).toBeLessThan(1.01 * report.goodput + 1e-9);
  }
});

test("the fast simulator gives the engine's goodput with timeouts", async () => {
  const wanted = wantedOf(last as TargetService, 1.2, { durationMs: 4_000, warmUpMs: 1_000 });
  const report = await runEngine(wanted, { maxBatchSize: 1_024, timeoutMs: wanted.service.targetMs });
  const load = loadOf(wanted);
  expect(runPolicy(load, timeoutsAlone(load)).goodput).toBeCloseTo(report.goodput, 2);
});

test("the exact optimum of batches of one is the formula of Pollaczek and Khinchine", () => {
  const runMs = runTimes(first);
  const perMs = 0.02;
  const ms = runMs[1] as number;
  const expected = ms + (perMs * ms * ms) / (2 * (1 - perMs * ms));
  expect(leastLatencyMs({ runMs, cap: 1, perMs })).toBeCloseTo(expected, 3);
});
