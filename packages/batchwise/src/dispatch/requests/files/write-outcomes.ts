// Writes outcomes to a JSONL file or stream. Reads the next outcome only when the stream has
// accepted the last one, so memory stays bounded for a slow stream.

import {
  aBoolean,
  check,
  checkIsObject,
  invalidOption,
  oneOf,
  refuseUnknown,
} from "../../../core/contract/validate.ts";
import type { LoggedOutcome, Outcome } from "../../contract/types.ts";
import { kindOf } from "./text-lines.ts";

/** The part of a Node.js Writable that is used. */
export interface NodeWritable {
  /** False: the buffer is full until the callback is called. */
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
    /** Rejects when the stream fails. Without it, a failure shows at the next write. */
    readonly closed?: Promise<unknown>;
    releaseLock(): void;
  };
}

/** Options of `writeOutcomes`. */
export interface WriteOutcomesOptions {
  /**
   * `"openai"`, the default:
   * `{ id, custom_id, response: { status_code, body } | null, error: { code, message } | null }`,
   * which readers of OpenAI's output and error files accept; `id` is `outcome_<cursor>`. `"full"`:
   * the whole outcome, with status, attempts, usage and, from the log, cursor, batch, job, tenant
   * and metadata.
   */
  readonly format?: OutcomeFormat;
  /**
   * Leaves the stream open at the end. Default false; standard output and error are never closed.
   */
  readonly keepOpen?: boolean;
}

/** The destination of lines, for any kind of stream. */
interface Sink {
  write(text: string): Promise<void>;
  /**
   * Sets the listener for a failure of the stream, also between writes, or one that has happened.
   */
  onFailure(listener: (error: unknown) => void): void;
  /** Resolves once everything is written. */
  close(keepOpen: boolean): Promise<void>;
}

/**
 * Writes one line for each outcome to a web WritableStream of bytes or a Node.js Writable, and
 * closes it. Returns the number of outcomes. If `outcomes` rejects (for example QUARANTINED), it
 * writes the lines so far, closes the stream and rejects with the same error. If the stream fails,
 * it stops reading and rejects with the stream's error.
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
    // Report the first error; a failed stream cannot be closed.
    await sink.close(keepOpen).catch(() => {});
    throw error;
  }
  await sink.close(keepOpen);
  return count;
}

/** The next outcome may be a day away, so a failure of the stream rejects at once. */
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

/** Ends the source like `for await`. A pending source may end later; its errors are dropped. */
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

/** The first error of a stream, and its listener. */
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
        // A stream calls back for a failed write first and emits `error` later, which without a
        // listener would end the process.
        if (!failure.isSet) stream.off("error", onError);
      }
    },
  };
}

/** Resolves when the stream has finished, and also when it fails: the caller checks that. */
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

type OutcomeFormat = "openai" | "full";

/**
 * One outcome as a line of JSONL, with its newline. `openai`: the format of OpenAI's output and
 * error files. `full`: all fields.
 */
function outcomeLine(outcome: Outcome | LoggedOutcome, format: OutcomeFormat): string {
  return `${JSON.stringify(format === "full" ? outcome : openaiOutcome(outcome))}\n`;
}

/** `id` is the outcome's cursor if it has one, like OpenAI's line ids. */
function openaiOutcome(outcome: Outcome | LoggedOutcome): object {
  const { id, response, error } = outcome;
  return {
    id: "cursor" in outcome ? `outcome_${outcome.cursor}` : `outcome_of_${id}`,
    custom_id: id,
    response: response === null ? null : { status_code: response.statusCode, body: response.body },
    error: error === null ? null : { code: error.code, message: error.message },
  };
}
