// The simulator's speed and memory. The times are those of a quiet machine.

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
  ["at little load", 0.6, {}, 300_000],
])("simulates so many items a second %s", async (_name, load, options, least) => {
  const arrivals = { kind: "poisson", perSecond: load * CAPACITY } as const;
  let best = 0;
  for (let round = 0; round < 3; round += 1) {
    const started = performance.now();
    const { offered } = await simulate({ arrivals, service, options, durationMs: 60_000 });
    best = Math.max(best, (1_000 * offered) / (performance.now() - started));
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
