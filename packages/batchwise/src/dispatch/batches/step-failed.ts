// Handles an unexpected error of a step: an answer of unknown shape, a mistake of an account or of
// ours. Each counts as a try, with growing pauses, and several in a row quarantine the batch. An
// unreachable store, a lost lease and a stop do not count.

import { isConnectionError, isStoreError, wordsOf } from "../format/client-error.ts";
import { backoff } from "../runtime/backoff.ts";
import type { Lease } from "../runtime/lease/lease.ts";
import { CallTimeout } from "../runtime/provider-calls.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { nextStep } from "./life-cycle.ts";

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
const MOST_TRIES = 20;

/** Gives the lease back until the next try. Rejects with LeaseLost. */
export async function stepFailed(runtime: Runtime, lease: Lease, error: unknown): Promise<void> {
  if (lease.isOver || runtime.isStopping || passes(error)) return;
  const failedSteps = lease.batch.failedSteps + 1;
  // A create that the provider may still receive is never left to a person, who might send it
  // again.
  const { kind } = nextStep(lease.batch, lease.account, runtime.clock.now());
  const isQuarantined = failedSteps >= MOST_TRIES && kind !== "reconcile" && kind !== "repeat";
  const pauseMs = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, failedSteps);
  const lastError = JSON.stringify({ code: "step_failed", message: wordsOf(error) });
  const changes = { failedSteps, lastError };
  await lease.end((now) => ({ ...changes, ...(isQuarantined ? { state: "quarantined" } : { nextAt: now + pauseMs }) }));
}

/** True for errors that are not the step's fault. */
function passes(error: unknown): boolean {
  return error instanceof CallTimeout || isStoreError(error) || isConnectionError(error);
}
