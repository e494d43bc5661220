/**
 * Measures one cell: the defaults in turns with batching off, with the best fixed setting of the
 * grid, with FastAPI if it is installed, and with the model alone. The defaults learn once, in a
 * warm-up that is long enough. Each setting of the grid is tried once, the best three twice. A
 * service gets faster for half a minute, while its code is compiled, so for a fast model all of our
 * services get the same load before the rounds as those of the grid. Ends all its processes.
 */

import { BoundMeter } from "./bound.ts";
import type { BoundLooks } from "./bound-figures.ts";
import { textsOf } from "./mixes.ts";
import type { Cell } from "./plan.ts";
import { DEFAULTS, gridOf, OFF, type Setting, WORKERS } from "./plan.ts";
import { difference, PythonService, type Variant } from "./python-peer.ts";
import { type OwnOptions, OwnService, type Service } from "./services.ts";
import { firstLook, inTurns, type Progress, type Rounds, settledAfter, underLoad, warmUp } from "./turns.ts";

interface Looked {
  readonly name: string;
  readonly perSecond: number;
}

export interface CellResult {
  readonly rounds: Rounds;
  /** Texts per second of each setting in the trials. */
  readonly grid: readonly Looked[];
  /** The best of them; undefined if none was tried. */
  readonly winner?: string | undefined;
  /** Variants of FastAPI in the trials. */
  readonly python: readonly Looked[];
  /** Variants that were measured in the rounds. */
  readonly peers: readonly string[];
  readonly versions?: Readonly<Record<string, string>> | undefined;
  /** The trials of the model alone, which is then measured in the rounds. */
  readonly bound?: BoundLooks | undefined;
  /** Seconds that the defaults took from the start to 95 % of their final rate. */
  readonly settledAfterS: number;
}

/** The means to measure a cell. */
export interface Means {
  readonly model: OwnOptions;
  readonly hasGrid: boolean;
  /** The model's file and vocabulary, if FastAPI is measured. */
  readonly python?: { readonly path: string; readonly vocabulary: number } | undefined;
  readonly progress: Progress;
}

export async function measureCell(cell: Cell, means: Means): Promise<CellResult> {
  const started: Service[] = [];
  const start = async (name: string, options: OwnOptions): Promise<OwnService> => {
    const service = await OwnService.start(name, { ...means.model, ...options });
    started.push(service);
    return service;
  };
  let bound: BoundMeter | undefined;
  try {
    const defaults = await start(DEFAULTS, {});
    const off = await start(OFF, { workers: WORKERS, maxBatchSize: 1 });
    const services: Service[] = [defaults, off];
    const { shortWarmUpMs, warmUpMs, warmsEvenly } = cell.times;
    let gridMs = 0;
    means.progress("warm-up");
    const settledAfterS = settledAfter(await warmUp(defaults, cell, warmUpMs));
    await warmUp(off, cell, shortWarmUpMs);
    let grid: readonly Looked[] = [];
    if (means.hasGrid) {
      const fixed = await start("grid", { workers: WORKERS, maxBatchSize: 64, maxBatchTokens: 512 });
      const startedAt = performance.now();
      await warmUp(fixed, cell, shortWarmUpMs);
      grid = await lookAtGrid(fixed, cell, means.progress);
      gridMs = Math.round(performance.now() - startedAt);
      if (grid[0]?.name !== OFF) services.push(await withSetting(fixed, cell, grid[0]?.name));
    }
    if (warmsEvenly) {
      means.progress("the others, for as long as the grid");
      await warmUp(defaults, cell, Math.max(0, gridMs - warmUpMs));
      await warmUp(off, cell, Math.max(0, gridMs - shortWarmUpMs));
    }
    const python = await startPython(means, started);
    const { looked, best } = await lookAtPython(python, off, cell, means.progress);
    const served = [...services, ...best].map((service) => underLoad(service, cell));
    bound = await BoundMeter.open(cell, means.model, means.progress);
    const rounds = await inTurns([...served, ...(bound?.contenders ?? [])], cell, means.progress);
    const peers = best.map(({ name }) => name);
    const figures = { rounds, grid, winner: grid[0]?.name, bound: bound?.looks, settledAfterS };
    return { ...figures, python: looked, peers, versions: python[0]?.versions };
  } finally {
    await bound?.close();
    await Promise.allSettled(started.map((service) => service.stop()));
  }
}

