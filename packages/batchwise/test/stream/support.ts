// Shared by the tests of streams: a streaming handler that yields on the test's command, and ways
// to read a stream.

import { type BatchContext, batchStream, type StreamFunction, type StreamOptions } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";

/** One call of the handler: counts requests for rounds, and yields when the test says so. */
class PuppetRounds<Item> implements AsyncIterator<unknown[]> {
  readonly items: readonly Item[];
  readonly context: BatchContext;
  /** Number of rounds requested so far. */
  asked = 0;
  isStopped = false;
  #answer: { resolve(result: IteratorResult<unknown[]>): void; reject(error: unknown): void } | null = null;

  constructor(items: readonly Item[], context: BatchContext) {
    this.items = items;
    this.context = context;
  }

  next(): Promise<IteratorResult<unknown[]>> {
    this.asked += 1;
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<unknown[]>> {
    this.isStopped = true;
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  yield(...round: unknown[]): void {
    this.#answer?.resolve({ done: false, value: round });
  }

  finish(): void {
    this.#answer?.resolve({ done: true, value: undefined });
  }

  fail(error: unknown): void {
    this.#answer?.reject(error);
  }
}

export interface StreamRig {
  readonly clock: VirtualClock;
  readonly calls: PuppetRounds<string>[];
  readonly stream: StreamFunction<string, unknown>;
  /** The call with this number, once it has been made. */
  call(index: number): PuppetRounds<string>;
}

/** A stream function whose handler yields only when the test says so. */
export function streamRig(options: StreamOptions<string> = {}): StreamRig {
  const clock = virtualClock();
  const calls: PuppetRounds<string>[] = [];
  const handler = (items: string[], context: BatchContext): PuppetRounds<string> => {
    const call = new PuppetRounds(items, context);
    calls.push(call);
    return call;
  };
  const call = (index: number): PuppetRounds<string> => {
    const found = calls[index];
    if (found === undefined) throw new Error(`The handler was called ${calls.length} times.`);
    return found;
  };
  return { clock, calls, call, stream: batchStream<string, unknown>(handler as never, { clock, ...options }) };
}

export interface Reading<Chunk> {
  readonly chunks: Chunk[];
  state: "open" | "ended" | "failed";
  error?: unknown;
}

/** Reads a stream to its end, as fast as chunks arrive. */
export function read<Chunk>(stream: AsyncIterable<Chunk>): Reading<Chunk> {
  const reading: Reading<Chunk> = { chunks: [], state: "open" };
  const loop = async (): Promise<void> => {
    for await (const chunk of stream) reading.chunks.push(chunk);
  };
  loop().then(
    () => {
      reading.state = "ended";
    },
    (error: unknown) => Object.assign(reading, { state: "failed", error }),
  );
  return reading;
}

/** All chunks of a stream that ends. */
export async function all<Chunk>(stream: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

/** The fate of a stream: its chunks, then its error if it has one. */
export async function fateOf<Chunk>(stream: AsyncIterable<Chunk>): Promise<{ chunks: Chunk[]; error?: unknown }> {
  const chunks: Chunk[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch (error) {
    return { chunks, error };
  }
  return { chunks };
}

/** Ends every batch without chunks until none is left. */
export async function finishAll({ calls, clock }: StreamRig): Promise<string[][]> {
  await clock.settle();
  for (let index = 0; index < calls.length; index += 1) {
    calls[index]?.finish();
    await clock.settle();
  }
  return calls.map(({ items }) => [...items]);
}

/** True if the counters of an idle batcher add up. */
export function addsUp({ stats }: Pick<StreamRig["stream"], "stats">): boolean {
  const { submitted, completed, failed, cancelled, expired, rejected, waiting, running } = stats();
  return submitted === completed + failed + cancelled + expired + rejected && waiting === 0 && running === 0;
}

export const ended: IteratorResult<never, undefined> = { done: true, value: undefined };

export function chunk<Chunk>(value: Chunk): IteratorResult<Chunk, undefined> {
  return { done: false, value };
}

export type Abuse = (items: number[]) => unknown;

/**
 * Runs streams of 1 and 2 through a handler with wrong answers, and tests whether it works
 * afterwards.
 */
export async function abused(
  handler: Abuse,
): Promise<{ fates: { chunks: unknown[]; error?: unknown }[]; after: unknown }> {
  let calls = 0;
  const stream = batchStream<number, unknown>((items) => {
    calls += 1;
    return (calls === 1 ? handler(items) : [items]) as never;
  });
  const fates = await Promise.all([fateOf(stream(1)), fateOf(stream(2))]);
  const after = await all(stream(3));
  if (!addsUp(stream)) throw new Error("The counters do not add up.");
  return { fates, after };
}
