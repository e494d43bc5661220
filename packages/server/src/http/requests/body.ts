/**
 * Reads a request's body up to a limit, and parses its JSON.
 *
 * Guarantees: a caller that waits for `100 Continue` gets it only when the body is wanted. A body
 * that announces too large a size is refused before any of it is read; any other is refused when it
 * exceeds the limit. Memory is at most twice the received bytes for chunks of any size, and at most
 * the announced size. A body that stops or comes too slowly is refused, and so is one whose request
 * has ended. Bytes that are not UTF-8 are refused, because a text with other characters has another
 * vector.
 */

import { bodyTooLarge, encodedBody, invalidRequest, uploadStalled, uploadTooSlow } from "../errors.ts";
import { nextSlice, sliceIsOver } from "../large-bodies/time-slices.ts";
import type { Upload } from "../large-bodies/uploads.ts";
import type { Exchange } from "./exchange.ts";

export interface BodyLimits {
  readonly maxBytes: number;
  /** Longest time in ms without a byte. */
  readonly stallMs: number;
}

/** Throws 400 if the bytes are not a JSON object. */
export function jsonObjectIn(bytes: Uint8Array): Record<string, unknown> {
  checkShape(bytes);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalidRequest("The request's body is not JSON: expected it in UTF-8.", undefined, "invalid_json");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw invalidRequest(`The request's body is not JSON: ${reason}`, undefined, "invalid_json");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidRequest("The request's body must be a JSON object.", undefined, "invalid_json");
  }
  return { ...value };
}

/** A request needs three levels. */
const MAX_DEPTH = 100;
/** A request needs about 2,060. */
const MAX_PARTS = 20_000;

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Throws 400 at the first bracket that is too deep, or the first array, object or field too many.
 * Each takes the parser up to a hundred times its bytes, and a thread that runs out of memory in
 * the parser ends the process. In UTF-8 no other character contains the bytes of brackets and
 * commas.
 */
function checkShape(bytes: Uint8Array): void {
  let depth = 0;
  let parts = 0;
  let isText = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) isText = !isText;
    else if (isText) index += byte === BACKSLASH ? 1 : 0;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth -= 1;
    else if (byte === COLON) parts += 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      parts += 1;
      depth += 1;
    }
    if (depth > MAX_DEPTH) throw tooMuchOf(`nests arrays and objects deeper than ${MAX_DEPTH} levels`);
    if (parts > MAX_PARTS) throw tooMuchOf(`has more than ${MAX_PARTS} arrays, objects and fields`);
  }
}

function tooMuchOf(what: string): Error {
  return invalidRequest(`The request's body ${what}.`, undefined, "invalid_json");
}

/** Throws 415 for a compressed body. */
export function checkIsPlain(headers: Headers): void {
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") throw encodedBody(encoding);
}

/** A request whose body has not been read yet. */
export interface Unread {
  readonly request: Request;
  readonly exchange: Exchange;
}

/**
 * The whole body; counts it among the uploads while it arrives. Rejects with the signal's reason
 * when that aborts.
 */
export async function readBytes(
  { request, exchange }: Unread,
  { maxBytes, stallMs }: BodyLimits,
  upload: Upload,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw bodyTooLarge(maxBytes, announced);
  upload.checkRoom(announced);
  exchange.askForBody();
  let bytes = new Uint8Array(0);
  let length = 0;
  for await (const chunk of chunksOf({ request, exchange }, stallMs, signal)) {
    const end = length + chunk.length;
    if (end > maxBytes) throw bodyTooLarge(maxBytes);
    upload.grow(end);
    // One buffer: chunks of one byte each would take a hundred times their size.
    const most = announced > 0 ? announced : maxBytes;
    if (end > bytes.length) bytes = grown(bytes, Math.max(end, Math.min(most, 2 * bytes.length)));
    bytes.set(chunk, length);
    length = end;
    if (sliceIsOver()) await nextSlice();
  }
  return bytes.subarray(0, length);
}

function grown(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length);
  larger.set(bytes);
  return larger;
}

/** Least average rate of a body after the first `stallMs`. */
const LEAST_BYTES_PER_MS = 16;

/**
 * The chunks of a body. Throws if none comes for `stallMs`, if all come too slowly, and with the
 * signal's reason when that aborts.
 */
async function* chunksOf(
  { request: { body }, exchange }: Unread,
  stallMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  if (body === null) return;
  const reader = body.getReader();
  // Ends a waiting read, and discards anything that the sender still sends.
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  let isStalled = false;
  let waitedMs = 0;
  let length = 0;
  const timer = setTimeout(() => {
    // No body can arrive meanwhile.
    if (exchange.isHeldBack) {
      waitedMs -= stallMs;
      timer.refresh();
      return;
    }
    isStalled = true;
    cancel();
  }, stallMs);
  signal.addEventListener("abort", cancel);
  try {
    for (;;) {
      const askedAt = performance.now();
      const { done, value } = await reader.read();
      waitedMs += performance.now() - askedAt;
      signal.throwIfAborted();
      if (isStalled) throw uploadStalled(stallMs);
      if (done) return;
      length += value.length;
      if (waitedMs > stallMs + length / LEAST_BYTES_PER_MS) throw uploadTooSlow(LEAST_BYTES_PER_MS * 1_000);
      timer.refresh();
      yield value;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}
