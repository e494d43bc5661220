// The fixed choices of a seed: the options of the batcher, the habits of its handler and functions,
// and the kind of its end. schedule.ts has the events.

import type { RateLimiterOptions } from "batchwise";
import { Random } from "./random.ts";
import { type Event, scheduleOf } from "./schedule.ts";

/** Limits that `configure` may change; an undefined `preferredBatchSize` follows `maxBatchSize`. */
export interface Limits {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly maxWaitMs: number;
  readonly preferredBatchSize: number | undefined;
  readonly concurrency: number;
  readonly maxQueueSize: number;
}

/** The stages of the handler; without any it is a plain function. */
export interface StageHabits {
  readonly isObject: boolean;
  readonly open: boolean;
  readonly prepareItem: boolean;
  readonly prepare: boolean;
  readonly finish: boolean;
}

export interface Habits {
  /** Longest time of the handler. */
  readonly slowMs: number;
  /** True if it always takes that time, so that deadlines can be met. */
  readonly isSteady: boolean;
  /**
   * Probabilities that a call of the handler is answered at once, fails as a whole, has odd places,
   * or is never answered.
   */
  readonly sync: number;
  readonly wrong: number;
  readonly odd: number;
  readonly hang: number;
  /**
   * Probabilities that an item fails every batch that contains it, and that one of the functions
   * fails for an item.
   */
  readonly poison: number;
  readonly fault: number;
  /** True if the handler answers with a typed array of numbers. */
  readonly isNumeric: boolean;
}

export interface Uses {
  readonly cost: boolean;
  readonly batchCost: "sum" | "padded" | "function";
  readonly order: "fifo" | "length";
  /** True if the cost function also submits, aborts and pauses. */
  readonly meddles: boolean;
  readonly oversize: "reject" | "alone";
  readonly onFull: "wait" | "reject" | "drop-oldest";
  /** Numbers of different keys, tenants and equal groups; 0: not used. */
  readonly keys: number;
  /** True if no function reads items, so that only some submits say more than the item. */
  readonly isPlain: boolean;
  readonly tenants: number;
  readonly equals: number;
  readonly priorities: readonly [number, ...number[]];
  readonly priorityAgingMs: number;
  readonly smallCallFirst: number;
  readonly cache: "none" | "sync" | "async";
  readonly timeoutMs: number | undefined;
  readonly handlerTimeoutMs: number | undefined;
  readonly retry: { readonly attempts: number; readonly backoffMs: number; readonly rude: boolean } | undefined;
  readonly isolateFailures: boolean;
  readonly prefetch: number;
  readonly limiter: RateLimiterOptions | undefined;
  readonly captureContext: boolean;
  /**
   * True if there is a listener for "item": the model then knows of an end at once, instead of one
   * promise job later.
   */
  readonly listens: boolean;
  readonly rudeListener: boolean;
}

type DrawnUses = Omit<Uses, "order" | "isPlain">;

/** More different priorities than the batcher keeps lines for. */
const ONE_OFF: Uses["priorities"] = [0, ...Array.from({ length: 20 }, (_, index) => index / 4 - 3)];

/** Without all of these an item is plain, unless its submit says more. */
const PLAIN = {
  cost: false,
  batchCost: "sum",
  order: "fifo",
  meddles: false,
  tenants: 0,
  equals: 0,
  cache: "none",
  timeoutMs: undefined,
  smallCallFirst: 0,
  captureContext: false,
} as const satisfies Partial<Uses>;

/** How the batcher ends after the last event. */
type Ending = "rest" | "drain" | "abandon" | "drain, then abandon";

export interface World {
  readonly seed: number;
  readonly limits: Limits;
  readonly uses: Uses;
  readonly stages: StageHabits;
  readonly habits: Habits;
  readonly events: readonly Event[];
  readonly ending: Ending;
}

export function worldOf(seed: number): World {
  const random = new Random(seed);
  const stages = stagesOf(random);
  const drawn = usesOf(random, stages);
  // Drawn from separate seeds, so that other worlds do not change.
  const order = orderOf(new Random(seed + 0x9e37), drawn);
  const isPlain = new Random(seed + 0x51ed).chance(0.1);
  const uses: Uses = { ...drawn, order, isPlain, ...(isPlain ? PLAIN : {}) };
  const some = limitsOf(random, uses);
  const limits = isPlain ? { ...some, maxBatchCost: Number.POSITIVE_INFINITY, maxWaitMs: 0 } : some;
  const habits = habitsOf(random, uses);
  const ending = random.pick<Ending>(["rest", "rest", "drain", "abandon", "drain, then abandon"]);
  const events = scheduleOf(random, { uses, habits, stages });
  return { seed, limits, uses, stages, habits, events, ending };
}

