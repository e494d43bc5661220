/**
 * Reads a request's body up to a limit, and JSON out of it.
 *
 * Guarantees: a caller that waits for `100 Continue` gets it only once the body is wanted. A body
 * that says it is too large is refused before any of it is read, one that does not say so as soon
 * as it is. What is held is at most twice what has come, in however small chunks, and no more than
 * the body announces. A body that stops coming or comes too slowly is given up, and so is one whose
 * request has ended. Bytes that are no UTF-8 are refused, because a text with other characters has
 * another vector.
 */

import { bodyTooLarge, encodedBody, invalidRequest, uploadStalled, uploadTooSlow } from "../errors.ts";
import { nextSlice, sliceIsOver } from "../large-bodies/time-slices.ts";
import type { Upload } from "../large-bodies/uploads.ts";
import type { Exchange } from "./exchange.ts";

export interface BodyLimits {
  readonly maxBytes: number;
  /** The longest time without a byte. */
  readonly stallMs: number;
}

/** Throws 400 for what is not a JSON object. */
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

/** A request needs three. */
const MAX_DEPTH = 100;
/** A request needs some 2,060. */
const MAX_PARTS = 20_000;

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Throws 400 at the first bracket that is too deep, or the first array, object or field too many:
 * each takes the parser up to a hundred times its bytes, and a thread that runs out of memory in
 * the parser ends the process. In UTF-8 no other character has the bytes of these.
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

/** A request of which nobody has read the body yet. */
export interface Unread {
  readonly request: Request;
  readonly exchange: Exchange;
}

/**
 * The whole body, counted among the uploads as it comes. Throws the signal's reason once that
 * aborts.
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
    // Chunks of a byte each would take a hundred times their size if they were kept.
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

/** What a body has to come with on average, once the first `stallMs` have passed. */
const LEAST_BYTES_PER_MS = 16;

/**
 * The chunks of a body. Throws once none has come for `stallMs`, once all came too slowly, and the
 * signal's reason once that aborts.
 */
async function* chunksOf(
  { request: { body }, exchange }: Unread,
  stallMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  if (body === null) return;
  const reader = body.getReader();
  // Ends a read that waits, and keeps nothing of what the sender still sends.
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  let isStalled = false;
  let waitedMs = 0;
  let length = 0;
  const timer = setTimeout(() => {
    // Nothing can come meanwhile.
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
