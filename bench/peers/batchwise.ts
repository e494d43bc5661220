/**
 * batchwise with the options of each load, loaded by its package name, so that the shipped build is
 * measured.
 *
 * `plain` sets only a size, `parallel` removes the default of one slot, `featured` uses the options
 * of a busy service, and the others add one option each to `plain`, to show its price.
 */
import { type BatchOptions, batch, createBatcher, type SubmitOptions } from "batchwise";
import type { Handler, Loader, LoaderFactory, Shape } from "./contract.ts";

type Options = BatchOptions<number, number>;

function baseOptions(shape: Shape): Options {
  return {
    maxBatchSize: shape.maxBatchSize,
    ...(shape.windowMs > 0 ? { maxWaitMs: shape.windowMs } : {}),
    ...(shape.queue > 10_000 ? { maxQueueSize: shape.queue } : {}),
  };
}

/** Sends a batch at the end of the turn, even if the handler is synchronous. */
export const gatherTurn = { maxWaitMs: 0, gather: "turn" } as const;

/** The loads' handler may return its input, whose type is mutable for the engine. */
function answering(handler: Handler): (items: number[]) => Promise<number[]> {
  return (items) => handler(items) as Promise<number[]>;
}

function withOptions(handler: Handler, shape: Shape, extra: Options): Loader {
  const submit = batch(answering(handler), { ...baseOptions(shape), ...extra });
  return { load: (value) => submit(value) };
}

export function plain(handler: Handler, shape: Shape): Loader {
  return withOptions(handler, shape, {});
}

export function turn(handler: Handler, shape: Shape): Loader {
  return withOptions(handler, shape, gatherTurn);
}

export function parallel(handler: Handler, shape: Shape): Loader {
  return withOptions(handler, shape, { concurrency: Number.POSITIVE_INFINITY });
}

export function many(handler: Handler, shape: Shape): Loader {
  const batcher = createBatcher(answering(handler), baseOptions(shape));
  return {
    load: (value) => batcher.submit(value),
    loadMany: (values) => batcher.submitMany(values),
  };
}

/** Costs of 1 to 4, so 2.5 on average, with a budget that a batch of usual items just fits. */
function featuredOptions(shape: Shape): Options {
  return { cost: (value) => 1 + (value & 3), maxBatchCost: shape.maxBatchSize * 2.56 };
}

function submitOptions(deadlines: number): readonly SubmitOptions[] {
  const table: SubmitOptions[] = [];
  for (let at = 0; at < 3 * Math.max(1, deadlines); at += 1) {
    table.push({ priority: at % 3, ...(deadlines > 0 ? { timeoutMs: 60_000 + 997 * ((at * 7) % deadlines) } : {}) });
  }
  return table;
}

function featuredLoader(handler: Handler, shape: Shape, table: readonly SubmitOptions[]): Loader {
  const submit = batch(answering(handler), { ...baseOptions(shape), ...featuredOptions(shape) });
  return {
    load: (value) => submit(value, table[value % table.length]),
    readStatistics: () => submit.stats(),
  };
}

/**
 * A cost function with a budget, three priorities, a bounded queue, and reads of the statistics.
 */
export function featured(handler: Handler, shape: Shape): Loader {
  return featuredLoader(handler, shape, submitOptions(0));
}

/** `featured`, and one of sixteen deadlines for each call. */
export function deadlines(handler: Handler, shape: Shape): Loader {
  return featuredLoader(handler, shape, submitOptions(16));
}

const keyNames = Array.from({ length: 10_000 }, (_, at) => `key-${at}`);
const tenantNames = Array.from({ length: 1_000 }, (_, at) => `tenant-${at}`);

export function keys(handler: Handler, shape: Shape): Loader {
  return withOptions(handler, shape, { key: (value) => keyNames[value % keyNames.length] as string });
}

export function fair(handler: Handler, shape: Shape): Loader {
  return withOptions(handler, shape, { fairBy: (value) => tenantNames[value % tenantNames.length] as string });
}

/** Every call of the whole run has the same AbortSignal. */
export function sharedSignal(handler: Handler, shape: Shape): Loader {
  const submit = batch(answering(handler), baseOptions(shape));
  const options: SubmitOptions = { signal: new AbortController().signal };
  return { load: (value) => submit(value, options) };
}

/** `distinct` consecutive items have as many priorities: the item at `at` has `priorityOf(at)`. */
function prioritized(distinct: number, priorityOf: (at: number) => number): LoaderFactory {
  const options = Array.from({ length: distinct }, (_, at): SubmitOptions => ({ priority: priorityOf(at) }));
  return (handler, shape) => {
    const submit = batch(answering(handler), baseOptions(shape));
    return { load: (value) => submit(value, options[value % distinct]) };
  };
}

export const onePriority: LoaderFactory = prioritized(1, () => 1);
export const risingPriorities: LoaderFactory = prioritized(10_000, (at) => at);
export const fallingPriorities: LoaderFactory = prioritized(10_000, (at) => -at);
/** Each of 0 to 9,999 once, with neighbours far apart. */
export const mixedPriorities: LoaderFactory = prioritized(10_000, (at) => (at * 7_919) % 10_000);