/** Tries the settings; best first. */
async function lookAtGrid(service: OwnService, cell: Cell, progress: Progress): Promise<readonly Looked[]> {
  const settings = gridOf(cell);
  const look = async ({ name, limits }: Setting, seed: number): Promise<Looked> => {
    await service.configure(limits);
    return { name, perSecond: await firstLook(service, cell, seed) };
  };
  const looked: Looked[] = [];
  for (const [at, setting] of settings.entries()) {
    progress(`grid, ${at + 1} of ${settings.length}`);
    looked.push(await look(setting, 0));
  }
  looked.sort((a, b) => b.perSecond - a.perSecond);
  if (cell.clients === 1) return looked;
  progress("grid, the best three again");
  for (const [at, { name, perSecond }] of looked.slice(0, 3).entries()) {
    const again = await look(settingOf(cell, name), 1);
    looked[at] = { name, perSecond: (perSecond + again.perSecond) / 2 };
  }
  const [best, others] = [looked.slice(0, 3), looked.slice(3)];
  return [...best.sort((a, b) => b.perSecond - a.perSecond), ...others];
}

function settingOf(cell: Cell, name: string | undefined): Setting {
  return gridOf(cell).find((setting) => setting.name === name) as Setting;
}

/** The grid's service with one of its settings, under that setting's name. */
async function withSetting(service: OwnService, cell: Cell, name: string | undefined): Promise<Service> {
  const { limits, ...setting } = settingOf(cell, name);
  await service.configure(limits);
  return { ...setting, port: service.port, report: () => service.report(), stop: () => service.stop() };
}

const VARIANTS: readonly Variant[] = [
  { route: "async", threads: 1 },
  { route: "async", threads: 2 },
  { route: "pool", threads: 1 },
  { route: "pool", threads: 2 },
];

async function startPython({ python }: Means, started: Service[]): Promise<readonly PythonService[]> {
  if (python === undefined) return [];
  const services: PythonService[] = [];
  for (const variant of VARIANTS) {
    const service = await PythonService.start(python.path, python.vocabulary, variant);
    services.push(service);
    started.push(service);
  }
  return services;
}

const MOST_DIFFERENT = 1e-4;

/**
 * Tries all variants, and returns the better one of each kind of route. Throws if its vectors
 * differ from ours.
 */
async function lookAtPython(
  services: readonly PythonService[],
  ours: Service,
  cell: Cell,
  progress: Progress,
): Promise<{ readonly looked: readonly Looked[]; readonly best: readonly Service[] }> {
  if (services.length === 0) return { looked: [], best: [] };
  const texts = textsOf(cell.texts, 7);
  const apart = await difference(
    services[0] as Service,
    ours,
    Array.from({ length: 8 }, () => texts.next().value),
  );
  if (!(apart <= MOST_DIFFERENT)) throw new Error(`FastAPI's vectors differ from ours by ${apart}, which is too much`);
  const looked: Looked[] = [];
  for (const service of services) {
    progress(`${service.name}: a first look`);
    await warmUp(service, cell, cell.times.shortWarmUpMs);
    looked.push({ name: service.name, perSecond: await firstLook(service, cell, 0) });
  }
  const perSecond = (service: Service): number => looked.find(({ name }) => name === service.name)?.perSecond ?? 0;
  const pairs = [services.slice(0, 2), services.slice(2)];
  return { looked, best: pairs.map((pair) => pair.toSorted((a, b) => perSecond(b) - perSecond(a))[0] as Service) };
}
