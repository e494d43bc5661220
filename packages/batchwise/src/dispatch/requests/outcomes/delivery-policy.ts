// Decides when a failed delivery is tried again, and when it is abandoned. A callback is the user's
// own code, so its deliveries are never abandoned. A webhook has twelve tries, and twelve more
// after each `redeliver`. Pure.

import { backoff } from "../../runtime/backoff.ts";

/** Maximum tries of a webhook. With the default pauses the last one is 17 hours after the first. */
export const WEBHOOK_TRIES = 12;
/**
 * Maximum pause of a webhook, in ms, instead of `maxBackoffMs`: few tries must outlast an outage.
 */
const LONGEST_PAUSE_MS: number = 12 * 3_600_000;

export interface DeliveryPauses {
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

/** The pause in ms after the failed try number `attempt`, from 1; null to abandon the delivery. */
export function pauseAfterFailure(
  sink: "callback" | "webhook",
  attempt: number,
  { backoffMs, maxBackoffMs }: DeliveryPauses,
): number | null {
  if (sink === "callback") return backoff(backoffMs, maxBackoffMs, attempt);
  const tried = ((attempt - 1) % WEBHOOK_TRIES) + 1;
  return tried === WEBHOOK_TRIES ? null : backoff(backoffMs, Math.max(LONGEST_PAUSE_MS, maxBackoffMs), tried);
}
