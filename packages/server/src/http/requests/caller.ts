/**
 * Identifies the caller of a request, for fairness: by its API key and its body's `user`.
 *
 * Guarantees: a name of fixed length from which neither can be read. Requests with neither are one
 * caller. Does not check keys.
 */

import { createHash } from "node:crypto";

export function callerOf(headers: Headers, user: string | null): string {
  const key = headers.get("authorization") ?? headers.get("api-key") ?? "";
  if (key === "" && user === null) return "";
  return createHash("sha256")
    .update(JSON.stringify([key, user]))
    .digest("base64url");
}
