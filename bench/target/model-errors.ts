/** How well run times are learned, for sizes in use. */

import { normal, randomOf } from "../../packages/batchwise/src/simulate/random.ts";
import { RunTimeModel } from "../../packages/batchwise/src/target/run-time-model.ts";
import { runTimes, type TargetService } from "./services.ts";

const NOISE = 0.1;
const RUNS = 20;

export interface ModelErrors {
  readonly service: TargetService;
  /** Mean relative error after 100 batches, and 15 batches after the handler became 2 x slower. */
  readonly learned: number;
  readonly changed: number;
}

export function modelErrors(service: TargetService): ModelErrors {
  const times = runTimes(service);
  let most = 1;
  while (2 * (times[most + 1] as number) <= service.targetMs) most += 1;
  const sums = { learned: 0, changed: 0 };
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const random = randomOf(seed, 0);
    const model = new RunTimeModel();
    const sizes: number[] = [];
    const learn = (count: number, factor: number): void => {
      for (let batch = 0; batch < count; batch += 1) {
        // In overload sizes are near the largest.
        const size = Math.max(1, Math.round(most * (0.5 + 0.5 * random())));
        sizes.push(size);
        model.record(size, factor * (times[size] as number) * Math.exp(NOISE * normal(random) - NOISE ** 2 / 2));
      }
    };
    const error = (factor: number): number => {
      const errors = sizes.map((size) => Math.abs(model.predict(size) / factor / (times[size] as number) - 1));
      return errors.reduce((sum, one) => sum + one, 0) / errors.length / RUNS;
    };
    learn(100, 1);
    sums.learned += error(1);
    learn(15, 2);
    sums.changed += error(2);
  }
  return { service, ...sums };
}
