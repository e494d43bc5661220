// Outcomes into a JSONL file or stream. It reads the next outcome only when the stream has taken
// the last one, so that memory stays bounded however slow the stream is.

import { aBoolean, check, checkIsObject, invalidOption, oneOf, refuseUnknown } from "../../core/contract/validate.ts";
import type { Outcome } from "../contract/types.ts";
import { type OutcomeFormat, outcomeLine } from "../format/outcome-line.ts";
import { kindOf } from "../format/text-lines.ts";

/** The part of a Node Writable that is used. */
export interface NodeWritable {
  /** False: full until the callback is called. */
  write(text: string, done: (error?: Error | null) => void): boolean;
  end(done: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  /** 1 and 2, the standard streams, are never ended. */
  readonly fd?: number | null;
}

/** The part of a web WritableStream of bytes that is used. */
export interface WebWritable {
  getWriter(): {
    readonly ready: Promise<unknown>;
    write(bytes: Uint8Array): Promise<unknown>;
    close(): Promise<unknown>;
    /**
     * Rejects when the stream fails; a stream without it is found to have failed at the next write.
     */
    readonly closed?: Promise<unknown>;
    releaseLock(): void;
  };
}

/** How outcomes become lines of a file. */
export interface WriteOutcomesOptions {
  /**
   * `"openai"`, the default:
   * `{ id, custom_id, response: { status_code, body } | null, error: { code, message } | null }`,
   * so that what reads OpenAI's output and error files reads these lines too; `id` is
   * `outcome_<cursor>`. `"full"`: the outcome as it is, with status, attempts, usage and, from the
   * log, cursor, batch, job, tenant and metadata.
   */
  readonly format?: OutcomeFormat;
  /**
   * Leaves the stream open at the end. Default false; standard output and error are never closed.
   */
  readonly keepOpen?: boolean;
}

/** Where lines go, whatever kind of stream it is. */
interface Sink {
  write(text: string): Promise<void>;
  /**
   * Calls the listener, in place of the last one, when the stream fails, also while nothing is
   * written, or has failed.
   */
  onFailure(listener: (error: unknown) => void): void;
  /** Resolves once all is written. */
  close(keepOpen: boolean): Promise<void>;
}

/**
 * Writes one line for each outcome to a web WritableStream of bytes or a Node Writable, and closes
 * it. Gives the number of outcomes. When `outcomes` rejects (QUARANTINED, say) the lines so far are
 * written and the stream is closed before this rejects with the same error; it rejects with the
 * stream's own error, and reads no further, when that fails.
 *
 * @example
 * ```ts
 * import { createWriteStream } from "node:fs";
 * import { type Dispatcher, writeOutcomes } from "batchwise/dispatch";
 * declare const dispatcher: Dispatcher;
 * await writeOutcomes(createWriteStream("out.jsonl"), dispatcher.outcomes({ untilIdle: true }));
 * ```
 */
export async function writeOutcomes(
  stream: NodeWritable | WebWritable,
  outcomes: AsyncIterable<Outcome> | Iterable<Outcome>,
  options: WriteOutcomesOptions = {},
): Promise<number> {
  checkIsObject("options", options);
  refuseUnknown(options, ["format", "keepOpen"]);
  const { format = "openai", keepOpen = false } = options;
  check("format", oneOf("openai", "full"), format);
  check("keepOpen", aBoolean, keepOpen);
  const sink = sinkOf(stream);
  let count = 0;
  try {
    for await (const outcome of untilFailure(outcomes, sink)) {
      await sink.write(outcomeLine(outcome, format));
      count += 1;
    }
  } catch (error) {
    // The first error is the one to tell; a stream that has failed cannot be closed.
    await sink.close(keepOpen).catch(() => {});
    throw error;
  }
  await sink.close(keepOpen);
  return count;
}

/** The next outcome may be a day away: a stream that fails meanwhile is told at once. */
async function* untilFailure(
  outcomes: AsyncIterable<Outcome> | Iterable<Outcome>,
  sink: Sink,
): AsyncGenerator<Outcome, void, undefined> {
  const iterator = Symbol.asyncIterator in outcomes ? outcomes[Symbol.asyncIterator]() : outcomes[Symbol.iterator]();
  let isAsking = false;
  let isOver = false;
  try {
    while (true) {
      isAsking = true;
      const step = await new Promise<IteratorResult<Outcome>>((resolve, reject) => {
        sink.onFailure(reject);
        new Promise<IteratorResult<Outcome>>((settle) => settle(iterator.next())).then(resolve, (error: unknown) => {
          isOver = true;
          reject(error);
        });
      });
      isAsking = false;
      isOver = step.done === true;
      if (step.done) return;
      yield step.value;
    }
  } finally {
    if (!isOver) await endOf(iterator, isAsking);
  }
}

/**
 * Ends the source as `for await` does. One that has yet to answer ends whenever it does: its errors
 * have nobody to go to.
 */
async function endOf(iterator: Iterator<Outcome> | AsyncIterator<Outcome>, isAsking: boolean): Promise<void> {
  const ended = Promise.resolve(iterator.return?.());
  if (isAsking) ended.catch(() => {});
  else await ended;
}

function sinkOf(stream: NodeWritable | WebWritable): Sink {
  const methods = Object(stream) as Partial<NodeWritable & WebWritable>;
  if (typeof methods.getWriter === "function") return webSink(stream as WebWritable);
  if (typeof methods.write === "function" && typeof methods.end === "function") return nodeSink(stream as NodeWritable);
  const message = `Expected a stream to write to, got ${kindOf(stream)}: pass createWriteStream(path)`;
  throw invalidOption(TypeError, message);
}

/** The first error of a stream, and who is to be told of it. */
class Failure {
  #first: { readonly error: unknown } | null = null;
  #tell: (error: unknown) => void = () => {};

