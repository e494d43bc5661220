/**
 * The arrivals and the noise of one run, drawn as the simulator of the library draws them, so that
 * the fast simulator sees the same run.
 */
import type { Arrivals } from "batchwise/simulate";
import { streamOf } from "../../packages/batchwise/src/simulate/arrivals.ts";
import { normal, randomOf } from "../../packages/batchwise/src/simulate/random.ts";
import { capacityOf, runTimes, type TargetService } from "./services.ts";

interface Change {
  readonly fromMs: number;
  readonly toMs: number;
  readonly factor: number;
}

/** The parameters of a run. */
export interface Wanted {
  readonly service: TargetService;
  readonly arrivals: Arrivals;
  readonly durationMs: number;
  readonly warmUpMs: number;
  readonly slots: number;
  readonly noise: number;
  readonly seed: number;
  readonly changes: readonly Change[];
}

export interface Load extends Wanted {
  /** Times of the arrivals, ascending. */
  readonly times: Float64Array;
  /** Mean run times by size. */
  readonly runMs: Float64Array;
  /** What the run times of successive batches are multiplied by. */
  readonly factors: Float64Array;
}

const FACTORS = 1 << 17;

export const perSecondOf = ({ service, slots }: Pick<Wanted, "service" | "slots">, load: number): number =>
  load * capacityOf(service, slots);

/** The simulator's streams of chance for arrivals and run times. */
const [ARRIVALS, SERVICE] = [0, 1];

export function loadOf(wanted: Wanted): Load {
  const { arrivals, durationMs, seed, noise, service } = wanted;
  const stream = streamOf(arrivals, randomOf(seed, ARRIVALS as number), durationMs);
  const times: number[] = [];
  for (; stream.nextAt < durationMs; stream.advance()) {
    for (let count = 0; count < stream.size; count += 1) times.push(stream.nextAt);
  }
  const random = randomOf(seed, SERVICE as number);
  const variance = Math.log(1 + noise * noise);
  const factors = Float64Array.from({ length: FACTORS }, () =>
    noise > 0 ? Math.exp(Math.sqrt(variance) * normal(random) - variance / 2) : 1,
  );
  return { ...wanted, times: Float64Array.from(times), runMs: runTimes(service), factors };
}

/** Run time of the `number`th batch. */
export function runMsOf(load: Load, size: number, number: number, at: number): number {
  let ms = (load.runMs[size] as number) * (load.factors[number % FACTORS] as number);
  for (const { fromMs, toMs, factor } of load.changes) if (at >= fromMs && at < toMs) ms *= factor;
  return ms;
}
