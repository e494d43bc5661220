/** Runs beside the cells: changes, bunches, slots, and cold starts. */
import { tunedFor, wantedOf } from "./cells.ts";
import { runEngine } from "./engine.ts";
import { loadOf, perSecondOf } from "./load.ts";
import { knownTimes, runPolicy } from "./policies.ts";
import type { TargetService } from "./services.ts";
import { runSetting } from "./static-settings.ts";

/** A figure for each service, under a heading. */
export interface Row {
  readonly service: TargetService;
  readonly condition: string;
  readonly goodput: number;
  /** What it is compared with. */
  readonly other: number;
  /** p99 of the answered over the target. */
  readonly p99: number;
}

/** 1.6 times slower for a quarter of the counted time, against the settings tuned without it. */
export async function slowerForAQuarter(service: TargetService): Promise<Row> {
  const wanted = wantedOf(service, 0.95);
  const { setting } = tunedFor(wanted);
  const countedMs = wanted.durationMs - wanted.warmUpMs;
  const fromMs = wanted.warmUpMs + countedMs / 4;
  const changed = { ...wanted, changes: [{ fromMs, toMs: fromMs + countedMs / 4, factor: 1.6 }] };
  const { goodput, latencyMs } = await runEngine(changed);
  const other = runSetting(loadOf(changed), setting).goodput;
  return { service, condition: "1.6 x slower", goodput, other, p99: latencyMs.p99 / service.targetMs };
}

/** Bunches of eight at 0.95 of the capacity, against the same rule with known run times. */
export async function bunches(service: TargetService): Promise<Row> {
  const perSecond = perSecondOf({ service, slots: 1 }, 0.95);
  const wanted = wantedOf(service, 0.95, { arrivals: { kind: "bunches", perSecond, size: 8 } });
  const { goodput, latencyMs } = await runEngine(wanted);
  const load = loadOf(wanted);
  const other = runPolicy(load, knownTimes(load)).goodput;
  return { service, condition: "bunches of 8", goodput, other, p99: latencyMs.p99 / service.targetMs };
}

/** Several slots at 0.8 of their capacity. */
export async function severalSlots(service: TargetService, slots: number): Promise<Row> {
  const wanted = wantedOf(service, 0.8, { slots, durationMs: 10_000 });
  const { goodput, latencyMs } = await runEngine(wanted);
  return { service, condition: `${slots} slots`, goodput, other: 1, p99: latencyMs.p99 / service.targetMs };
}

const COLD_STARTS = 10;

/** The first two seconds at 1.5 times the capacity, against the most that can be reached. */
export async function coldStart(service: TargetService): Promise<Row> {
  const sums = { goodput: 0, other: 0, p99: 0 };
  for (let seed = 1; seed <= COLD_STARTS; seed += 1) {
    const report = await runEngine(wantedOf(service, 1.5, { durationMs: 2_000, warmUpMs: 0, seed }));
    sums.goodput += report.goodput / COLD_STARTS;
    sums.other += report.bound.goodput / COLD_STARTS;
    sums.p99 += report.latencyMs.p99 / service.targetMs / COLD_STARTS;
  }
  return { service, condition: "first 2 s", ...sums };
}
