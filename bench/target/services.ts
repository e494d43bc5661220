/**
 * The services, targets and loads of the latency target's benchmark. The rule was tuned on the
 * first six; the last two were chosen afterwards, for their different shapes.
 */
import { plainRunMs, type ServiceShape } from "../../packages/batchwise/src/simulate/service.ts";

export interface TargetService {
  readonly name: string;
  readonly shape: ServiceShape;
  readonly targetMs: number;
}

/** Batches are at most this large, in the engine and in the fast simulator. */
export const LARGEST = 1_024;

const line = (fixedMs: number, itemMs: number): ServiceShape => ({ kind: "line", fixedMs, itemMs });

export const tuned: readonly TargetService[] = [
  { name: "20 + n", shape: line(20, 1), targetMs: 150 },
  { name: "10 + 0.1 n", shape: line(10, 0.1), targetMs: 50 },
  { name: "2 + 2 n", shape: line(2, 2), targetMs: 60 },
  { name: "20 + n, tight", shape: line(20, 1), targetMs: 70 },
  {
    name: "15 to 16, then + 1.2 n",
    shape: {
      kind: "table",
      points: [
        [16, 15],
        [1_016, 1_215],
      ],
    },
    targetMs: 100,
  },
  { name: "5 + 3 for each 8", shape: { kind: "steps", fixedMs: 5, stepMs: 3, stepSize: 8 }, targetMs: 50 },
];

export const unseen: readonly TargetService[] = [
  {
    name: "6 + 0.3 n + 0.01 n²",
    shape: { kind: "function", runMs: ({ cost }) => 6 + 0.3 * cost + 0.01 * cost * cost },
    targetMs: 80,
  },
  { name: "2 + 24 for each 64", shape: { kind: "steps", fixedMs: 2, stepMs: 24, stepSize: 64 }, targetMs: 120 },
];

/** Mean run times by size, from 0 to `LARGEST`. */
export function runTimes({ shape }: TargetService): Float64Array {
  return Float64Array.from({ length: LARGEST + 1 }, (_, size) => plainRunMs(shape, { size, cost: size, atMs: 0 }));
}

/**
 * The rate that can be served within the target: the best rate of the sizes whose batch is in time
 * after a wait for another one, `(1 + 1 / slots) L(n) <= target` (Nexus, SOSP 2019).
 */
export function capacityOf(service: TargetService, slots = 1): number {
  let best = 0;
  for (const [size, runMs] of runTimes(service).entries()) {
    if ((1 + 1 / slots) * runMs <= service.targetMs) best = Math.max(best, (1_000 * slots * size) / runMs);
  }
  return best;
}
