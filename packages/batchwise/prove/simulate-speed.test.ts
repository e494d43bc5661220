// The simulator's speed and memory. Times are of the processor: other work on the machine slows
// them down less than those of the clock.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { simulate } from "batchwise/simulate";
import { expect, test } from "vitest";

const service = { kind: "line", fixedMs: 10, itemMs: 0.1, noise: 0.1 } as const;
const CAPACITY = 6_000;
const MB = 2 ** 20;

test.each([
  ["in overload", 2, { targetLatencyMs: 50 }, 200_000],
  ["at little load, with a target", 0.6, { targetLatencyMs: 50 }, 300_000],
  ["at little load", 0.6, { maxBatchSize: 1_024 }, 300_000],
])("simulates so many items a CPU second %s", async (_name, load, options, least) => {
  const arrivals = { kind: "poisson", perSecond: load * CAPACITY } as const;
  let best = 0;
  // The first rounds are compiled as they run.
  for (let round = 0; round < 5; round += 1) {
    const before = process.cpuUsage();
    const { offered } = await simulate({ arrivals, service, options, durationMs: 60_000 });
    const { user, system } = process.cpuUsage(before);
    best = Math.max(best, (1e6 * offered) / (user + system));
  }
  expect(best).toBeGreaterThan(least);
});

test("an hour at 1,000 items a second takes no more memory than its first minutes", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heaps: number[] = [];
  const { offered, answered } = await simulate({
    arrivals: { kind: "poisson", perSecond: 1_000 },
    service,
    options: { targetLatencyMs: 50 },
    durationMs: 3_600_000,
    item: (index) => {
      if (index % 500_000 === 250_000) {
        collect();
        heaps.push(process.memoryUsage().heapUsed);
      }
      return index;
    },
  });
  expect(offered).toBeGreaterThan(3_590_000);
  expect(answered / offered).toBeGreaterThan(0.999);
  expect(Math.max(...heaps) - (heaps[0] as number)).toBeLessThan(4 * MB);
});
