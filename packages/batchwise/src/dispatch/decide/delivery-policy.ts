// When a delivery that failed is tried again, and when it is given up. Pure. A callback is the
// user's own code: what it has not taken is never given up. A webhook has twelve tries, and twelve
// more each time somebody asks for them.

import { backoff } from "./times/backoff.ts";

/**
 * Tries of a webhook before it is given up: at the default pauses the last comes 17 hours after the
 * first.
 */
export const WEBHOOK_TRIES = 12;
/**
 * The pauses of a webhook double up to this, whatever `maxBackoffMs` says: few tries have to
 * outlast an outage.
 */
const LONGEST_PAUSE_MS: number = 12 * 3_600_000;

export interface DeliveryPauses {
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

/**
 * The pause before the next try after failed try number `attempt`, from 1; null to give the
 * delivery up.
 */
export function pauseAfterFailure(
  sink: "callback" | "webhook",
  attempt: number,
  { backoffMs, maxBackoffMs }: DeliveryPauses,
): number | null {
  if (sink === "callback") return backoff(backoffMs, maxBackoffMs, attempt);
  const tried = ((attempt - 1) % WEBHOOK_TRIES) + 1;
  return tried === WEBHOOK_TRIES ? null : backoff(backoffMs, Math.max(LONGEST_PAUSE_MS, maxBackoffMs), tried);
}
