// Reads text lines from a stream of bytes or strings, one at a time. Holds one chunk and one line
// in memory and refuses a line over the limit before it is complete. Bytes are UTF-8; chunks may
// cut a character. Drops a byte order mark at the start. Lines end in \n; a \r before it is kept.
// Closes the source when the reader stops early.

import { DispatchError } from "../../contract/errors.ts";

/** A source of text chunks: a web stream, a Node stream, or any iterable. */
export type TextSource = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string> | WebReadable;

/** The part of a web ReadableStream that is used if it has no iterator. */
export interface WebReadable {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | string | undefined }>;
    cancel(reason?: unknown): Promise<unknown>;
    releaseLock?(): void;
  };
}

export interface TextLine {
  /** Counts from 1, blank lines included. */
  readonly number: number;
  readonly text: string;
}

const BYTE_ORDER_MARK = "\uFEFF";

/**
 * Rejects with INVALID_REQUEST, naming the line, for invalid UTF-8 and for a line over
 * `mostCharacters`.
 */
export async function* textLines(source: TextSource, mostCharacters: number): AsyncGenerator<TextLine> {
  const decoder = new Decoder();
  let [number, length]: [number, number] = [1, 0];
  let pieces: string[] = [];
  for await (const chunk of chunksOf(source)) {
    const text = decoder.decode(chunk, number);
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      checkLength(length + end - from, mostCharacters, number);
      pieces.push(text.slice(from, end));
      yield { number, text: pieces.join("") };
      [pieces, length] = [[], 0];
      number += 1;
      from = end + 1;
    }
    if (from === text.length) continue;
    length += text.length - from;
    checkLength(length, mostCharacters, number);
    pieces.push(text.slice(from));
  }
  pieces.push(decoder.end(number));
  const last = pieces.join("");
  if (last !== "") yield { number, text: last };
}

function checkLength(length: number, most: number, line: number): void {
  if (length <= most) return;
  const message = `Line ${line}: expected at most ${most} characters in a line, got more. Is it one request a line?`;
  throw new DispatchError("INVALID_REQUEST", message);
}

/** Decodes bytes or strings and drops the byte order mark. */
class Decoder {
  readonly #utf8: InstanceType<typeof TextDecoder> = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #isAtStart = true;

  decode(chunk: unknown, line: number): string {
    return this.#withoutMark(this.#textOf(chunk, line));
  }

  /** Throws if the source ended inside a character. */
  end(line: number): string {
    return this.#utf8Text(undefined, line);
  }

  #textOf(chunk: unknown, line: number): string {
    if (typeof chunk === "string") return chunk;
    if (isBytes(chunk)) return this.#utf8Text(chunk, line);
    throw new TypeError(`Expected chunks that are a Uint8Array or a string, got ${kindOf(chunk)} in line ${line}.`);
  }

  #utf8Text(bytes: Uint8Array | undefined, line: number): string {
    try {
      return this.#utf8.decode(bytes, { stream: bytes !== undefined });
    } catch (cause) {
      const place = `In or after line ${line}`;
      throw new DispatchError("INVALID_REQUEST", `${place}: expected text in UTF-8, got other bytes.`, cause);
    }
  }

  #withoutMark(text: string): string {
    if (!this.#isAtStart || text === "") return text;
    this.#isAtStart = false;
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  }
}

async function* chunksOf(source: TextSource): AsyncGenerator<unknown> {
  if (Symbol.asyncIterator in source || Symbol.iterator in source) {
    yield* source;
    return;
  }
  const reader = source.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (value !== undefined) yield value;
    }
  } finally {
    await reader.cancel();
    reader.releaseLock?.();
  }
}

/** The kind of a value, for messages. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value === "string" ? "a string" : `a ${typeof value}`;
  return `an object of ${value.constructor?.name ?? "no class"}`;
}

/**
 * True for a Uint8Array of any realm: under Jest, Node's belong to another realm than the tests.
 */
function isBytes(chunk: unknown): chunk is Uint8Array {
  return Object.prototype.toString.call(chunk) === "[object Uint8Array]";
}
