/**
 * The gain of each option: from one worker without batching to the defaults, one step at a time, in
 * interleaved rounds.
 */
import { ABLATION_STEPS, type Cell, DEFAULTS, OFF, WORKERS } from "./plan.ts";
import { type OwnOptions, OwnService, type Service } from "./services.ts";
import { inTurns, type Progress, type Rounds, underLoad, warmUp } from "./turns.ts";

/** Each step includes all steps above it, except the last row. */
export const STEPS: readonly (readonly [name: string, options: OwnOptions])[] = [
  ["batching off, 1 worker", { workers: 1, maxBatchSize: 1, samePriority: true }],
  [
    "batches of up to 512 padded tokens, in order of arrival",
    { workers: 1, maxBatchTokens: 512, samePriority: true, inArrivalOrder: true },
  ],
  ["chosen by length", { workers: 1, maxBatchTokens: 512, samePriority: true }],
  ["the budget learned", { workers: 1, samePriority: true }],
  [`${WORKERS} workers`, { samePriority: true }],
  [DEFAULTS, {}],
  [OFF, { workers: WORKERS, maxBatchSize: 1 }],
];

export async function measureAblation(cell: Cell, model: OwnOptions, progress: Progress): Promise<Rounds> {
  if (STEPS.length !== ABLATION_STEPS) throw new Error("Expected the plan to count the steps");
  const services: Service[] = [];
  try {
    for (const [name, options] of STEPS) {
      progress(`warm-up: ${name}`);
      const service = await OwnService.start(name, { ...model, ...options });
      services.push(service);
      const isFixed = "maxBatchTokens" in options || "maxBatchSize" in options;
      await warmUp(service, cell, isFixed ? cell.times.shortWarmUpMs : cell.times.warmUpMs);
    }
    const contenders = services.map((service) => underLoad(service, cell));
    return await inTurns(contenders, cell, progress);
  } finally {
    await Promise.allSettled(services.map((service) => service.stop()));
  }
}
