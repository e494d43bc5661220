// What the providers of the simulation say when they refuse.

import type { Failure } from "../../../src/dispatch/contract/account.ts";

export const WHOLE: Failure = { kind: "invalidRequest", code: "failed", message: "Failed as a whole.", lines: [] };

/** What a provider says to every batch while it is out. */
export const OUTAGE: Failure = { kind: "invalidRequest", code: "outage_400", message: "Invalid request.", lines: [] };

export const REFUSALS: readonly Failure[] = [
  { kind: "rateLimited", code: "429", message: "Slow down.", retryAfterMs: 20_000 },
  { kind: "rateLimited", code: "429", message: "Slow down.", retryAfterMs: null },
  { kind: "definitelyNotCreated", code: "ECONNREFUSED", message: "Refused." },
  { kind: "unknown", code: "500", message: "Internal error." },
  { kind: "authOrBilling", code: "402", message: "No credit." },
];