  get isSet(): boolean {
    return this.#first !== null;
  }

  readonly set = (error: unknown): void => {
    this.#first ??= { error };
    this.#tell(this.#first.error);
  };

  readonly on = (listener: (error: unknown) => void): void => {
    this.#tell = listener;
    if (this.#first !== null) listener(this.#first.error);
  };

  throwIfSet(): void {
    if (this.#first !== null) throw this.#first.error;
  }
}

function webSink(stream: WebWritable): Sink {
  const writer = stream.getWriter();
  const encoder = new TextEncoder();
  const failure = new Failure();
  writer.closed?.catch(failure.set);
  let last: Promise<unknown> = Promise.resolve();
  return {
    onFailure: failure.on,
    write: async (text) => {
      await writer.ready;
      last = writer.write(encoder.encode(text));
      // `ready` and `close` reject with the same error.
      last.catch(() => {});
    },
    close: async (keepOpen) => {
      await (keepOpen ? last : writer.close());
      writer.releaseLock();
    },
  };
}

function nodeSink(stream: NodeWritable): Sink {
  const failure = new Failure();
  let last: Promise<void> = Promise.resolve();
  const onError = (error: Error): void => failure.set(error);
  stream.on("error", onError);
  const written = (text: string): { readonly isFull: boolean; readonly done: Promise<void> } => {
    let isFull = false;
    const done = new Promise<void>((resolve, reject) => {
      isFull = !stream.write(text, (error) => (error ? reject(error) : resolve()));
    });
    done.catch(onError);
    return { isFull, done };
  };
  return {
    onFailure: failure.on,
    write: async (text) => {
      failure.throwIfSet();
      const { isFull, done } = written(text);
      last = done;
      if (isFull) await done;
    },
    close: async (keepOpen) => {
      try {
        await last;
        const isStandard = stream.fd === 1 || stream.fd === 2;
        if (!failure.isSet && !keepOpen && !isStandard) await ended(stream);
        failure.throwIfSet();
      } finally {
        // A stream tells a failed write first, and emits `error` afterwards: without a listener
        // that would end the process.
        if (!failure.isSet) stream.off("error", onError);
      }
    },
  };
}

/**
 * Resolves when the stream has finished, and also when it fails meanwhile: the caller looks at
 * that.
 */
function ended(stream: NodeWritable): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(error);
    stream.on("error", onError);
    stream.end(() => {
      stream.off("error", onError);
      resolve();
    });
  });
}
