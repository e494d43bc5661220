/**
 * The bound of a cell: the rate of the model alone, without HTTP, tokeniser or batcher, with single
 * texts and with batches of texts that are known in advance. Each cut is tried twice; the best two
 * then take turns with single texts and with the services. Ends all its threads.
 */
import {
  resolveModel as filesOf,
  type ModelSource,
} from "../../packages/batchwise/src/onnx/text/model-folder/model-files.ts";
import { truncateTokens } from "../../packages/batchwise/src/onnx/text/tokenizer.ts";
import { resolveModel } from "../../packages/server/src/models/model-source.ts";
import { seededRandom, shuffled } from "../harness/numbers.ts";
import { type Cut, cutBatches, differentCuts, meanSize, SINGLE } from "./bound-batches.ts";
import { type BoundLooks, type LookedAt, nameInRounds, type Probe } from "./bound-figures.ts";
import { BoundThreads } from "./bound-threads.ts";
import { textsOf } from "./mixes.ts";
import { type Cell, FINALISTS, LOOKS, PROBES, WORKERS } from "./plan.ts";
import type { Contender, Progress } from "./turns.ts";

/** Number of texts known in advance. */
const TEXTS = 2_048;

export class BoundMeter {
  readonly looks: BoundLooks;
  readonly contenders: readonly Contender[];
  readonly #threads: BoundThreads;

  private constructor(looks: BoundLooks, contenders: readonly Contender[], threads: BoundThreads) {
    this.looks = looks;
    this.contenders = contenders;
    this.#threads = threads;
  }

  /** Tries every cut; undefined for a cell without a bound. */
  static async open(cell: Cell, model: object, progress: Progress): Promise<BoundMeter | undefined> {
    const times = cell.times.bound;
    if (times === undefined) return undefined;
    const source = await filesOf(await resolveModel(model));
    const texts = tokensOf(source, cell.texts);
    const lengths = texts.map(({ length }) => length);
    const alone = cutBatches(lengths, SINGLE);
    const cuts = differentCuts(lengths);
    const threads = await BoundThreads.open(WORKERS, source);
    const perSecond = (cut: Cut, ms: number): Promise<number> => threads.perSecond(texts, cut, times.leadMs, ms);
    try {
      progress("the model alone, calls of one size");
      await perSecond(alone, times.roundMs);
      const probes = await probe(threads);
      const looks = await lookAt(cuts, (cut) => perSecond(cut, times.lookMs), progress);
      const looked = cuts
        .map((cut): LookedAt => ({ name: cut.name, perSecond: looks.get(cut) ?? 0, ...meanSize(lengths, cut) }))
        .sort((a, b) => b.perSecond - a.perSecond);
      const best = looked.slice(0, FINALISTS).map(({ name }) => cuts.find((cut) => cut.name === name) as Cut);
      const contenders = [alone, ...best].map((cut) => ({
        name: nameInRounds(cut),
        round: async () => ({ ...NOTHING, perSecond: await perSecond(cut, times.roundMs) }),
      }));
      const tokens = meanSize(lengths, alone).cost;
      return new BoundMeter({ workers: WORKERS, texts: texts.length, tokens, probes, looked }, contenders, threads);
    } catch (error) {
      await threads.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** Figures that only a service reports. */
const NOTHING = {
  ...{ p50Ms: Number.NaN, p99Ms: Number.NaN, loopDelayP99Ms: Number.NaN },
  ...{ rows: Number.NaN, cost: Number.NaN, cpuMs: Number.NaN },
};

/** The token ids of the mix's texts, as the service would compute them, shortest first. */
function tokensOf({ tokenizer, maxTokens }: ModelSource, mix: string): (readonly number[])[] {
  const texts = textsOf(mix, 11);
  const lists = Array.from({ length: TEXTS }, () => truncateTokens(tokenizer, texts.next().value, maxTokens).ids ?? []);
  return lists.filter(({ length }) => length > 0).sort((a, b) => a.length - b.length);
}

/** The shortest of the trials of a call, for the same reason as below. */
async function probe(threads: BoundThreads): Promise<Probe[]> {
  const probes: Probe[] = PROBES.map(([rows, columns]) => ({ tokens: rows * columns, ms: Number.POSITIVE_INFINITY }));
  for (let turn = 1; turn <= LOOKS; turn += 1) {
    for (const [at, [rows, columns]] of PROBES.entries()) {
      const { tokens, ms } = probes[at] as Probe;
      probes[at] = { tokens, ms: Math.min(ms, await threads.callMs(rows, columns)) };
    }
  }
  return probes;
}

/**
 * The best of the trials of a cut: other work on the machine makes a trial slower, never faster.
 */
async function lookAt(
  cuts: readonly Cut[],
  look: (cut: Cut) => Promise<number>,
  progress: Progress,
): Promise<ReadonlyMap<Cut, number>> {
  const best = new Map<Cut, number>();
  const random = seededRandom(cuts.length);
  for (let turn = 1; turn <= LOOKS; turn += 1) {
    progress(`the model alone, ${cuts.length} ways of cutting, look ${turn} of ${LOOKS}`);
    for (const cut of shuffled(cuts, random)) best.set(cut, Math.max(best.get(cut) ?? 0, await look(cut)));
  }
  return best;
}
