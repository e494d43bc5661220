// Verifies the signatures of webhook events.

import { timingSafeEqual } from "node:crypto";
import { webhookMac } from "../../requests/outcomes/webhook-mac.ts";

/** Maximum clock difference between sender and receiver, in ms. */
export const CLOCK_MS = 300_000;
const PREFIX = "whsec_";

/** Decodes the secrets to keys. A secret that begins with `whsec_` is base64. */
export function keysOf(secrets: readonly string[]): Buffer[] {
  return secrets.map((secret) =>
    secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), "base64") : Buffer.from(secret, "utf8"),
  );
}

/** True for seconds since 1970 within five minutes of `now`. */
export function isRecent(seconds: string, now: number): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(Number(seconds) * 1_000 - now) <= CLOCK_MS;
}

/** The event's id if one of the keys signed it within five minutes of `now`; else null. */
export function signedId(headers: Headers, body: string, keys: readonly Buffer[], now: number): string | null {
  const [id, seconds, signatures] = ["id", "timestamp", "signature"].map((name) => headers.get(`webhook-${name}`));
  if (!id || !seconds || !signatures || !isRecent(seconds, now)) return null;
  const given = signatures
    .split(" ")
    .flatMap((part) => (part.startsWith("v1,") ? [Buffer.from(part.slice(3), "base64")] : []));
  const right = keys.map((key) => webhookMac(key, id, seconds, body));
  const isSigned = right.some((mac) => given.some((one) => one.length === mac.length && timingSafeEqual(one, mac)));
  return isSigned ? id : null;
}
