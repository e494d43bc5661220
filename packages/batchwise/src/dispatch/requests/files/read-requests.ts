// Reads requests from a JSONL file or stream, one at a time, with one line in memory.

import {
  check,
  checkIsObject,
  finiteIntegerFrom,
  invalidOption,
  refuseUnknown,
} from "../../../core/contract/validate.ts";
import type { BatchLine, DispatchRequest } from "../../contract/types.ts";
import { requestOfLine } from "./request-line.ts";
import { kindOf, type TextSource, textLines } from "./text-lines.ts";

export type { TextSource, WebReadable } from "./text-lines.ts";

/** More than any provider accepts in a file. */
const LONGEST_LINE = 200_000_000;

/** Options of `readRequests`. */
export interface ReadRequestsOptions {
  /**
   * Maximum characters of a line. A longer one rejects before it is read to its end. Default
   * 200_000_000.
   */
  readonly maxLineLength?: number;
}

const lines = new WeakMap<object, number>();

/**
 * The requests of a JSONL stream, for `enqueueMany` or `runBatch`. A line is one of
 * - a line of an OpenAI batch file: `{ custom_id, method, url, body }`; `method` may be missing,
 *   and `/v1` in `url`;
 * - a request for `enqueue`:
 *   `{ body, id?, endpoint?, priority?, deadlineAt?, tenant?, metadata?, job? }`;
 * - a bare body, with `messages` or `input`; an `id` in it becomes the request's.
 *
 * Skips blank lines; accepts CRLF, a byte order mark and a last line without a newline. Rejects
 * with a DispatchError INVALID_REQUEST that names the line, the expected and the actual value; with
 * a TypeError if the source is not a stream. Bodies are checked at `enqueue`.
 *
 * @example
 * ```ts
 * import { readRequests } from "batchwise/dispatch";
 * const file = new Blob(['{"id":"a","body":{"model":"m","input":"x"}}\n']); // or createReadStream("requests.jsonl")
 * for await (const request of readRequests(file.stream())) console.log(request);
 * ```
 */
export function readRequests(
  stream: TextSource,
  options: ReadRequestsOptions = {},
): AsyncGenerator<DispatchRequest | BatchLine, void, undefined> {
  checkIsObject("options", options);
  refuseUnknown(options, ["maxLineLength"]);
  const { maxLineLength = LONGEST_LINE } = options;
  check("maxLineLength", finiteIntegerFrom(1), maxLineLength);
  if (isSource(stream)) return requestsOf(stream, maxLineLength);
  const what = kindOf(stream);
  const message = `Expected a stream of bytes or text, got ${what}: pass createReadStream(path), or [text] for a text`;
  throw invalidOption(TypeError, message);
}

/**
 * The line number, from 1, of an object that `readRequests` made; undefined for any other object.
 *
 * @example
 * ```ts
 * import { lineOf, readRequests } from "batchwise/dispatch";
 * const lines = ['{"id":"a","body":{"model":"m","input":"x"}}'];
 * for await (const request of readRequests(lines)) console.log(lineOf(request)); // 1
 * ```
 */
export function lineOf(request: DispatchRequest | BatchLine): number | undefined {
  return lines.get(request);
}

async function* requestsOf(
  stream: TextSource,
  mostCharacters: number,
): AsyncGenerator<DispatchRequest | BatchLine, void, undefined> {
  for await (const { number, text } of textLines(stream, mostCharacters)) {
    if (text.trim() === "") continue;
    const request = requestOfLine(text, number);
    lines.set(request, number);
    yield request;
  }
}

/** Strings and bytes are iterable too, but not by chunks. */
function isSource(value: unknown): value is TextSource {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value || "getReader" in value;
}
