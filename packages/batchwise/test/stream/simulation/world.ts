// One world of the stream simulation, drawn from a seed: the options, the callers and the handler's
// habits. Plain data, so that a failing world can be printed and read.

import { Random } from "../../simulation/random.ts";

/** The plan of one caller. Times are in milliseconds from the start, counts in chunks. */
export interface CallerPlan {
  readonly id: number;
  readonly submitAt: number;
  /** Pause after each chunk; undefined: never reads. */
  readonly readMs: number | undefined;
  /** The caller whose stream must end before this one starts to read; undefined: reads at once. */
  readonly readsAfter: number | undefined;
  readonly leavesAfter: number | undefined;
  readonly leavesAt: number | undefined;
  readonly abortsAt: number | undefined;
  readonly timeoutMs: number | undefined;
  /** Chunks that the handler has for it. */
  readonly length: number;
  /** How its stream ends: by a mark, an Error in its place, or with the generator. */
  readonly ending: "done" | "error" | "generator";
}

/** The actions of one call of the handler. */
export interface BatchPlan {
  readonly isAsync: boolean;
  readonly roundMs: number;
  readonly cleanUpMs: number;
  readonly skips: number;
  readonly failsAt: number | undefined;
  readonly failure: "throw" | "length" | "hang";
}

export interface World {
  readonly seed: number;
  readonly options: {
    readonly maxBatchSize: number;
    readonly concurrency: number;
    readonly maxWaitMs: number;
    readonly maxQueueSize: number;
    readonly maxBufferedChunks: number;
    readonly maxStallMs: number;
    readonly handlerTimeoutMs?: number;
  };
  readonly callers: readonly CallerPlan[];
  readonly closesAt: number | undefined;
  readonly drains: boolean;
  /** The habits of the next batch. */
  nextBatch(): BatchPlan;
}

export function worldOf(seed: number): World {
  const random = new Random(seed);
  const handlerTimeoutMs = random.maybe(0.3, () => random.integer(20, 200));
  const troubled = random.chance(0.6) ? 0.25 : 0;
  const habits = { troubled, inSequence: random.chance(0.4) ? 0.5 : 0, longest: random.pick([8, 8, 40]) };
  const callers = Array.from({ length: random.integer(2, 14) }, (_, id) => callerOf(id, random, habits));
  return {
    seed,
    options: {
      maxBatchSize: random.integer(1, 6),
      concurrency: random.integer(1, 3),
      maxWaitMs: random.pick([0, 0, 10]),
      maxQueueSize: random.pick([1, 3, 100]),
      maxBufferedChunks: random.pick([1, 1, 2, 4, 16, Number.POSITIVE_INFINITY]),
      maxStallMs: random.pick([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 40, 2_500]),
      ...(handlerTimeoutMs === undefined ? {} : { handlerTimeoutMs }),
    },
    callers,
    closesAt: random.maybe(0.3, () => random.integer(0, 150)),
    drains: random.chance(0.5),
    nextBatch: () => ({
      isAsync: random.chance(0.8),
      roundMs: random.pick([0, 0, 1, 7]),
      cleanUpMs: random.pick([0, 0, 5]),
      skips: random.pick([0, 0.3, 0.8]),
      failsAt: random.maybe(troubled, () => random.integer(0, 6)),
      failure: random.pick(handlerTimeoutMs === undefined ? ["throw", "length"] : ["throw", "length", "hang"]),
    }),
  };
}

interface Habits {
  /** Probability that a caller leaves, aborts or expires, and that it reads after another. */
  readonly troubled: number;
  readonly inSequence: number;
  /** Number of chunks of the longest stream. */
  readonly longest: number;
}

function callerOf(id: number, random: Random, { troubled, inSequence, longest }: Habits): CallerPlan {
  return {
    id,
    submitAt: random.pick([0, 0, random.integer(0, 100)]),
    readMs: random.chance(troubled / 4) ? undefined : random.pick([0, 0, 1, random.integer(2, 20), 1500]),
    readsAfter: id === 0 ? undefined : random.maybe(inSequence, () => random.integer(0, id - 1)),
    leavesAfter: random.maybe(troubled, () => random.integer(0, 4)),
    leavesAt: random.maybe(troubled, () => random.integer(0, 120)),
    abortsAt: random.maybe(troubled, () => random.integer(0, 120)),
    timeoutMs: random.maybe(troubled, () => random.integer(1, 120)),
    length: random.integer(0, longest),
    ending: random.pick(["done", "done", "error", "generator"]),
  };
}
