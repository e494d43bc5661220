/**
 * Reads a request's body up to a limit, and JSON out of it.
 *
 * Guarantees: a caller that waits for `100 Continue` gets it only once the body is wanted. A body that
 * says it is too large is refused before any of it is read, one that does not say so as soon as it is.
 * What is held is as large as the body, in however small chunks it comes. A body that stops coming is
 * given up, and so is one whose request has ended. Bytes that are no UTF-8 are refused, because a text
 * with other characters has another vector.
 */

import { bodyTooLarge, encodedBody, invalidRequest, uploadStalled } from "../errors.ts";
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

/** The whole body, counted among the uploads as it comes. Throws the signal's reason once that aborts. */
export async function readBytes(
  { request, exchange }: Unread,
  { maxBytes, stallMs }: BodyLimits,
  upload: Upload,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw bodyTooLarge(maxBytes, announced);
  upload.grow(announced);
  exchange.askForBody();
  let bytes = new Uint8Array(0);
  let length = 0;
  for await (const chunk of chunksOf({ request, exchange }, stallMs, signal)) {
    const end = length + chunk.length;
    if (end > maxBytes) throw bodyTooLarge(maxBytes);
    upload.grow(end);
    // Chunks of a byte each would take a hundred times their size if they were kept.
    if (end > bytes.length) bytes = grown(bytes, Math.min(maxBytes, Math.max(announced, end, 2 * bytes.length)));
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

/** The chunks of a body. Throws once none has come for `stallMs`, and the signal's reason once that aborts. */
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
  const timer = setTimeout(() => {
    // Nothing can come meanwhile.
    if (exchange.isHeldBack) {
      timer.refresh();
      return;
    }
    isStalled = true;
    cancel();
  }, stallMs);
  signal.addEventListener("abort", cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (isStalled) throw uploadStalled(stallMs);
      if (done) return;
      timer.refresh();
      yield value;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}
