// Verifies the tokens with which Gemini signs the events of one job: JSON Web Tokens, only RS256.

import { verify } from "node:crypto";
import { CLOCK_MS } from "./event-signature.ts";
import type { KeySet } from "./key-set.ts";

interface Claims {
  readonly aud?: unknown;
  readonly exp?: unknown;
  readonly iat?: unknown;
  readonly nbf?: unknown;
}

/** The requirements of a token. */
export interface TokenRules {
  readonly keySet: KeySet;
  /** Accepted audiences; empty for any. */
  readonly audience: readonly string[];
}

/** The token of an event header that has one in place of signatures; null for any other. */
export function tokenIn(signature: string): string | null {
  const [token = ""] = signature.split(" ").map((part) => part.slice(part.lastIndexOf(",") + 1));
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token : null;
}

/** Rejects with KeysUnavailable. `now`: in ms since 1970. */
export async function isSignedToken(token: string, { keySet, audience }: TokenRules, now: number): Promise<boolean> {
  const [head = "", body = "", signature = ""] = token.split(".");
  const header = jsonOf(head) as { readonly alg?: unknown; readonly kid?: unknown } | null;
  // We choose the algorithm, not the token.
  if (header?.alg !== "RS256" || typeof header.kid !== "string") return false;
  const claims = jsonOf(body) as Claims | null;
  if (claims === null || !isInTime(claims, now) || !isFor(claims, audience)) return false;
  const key = await keySet.keyOf(header.kid);
  if (key === null) return false;
  return verify("RSA-SHA256", Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url"));
}

/** A token must have a creation or expiry time. */
function isInTime({ exp, iat, nbf }: Claims, now: number): boolean {
  if (typeof exp !== "number" && typeof iat !== "number") return false;
  if (exp !== undefined && !(typeof exp === "number" && exp * 1_000 > now)) return false;
  if (nbf !== undefined && !(typeof nbf === "number" && nbf * 1_000 <= now + CLOCK_MS)) return false;
  return iat === undefined || (typeof iat === "number" && Math.abs(iat * 1_000 - now) <= CLOCK_MS);
}

function isFor({ aud }: Claims, audience: readonly string[]): boolean {
  if (audience.length === 0) return true;
  const given: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return given.some((one) => typeof one === "string" && audience.includes(one));
}

function jsonOf(part: string): object | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
