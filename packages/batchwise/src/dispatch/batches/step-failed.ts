// What follows where a step of a batch throws what no part of it expected: an answer in a shape
// that nobody foresaw, a mistake of an account or of ours. Each counts as a try, pauses grow, and a
// row of them puts the batch aside. A store that does not answer, a lost lease and a stop are
// waited out.

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
  const isAside = failedSteps >= MOST_TRIES && kind !== "reconcile" && kind !== "repeat";
  const pauseMs = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, failedSteps);
  const lastError = JSON.stringify({ code: "step_failed", message: wordsOf(error) });
  const changes = { failedSteps, lastError };
  await lease.end((now) => ({ ...changes, ...(isAside ? { state: "quarantined" } : { nextAt: now + pauseMs }) }));
}

/** True for what is no fault of the step. */
function passes(error: unknown): boolean {
  return error instanceof CallTimeout || isStoreError(error) || isConnectionError(error);
}
