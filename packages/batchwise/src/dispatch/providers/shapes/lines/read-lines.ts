// Reads result files as they arrive: bytes in, parsed JSON lines out. A line may have megabytes and
// is joined once. Rejects with the source's error. Rejects with RESULTS_UNREADABLE for a line that
// is not a JSON object, after yielding the later lines: a file cut within a line never looks
// complete.

import { DispatchError } from "../../../contract/errors.ts";
import type { JsonObject } from "../../../contract/types.ts";
import { parseJson } from "./exact-json.ts";

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<unknown>;
}

/** Longest line in characters: longer than any answer, and below the platform's string limit. */
const MOST_CHARS = 256 * 1024 * 1024;

/**
 * The JSON objects of a JSONL body: a web stream, or anything that yields chunks of bytes. Skips a
 * line of more than `mostChars` like one that is not JSON, and never holds it whole.
 */
export async function* readJsonLines(body: unknown, mostChars: number = MOST_CHARS): AsyncGenerator<JsonObject> {
  let number = 0;
  let unreadable: DispatchError | null = null;
  for await (const line of textLines(body, mostChars)) {
    number += 1;
    if (line?.trim() === "") continue;
    const value = line === null ? tooLong(number, mostChars) : parseLine(line, number);
    if (value instanceof DispatchError) unreadable ??= value;
    else yield value;
  }
  if (unreadable !== null) throw unreadable;
}

/** Yields null for a line of more than `mostChars`. */
async function* textLines(body: unknown, mostChars: number): AsyncGenerator<string | null> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let length = 0;
  const take = (piece: string): void => {
    length += piece.length;
    if (length <= mostChars) pieces.push(piece);
    else pieces = [];
  };
  const line = (): string | null => {
    const whole = length <= mostChars ? pieces.join("") : null;
    [pieces, length] = [[], 0];
    return whole;
  };
  for await (const chunk of chunksOf(body)) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      take(text.slice(from, end));
      yield line();
      from = end + 1;
    }
    take(text.slice(from));
  }
  take(decoder.decode());
  yield line();
}

function tooLong(number: number, mostChars: number): DispatchError {
  return new DispatchError(
    "RESULTS_UNREADABLE",
    `Line ${number} of the results has more than ${mostChars} characters.`,
  );
}

function parseLine(line: string, number: number): JsonObject | DispatchError {
  try {
    const value = parseJson(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch (error) {
    return new DispatchError("RESULTS_UNREADABLE", `Line ${number} of the results is not JSON.`, error);
  }
  return new DispatchError("RESULTS_UNREADABLE", `Line ${number} of the results is not a JSON object.`);
}

async function* chunksOf(body: unknown): AsyncGenerator<Uint8Array> {
  if (body === null || body === undefined) return;
  if (Symbol.asyncIterator in Object(body)) {
    yield* body as AsyncIterable<Uint8Array>;
    return;
  }
  const reader = (body as { getReader(): Reader }).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (value !== undefined) yield value;
    }
  } finally {
    await reader.cancel();
  }
}
