/**
 * Reads a request's JSON body up to a limit.
 *
 * Guarantees: a body that says it is too large is refused before any of it is read, and one that does not say so as
 * soon as it is; at most `limit` bytes are ever held.
 */

import { bodyTooLarge, invalidRequest } from "./errors.ts";

export async function readJson(request: Request, limit: number): Promise<Record<string, unknown>> {
  const text = new TextDecoder().decode(await readBytes(request, limit));
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

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const announced = Number(request.headers.get("content-length") ?? Number.NaN);
  if (announced > limit) throw bodyTooLarge(limit, announced);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > limit) throw bodyTooLarge(limit);
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
