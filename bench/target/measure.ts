/** Everything that the page reports. */
import { type Cells, measureCells, wantedOf } from "./cells.ts";
import { bunches, coldStart, type Row, severalSlots, slowerForAQuarter } from "./conditions.ts";
import { runEngine } from "./engine.ts";
import { type ModelErrors, modelErrors } from "./model-errors.ts";
import { leastLatencyMs } from "./optimum.ts";
import { runTimes, type TargetService, tuned, unseen } from "./services.ts";

interface Optimum {
  readonly service: TargetService;
  readonly load: number;
  readonly leastMs: number;
  readonly meanMs: number;
}

export interface Results {
  readonly tuned: Cells;
  readonly unseen: Cells;
  readonly slower: readonly Row[];
  readonly bunches: readonly Row[];
  readonly slots: readonly Row[];
  readonly coldStart: readonly Row[];
  readonly models: readonly ModelErrors[];
  readonly optimum: readonly Optimum[];
}

export async function measureAll(progress: (line: string) => void): Promise<Results> {
  const each = async (what: string, measure: (service: TargetService) => Promise<Row>): Promise<Row[]> => {
    progress(what);
    const rows: Row[] = [];
    for (const service of tuned) rows.push(await measure(service));
    return rows;
  };
  return {
    tuned: await measureCells(tuned, progress),
    unseen: await measureCells(unseen, progress),
    slower: await each("1.6 times slower", slowerForAQuarter),
    bunches: await each("bunches", bunches),
    slots: [
      ...(await each("4 slots", (service) => severalSlots(service, 4))),
      ...(await each("8 slots", (service) => severalSlots(service, 8))),
      ...(await each("16 slots", (service) => severalSlots(service, 16))),
    ],
    coldStart: await each("cold starts", coldStart),
    models: tuned.map(modelErrors),
    optimum: await measureOptimum(progress),
  };
}

/** The cap of a batcher without settings. */
const CAP = 32;

/** Mean latency without a target, and without noise, against the least. */
async function measureOptimum(progress: (line: string) => void): Promise<Optimum[]> {
  const rows: Optimum[] = [];
  for (const service of tuned.slice(0, 3)) {
    progress(`optimum of ${service.name}`);
    const runMs = runTimes(service);
    for (const load of [0.05, 0.2, 0.5, 0.8]) {
      const perSecond = (load * 1_000 * CAP) / (runMs[CAP] as number);
      const leastMs = leastLatencyMs({ runMs, cap: CAP, perMs: perSecond / 1_000 });
      const wanted = wantedOf(service, load, {
        arrivals: { kind: "poisson", perSecond },
        noise: 0,
        durationMs: 40_000,
      });
      const { latencyMs } = await runEngine(wanted, { maxBatchSize: CAP });
      rows.push({ service, load, leastMs, meanMs: latencyMs.mean });
    }
  }
  return rows;
}
