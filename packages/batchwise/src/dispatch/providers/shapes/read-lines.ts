// Reading result files while they arrive: bytes in, one parsed JSON line at a time out. A line may be megabytes long and
// is joined once. Rejects with whatever the source rejects with, and with RESULTS_UNREADABLE where a line is not a JSON
// object, once the lines behind it have been given: a file that was cut in a line never looks like a whole one.

import { DispatchError } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/types.ts";

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<unknown>;
}

/** The JSON objects of a JSONL body: a web stream, or anything that gives its bytes one chunk after another. */
export async function* readJsonLines(body: unknown): AsyncGenerator<JsonObject> {
  let number = 0;
  let unreadable: DispatchError | null = null;
  for await (const line of textLines(body)) {
    number += 1;
    if (line.trim() === "") continue;
    const value = parseLine(line, number);
    if (value instanceof DispatchError) unreadable ??= value;
    else yield value;
  }
  if (unreadable !== null) throw unreadable;
}

async function* textLines(body: unknown): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of chunksOf(body)) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      pieces.push(text.slice(from, end));
      yield pieces.join("");
      pieces = [];
      from = end + 1;
    }
    pieces.push(text.slice(from));
  }
  pieces.push(decoder.decode());
  yield pieces.join("");
}

function parseLine(line: string, number: number): JsonObject | DispatchError {
  try {
    const value: unknown = JSON.parse(line);
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
