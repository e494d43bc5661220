/**
 * Who a request is from, for fairness: the API key it came with and the `user` that its body names.
 *
 * Guarantees: a name of fixed length from which neither can be read; requests with neither are one
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
