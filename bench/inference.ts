/**
 * Embeddings over HTTP with batching, without, and with every fixed setting of a grid: texts a second and latencies of one
 * client up to 64, for short, mixed and long texts, on an encoder of MiniLM's shape and a tiny one.
 *
 *   node bench/inference.ts                                # all cells; an hour or so
 *   node bench/inference.ts --cells minilm/64/mixed        # some; with commas between them
 *   node bench/inference.ts --rounds 3 --seconds 4 --no-grid
 *
 * The services of a cell take turns, in rounds; a ratio is the median over the rounds. Of the grid each setting is measured
 * once, and the best one again in turns with the defaults. Writes nothing but its output.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median, seededRandom, shuffled } from "./harness/numbers.ts";
import { MIXES, type Mix } from "./inference/mixes.ts";
import { type Figures, type Load, RunningService } from "./inference/services.ts";

const MODELS: Readonly<Record<string, object>> = {
  minilm: { layers: 6, hidden: 384, heads: 12, feedForward: 1536, vocabulary: 8_000 },
  tiny: { layers: 2, hidden: 128, heads: 2, feedForward: 512, vocabulary: 8_000 },
};
const CLIENTS = [1, 8, 64];
const DEFAULTS = "defaults";
const OFF = "batching off, 2 workers";

const { values } = parseArgs({
  options: {
    cells: { type: "string" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "6" },
    grid: { type: "boolean", default: true },
    "no-grid": { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1_000;

/** Every setting of the grid, by its name. */
function gridOf(): Map<string, object> {
  const settings = new Map<string, object>([["1 worker, batching off", { workers: 1, maxBatchSize: 1 }]]);
  for (const workers of [1, 2]) {
    for (const maxBatchSize of [8, 64]) {
      for (const maxBatchTokens of [64, 128, 256, 512]) {
        const name = `${workers} workers, ${maxBatchSize} rows, ${maxBatchTokens} tokens`;
        settings.set(name, { workers, maxBatchSize, maxBatchTokens });
      }
    }
  }
  return settings;
}

interface Cell {
  readonly model: string;
  readonly clients: number;
  readonly mix: Mix;
}

const text = (value: number, digits = 2): string => value.toFixed(digits);

async function inTurns(services: readonly RunningService[], load: Omit<Load, "seed">): Promise<Map<string, Figures[]>> {
  const figures = new Map<string, Figures[]>(services.map(({ name }) => [name, []]));
  const random = seededRandom(services.length);
  for (let round = 0; round < rounds; round += 1) {
    for (const service of shuffled(services, random)) {
      figures.get(service.name)?.push(await service.measure({ ...load, seed: round }));
    }
  }
  return figures;
}

/** The median over the rounds of one figure of a service divided by that of another. */
function ratioOf(figures: Map<string, Figures[]>, name: string, base: string, of: keyof Figures): number {
  const bases = figures.get(base) ?? [];
  return median((figures.get(name) ?? []).map((figure, round) => figure[of] / (bases[round]?.[of] ?? Number.NaN)));
}

async function bestOfGrid(common: object, load: Omit<Load, "seed">): Promise<[name: string, options: object]> {
  let best: [string, object, number] = ["", {}, 0];
  for (const [name, options] of gridOf()) {
    const service = await RunningService.start(name, { ...common, ...options });
    const { perSecond } = await service.measure({ ...load, seed: 0 });
    await service.stop();
    if (perSecond > best[2]) best = [name, options, perSecond];
  }
  return [best[0], best[1]];
}

async function runCell({ model, clients, mix }: Cell): Promise<void> {
  const common = { encoder: MODELS[model], modelDirectory: join(tmpdir(), "batchwise-bench-models") };
  const load = { clients, mix, warmUpMs: 3_000, durationMs };
  const others: [string, object][] = [[OFF, { workers: 2, maxBatchSize: 1 }]];
  if (values.grid && !values["no-grid"]) others.push(await bestOfGrid(common, { ...load, durationMs: durationMs / 2 }));
  const services = await Promise.all(
    [[DEFAULTS, {}] as [string, object], ...others].map(([name, options]) =>
      RunningService.start(name, { ...common, ...options }),
    ),
  );
  const figures = await inTurns(services, load);
  for (const { name } of services) {
    const of = (key: keyof Figures): number => median((figures.get(name) ?? []).map((figure) => figure[key]));
    const ratios = `${text(ratioOf(figures, DEFAULTS, name, "perSecond"))} x, p99 ${text(ratioOf(figures, DEFAULTS, name, "p99Ms"))} x`;
    const against = name === DEFAULTS ? "" : ` | defaults against it: ${ratios}`;
    const latencies = `p50 ${text(of("p50Ms"), 1)} ms, p99 ${text(of("p99Ms"), 1)} ms`;
    console.log(
      `${model}/${clients}/${mix} | ${name} | ${text(of("perSecond"), 0)}/s, ${latencies}, loop ${text(of("loopDelayP99Ms"), 1)} ms${against}`,
    );
  }
  await Promise.all(services.map((service) => service.stop()));
}

const wanted = values.cells?.split(",");
for (const model of Object.keys(MODELS)) {
  for (const clients of CLIENTS) {
    for (const mix of MIXES) {
      if (wanted !== undefined && !wanted.includes(`${model}/${clients}/${mix}`)) continue;
      await runCell({ model, clients, mix });
    }
  }
}
