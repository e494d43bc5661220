/**
 * Reads a request's body up to a limit, and JSON out of it.
 *
 * Guarantees: a body that says it is too large is refused before any of it is read, and one that does not say so as
 * soon as it is; at most `limit` bytes are ever held. A body that stops coming is given up.
 */

import { bodyTooLarge, invalidRequest, uploadStalled } from "./errors.ts";
import type { Upload } from "./uploads.ts";

export interface BodyLimits {
  readonly maxBytes: number;
  /** The longest time without a byte. */
  readonly stallMs: number;
}

/** Throws 400 for what is not a JSON object. */
export function jsonObjectIn(bytes: Uint8Array): Record<string, unknown> {
  const text = new TextDecoder().decode(bytes);
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

/** The whole body, counted among the uploads as it comes. */
export async function readBytes(
  request: Request,
  { maxBytes, stallMs }: BodyLimits,
  upload: Upload,
): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw bodyTooLarge(maxBytes, announced);
  upload.grow(announced);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of withoutStalls(request.body, stallMs)) {
    length += chunk.length;
    if (length > maxBytes) throw bodyTooLarge(maxBytes);
    upload.grow(length);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/** The chunks of a body. Throws once none has come for `stallMs`. */
async function* withoutStalls(body: ReadableStream<Uint8Array> | null, stallMs: number): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read(), stallMs);
      if (done) return;
      yield value;
    }
  } finally {
    // What the sender still sends is not kept.
    reader.cancel().catch(() => undefined);
  }
}

async function inTime<Value>(read: Promise<Value>, stallMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(uploadStalled(stallMs)), stallMs);
  });
  try {
    return await Promise.race([read, stalled]);
  } finally {
    clearTimeout(timer);
  }
}
