// What the providers of the simulation say when they refuse.

import type { Failure } from "../../../../src/dispatch/contract/failures.ts";

export const WHOLE: Failure = { kind: "invalidRequest", code: "failed", message: "Failed as a whole.", lines: [] };

/** What a provider says to every batch while it is out. */
export const OUTAGE: Failure = { kind: "invalidRequest", code: "outage_400", message: "Invalid request.", lines: [] };

/**
 * What validation says of the first request whose name says that it is mistyped; null where there
 * is none.
 */
export function typoIn(identities: readonly string[]): Failure | null {
  const line = identities.findIndex((identity) => identity.startsWith("typo")) + 1;
  if (line === 0) return null;
  const words = { code: "bad_field", message: "Unknown parameter." };
  return { kind: "invalidRequest", ...words, lines: [{ line, ...words }] };
}

export const REFUSALS: readonly Failure[] = [
  { kind: "rateLimited", code: "429", message: "Slow down.", retryAfterMs: 20_000 },
  { kind: "rateLimited", code: "429", message: "Slow down.", retryAfterMs: null },
  { kind: "definitelyNotCreated", code: "ECONNREFUSED", message: "Refused." },
  { kind: "unknown", code: "500", message: "Internal error." },
  { kind: "authOrBilling", code: "402", message: "No credit." },
];

/**
 * Hours in which a provider refuses or fails every batch, and blames the batch: what it says to one
 * now; null outside of them. Some of those that refuse answer with something else now and then.
 */
export function drawOutage(
  random: () => number,
  start: number,
  mostMs: number,
  now: () => number,
): (kind: "refused" | "failed") => Failure | null {
  const [is, half] = [random() < 0.4, random() < 0.5 ? "refused" : "failed"];
  const from = start + random() * 3_600_000;
  const until = from + random() * mostMs;
  const mixed = random() < 0.5 ? 0.5 : 0;
  return (kind) => {
    if (!is || kind !== half || now() < from || now() >= until) return null;
    const isOther = kind === "refused" && random() < mixed;
    return isOther ? (REFUSALS[Math.floor(random() * REFUSALS.length)] ?? OUTAGE) : OUTAGE;
  };
}