function limitsOf(random: Random, { timeoutMs, onFull, meddles, retry }: DrawnUses): Limits {
  const maxBatchSize = random.pick([1, 2, 3, 4, 5, 8, 16]);
  const isHeld = random.chance(0.5);
  // Deadlines near the end of the wait test both together.
  const nearMs = timeoutMs === undefined ? 25 : Math.max(1, timeoutMs - random.integer(-2, 30));
  const maxWaitMs = isHeld ? random.pick([1, 5, 10, 25, 60, nearMs, nearMs]) : 0;
  // Items outside enter at many times; most of them if batches pause before a retry.
  const often = retry === undefined ? 0.55 : 0.9;
  const isTight = random.chance(onFull === "wait" ? often : 0.4);
  return {
    maxBatchSize,
    maxBatchCost: random.chance(meddles ? 0.9 : 0.45) ? random.pick([3, 5, 8, 12, 20, 40]) : Number.POSITIVE_INFINITY,
    maxWaitMs,
    preferredBatchSize: random.maybe(maxWaitMs > 0 ? 0.4 : 0.1, () => random.integer(1, maxBatchSize)),
    concurrency: random.pick([1, 1, 1, 2, 3, Number.POSITIVE_INFINITY]),
    maxQueueSize: isTight ? random.pick([1, 2, 3, 5, 8, 20]) : 10_000,
  };
}

function stagesOf(random: Random): StageHabits {
  const isObject = random.chance(0.25);
  const has = (share: number): boolean => random.chance(share) && isObject;
  return { isObject, open: has(0.4), prepareItem: has(0.4), prepare: has(0.6), finish: has(0.5) };
}

function orderOf(random: Random, { batchCost }: DrawnUses): Uses["order"] {
  return batchCost === "padded" && random.chance(0.5) ? "length" : "fifo";
}

function usesOf(random: Random, stages: StageHabits): DrawnUses {
  const equals = random.chance(0.25) && !stages.finish ? random.integer(2, 12) : 0;
  const limiter = random.maybe(0.1, () => limiterOf(random));
  const cache = equals > 0 && random.chance(0.5) ? random.pick<Uses["cache"]>(["sync", "async"]) : "none";
  const batchCost = random.pick<Uses["batchCost"]>(["sum", "sum", "padded", "function"]);
  const priorities = random.pick<Uses["priorities"]>([[0], [0], [0, 1], [0, 1, 2, 3], [-2, 0, 0.5, 7], ONE_OFF]);
  const fewKeys = random.chance(0.4) ? random.pick([2, 3, 5, 20]) : 0;
  return {
    cost: random.chance(0.6),
    batchCost,
    meddles: random.chance(0.6) && batchCost === "function" && equals === 0,
    oversize: random.pick<Uses["oversize"]>(["reject", "alone"]),
    onFull: random.pick<Uses["onFull"]>(["wait", "reject", "drop-oldest"]),
    keys: priorities === ONE_OFF ? random.integer(1, 3) : fewKeys,
    tenants: random.chance(0.2) ? random.integer(2, 4) : 0,
    equals,
    priorities,
    priorityAgingMs: random.pick([3, 10, 40, 10_000, Infinity]),
    smallCallFirst: random.chance(0.25) ? random.integer(1, 4) : 0,
    cache,
    timeoutMs: random.maybe(0.25, () => random.integer(5, 100)),
    handlerTimeoutMs: random.maybe(0.25, () => random.integer(5, 40)),
    retry: random.maybe(0.25, () => ({
      attempts: random.integer(1, 4),
      backoffMs: random.pick([0, 5, 30]),
      rude: random.chance(0.3),
    })),
    // A limiter makes halves of a failed batch wait between their calls, which is not visible from
    // outside.
    isolateFailures: random.chance(0.2) && limiter === undefined,
    prefetch: stages.isObject && limiter === undefined ? random.integer(0, 2) : 0,
    limiter,
    captureContext: random.chance(0.2),
    listens: equals > 0 || random.chance(0.7),
    rudeListener: random.chance(0.2),
  };
}

function limiterOf(random: Random): RateLimiterOptions {
  return {
    callsPerMinute: random.pick([3_000, 12_000, 60_000]),
    costPerMinute: random.chance(0.5) ? Number.POSITIVE_INFINITY : random.pick([30_000, 300_000]),
    burstMs: random.pick([1, 20, 100]),
  };
}

function habitsOf(random: Random, uses: DrawnUses): Habits {
  const isCalm = random.chance(0.4);
  return {
    slowMs: random.pick([1, 4, 12, 30]),
    isSteady: random.chance(0.25),
    sync: random.pick([0, 0.1, 1]),
    wrong: isCalm ? 0 : random.pick([0.05, 0.2, 0.5]),
    odd: random.pick([0, 0.2, 0.5]),
    hang: uses.handlerTimeoutMs === undefined ? random.pick([0, 0, 0, 0.02]) : random.pick([0, 0.1]),
    poison: uses.isolateFailures ? 0.1 : 0,
    fault: random.pick([0, 0, 0.05, 0.2]),
    isNumeric: random.chance(0.1),
  };
}
