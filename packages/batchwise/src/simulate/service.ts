// The simulated handler: its run time for a batch, and its faults.

import { normal, type Random } from "./random.ts";

/** A batch as the simulated service sees it. */
export interface SimulatedBatch {
  /** Number of items. */
  readonly size: number;
  /** Its cost by `cost` and `batchCost`; its size if no cost is given. */
  readonly cost: number;
  /** Its start, in milliseconds from the start of the run. */
  readonly atMs: number;
}

/**
 * Run time in milliseconds by the cost of a batch, which is its size if no `cost` is given.
 *
 * - `line`: `fixedMs + itemMs * cost`.
 * - `table`: linear between the points, each of a higher cost than the one before. Constant below
 *   the first point; above the last one the last slope continues.
 * - `steps`: `fixedMs`, and `stepMs` for each started `stepSize`.
 * - `function`: the result of `runMs`, finite and >= 0. Another one ends the simulation with
 *   INVALID_OPTION.
 */
export type ServiceShape =
  | { readonly kind: "line"; readonly fixedMs: number; readonly itemMs: number }
  | { readonly kind: "table"; readonly points: readonly (readonly [cost: number, runMs: number])[] }
  | { readonly kind: "steps"; readonly fixedMs: number; readonly stepMs: number; readonly stepSize: number }
  | { readonly kind: "function"; readonly runMs: (batch: SimulatedBatch) => number };

/** Variations and faults of a service. */
export interface ServiceTroubles {
  /** Coefficient of variation of a run's time; lognormal, with unchanged mean. Default 0. */
  readonly noise?: number;
  /** A share of the batches takes `factor` times as long. */
  readonly stalls?: { readonly share: number; readonly factor: number };
  /** From `fromMs` to `toMs` (default: the end), runs take `factor` times as long. */
  readonly changes?: readonly { readonly fromMs: number; readonly toMs?: number; readonly factor: number }[];
  /** Batches that fail at their end: a share of all, and every one that costs more than `above`. */
  readonly failures?: { readonly share?: number; readonly above?: number };
}

/** A simulated handler. */
export type Service = ServiceShape & ServiceTroubles;

/** The run time of a batch without variations and faults. */
export function plainRunMs(service: ServiceShape, batch: SimulatedBatch): number {
  switch (service.kind) {
    case "line":
      return service.fixedMs + service.itemMs * batch.cost;
    case "steps":
      return service.fixedMs + service.stepMs * Math.ceil(batch.cost / service.stepSize);
    case "table":
      return ofTable(service.points, batch.cost);
    case "function":
      return service.runMs(batch);
  }
}

function ofTable(points: readonly (readonly [cost: number, runMs: number])[], cost: number): number {
  const first = points[0] as readonly [number, number];
  if (cost <= first[0] || points.length === 1) return first[1];
  const above = points.findIndex(([at]) => at >= cost);
  const index = above === -1 ? points.length - 1 : above;
  const [low, high] = [points[index - 1] as readonly [number, number], points[index] as readonly [number, number]];
  return low[1] + ((high[1] - low[1]) * (cost - low[0])) / (high[0] - low[0]);
}

/**
 * The time of a run, and whether it fails. Draws the same number of random numbers for every batch.
 */
export function drawRun(service: Service, batch: SimulatedBatch, random: Random): { runMs: number; fails: boolean } {
  const { noise = 0, stalls, changes = [], failures } = service;
  let runMs = plainRunMs(service, batch);
  if (noise > 0) {
    const variance = Math.log(1 + noise * noise);
    runMs *= Math.exp(Math.sqrt(variance) * normal(random) - variance / 2);
  }
  for (const { fromMs, toMs = Infinity, factor } of changes) {
    if (batch.atMs >= fromMs && batch.atMs < toMs) runMs *= factor;
  }
  if (stalls !== undefined && random() < stalls.share) runMs *= stalls.factor;
  const { share = 0, above = Infinity } = failures ?? {};
  const fails = (share > 0 && random() < share) || batch.cost > above;
  return { runMs, fails };
}
