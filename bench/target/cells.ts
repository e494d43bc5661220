/**
 * The cells: each service with each kind of arrivals and each load, the engine beside static
 * settings and other rules on the same arrivals.
 */
import { runEngine } from "./engine.ts";
import { type Load, loadOf, perSecondOf, type Wanted } from "./load.ts";
import type { Outcome } from "./outcome.ts";
import { aimd, bentoml, knownTimes, runPolicy, timeoutsAlone } from "./policies.ts";
import type { TargetService } from "./services.ts";
import { runSetting, type Setting, settings } from "./static-settings.ts";

const KINDS = ["poisson", "bursts"] as const;
const LOADS = [0.5, 0.8, 0.95, 1.2, 2] as const;

export interface Cell {
  readonly service: TargetService;
  readonly kind: (typeof KINDS)[number];
  readonly load: number;
  /** p99 of the answered over the target. */
  readonly p99: number;
  readonly goodput: number;
  /** The share that any rule can reach, for independent arrivals. */
  readonly bound: number;
  /** Mean time to a refusal over the target; 0 if nothing was refused. */
  readonly refusedAfter: number;
  /** The setting with the highest goodput among all that meet the target. */
  readonly best: Setting | null;
  readonly bestGoodput: number;
  readonly known: number;
  readonly timeouts: number;
  readonly aimd: number;
  readonly bentoml: number;
}

/** Not counted. */
const WARM_UP_MS = 4_000;
/** Bursts come every 800 ms, and a batch in half of the target. */
const [LEAST_MS, BATCHES] = [12_000, 400];

/** A run of a service: time for 400 batches, and at least for 15 bursts. */
export function wantedOf(service: TargetService, load: number, more: Partial<Wanted> = {}): Wanted {
  const slots = more.slots ?? 1;
  const perSecond = perSecondOf({ service, slots }, load);
  return {
    service,
    arrivals: { kind: "poisson", perSecond },
    durationMs: WARM_UP_MS + Math.max(LEAST_MS, (BATCHES * service.targetMs) / 2),
    warmUpMs: WARM_UP_MS,
    slots,
    noise: 0.1,
    seed: 1,
    changes: [],
    ...more,
  };
}

/** Goodputs of all settings in a run, in their order. */
function goodputs(load: Load, all: readonly Setting[]): { outcomes: Outcome[]; best: number } {
  const outcomes = all.map((setting) => runSetting(load, setting));
  let best = -1;
  for (const [index, { goodput, keeps }] of outcomes.entries()) {
    if (keeps && goodput > (outcomes[best]?.goodput ?? -1)) best = index;
  }
  return { outcomes, best };
}

export interface Cells {
  readonly cells: readonly Cell[];
  /** The setting with the highest mean goodput over all cells, and that goodput. */
  readonly single: Setting;
  readonly singleGoodput: number;
}

export async function measureCells(
  services: readonly TargetService[],
  progress: (line: string) => void,
): Promise<Cells> {
  const all = settings();
  const sums = new Float64Array(all.length);
  const cells: Cell[] = [];
  for (const service of services) {
    progress(`cells of ${service.name}`);
    for (const kind of KINDS) for (const load of LOADS) cells.push(await measureCell(service, kind, load, all, sums));
  }
  const single = sums.indexOf(Math.max(...sums));
  return { cells, single: all[single] as Setting, singleGoodput: (sums[single] as number) / cells.length };
}

async function measureCell(
  service: TargetService,
  kind: Cell["kind"],
  load: number,
  all: readonly Setting[],
  sums: Float64Array,
): Promise<Cell> {
  const arrivals = { kind, perSecond: perSecondOf({ service, slots: 1 }, load) };
  const wanted = wantedOf(service, load, { arrivals });
  const run = loadOf(wanted);
  const { outcomes, best } = goodputs(run, all);
  for (const [index, { goodput }] of outcomes.entries()) sums[index] = (sums[index] as number) + goodput;
  const report = await runEngine(wanted);
  return {
    ...{ service, kind, load },
    p99: report.latencyMs.p99 / service.targetMs,
    goodput: report.goodput,
    bound: report.bound.goodput,
    refusedAfter: report.refusedAfterMs.mean / service.targetMs,
    best: all[best] ?? null,
    bestGoodput: outcomes[best]?.goodput ?? Number.NaN,
    known: runPolicy(run, knownTimes(run)).goodput,
    timeouts: runPolicy(run, timeoutsAlone(run)).goodput,
    aimd: runPolicy(run, aimd(run)).goodput,
    bentoml: runPolicy(run, bentoml(run)).goodput,
  };
}

/** The highest goodput of a static setting that keeps the target in a run, and the setting. */
export function tunedFor(wanted: Wanted): { readonly setting: Setting; readonly goodput: number } {
  const all = settings();
  const { outcomes, best } = goodputs(loadOf(wanted), all);
  return { setting: all[best] as Setting, goodput: outcomes[best]?.goodput as number };
}
