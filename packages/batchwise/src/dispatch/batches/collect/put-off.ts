// Postpones the collecting of a batch: the number of failures decides the pause, and when the batch
// is quarantined.

import { isError } from "../../../core/contract/errors.ts";
import { DispatchError } from "../../contract/errors.ts";
import { isMistake } from "../../format/client-error.ts";
import { backoff } from "../../runtime/backoff.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { failureOf } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isCheckFailed } from "./checked-answers.ts";

const RETRY_FIRST_MS = 5_000;
const RETRY_MOST_MS = 300_000;
/** The code of results with too many useless lines; see collect.ts. */
export const FOREIGN_LINES = "foreign_lines";
/** Unreadable or missing reads after which the batch is quarantined. */
const UNREADABLE_TRIES = 20;

/**
 * Retries later, with growing pauses. `counts`: true for failures that do not pass with time; after
 * many of these the batch is quarantined.
 */
export async function putOff(lease: Lease, code: string, message: string, counts: boolean, leastMs = 0): Promise<void> {
  const { batch } = lease;
  const failedReads = batch.failedReads + 1;
  const unreadableReads = batch.unreadableReads + (counts ? 1 : 0);
  const changes = { failedReads, unreadableReads, lastError: JSON.stringify({ code, message }) };
  if (unreadableReads >= UNREADABLE_TRIES) {
    await lease.end({ ...changes, state: "quarantined" });
    return;
  }
  const wait = Math.max(leastMs, backoff(RETRY_FIRST_MS, RETRY_MOST_MS, failedReads));
  await lease.end((now) => ({ ...changes, nextAt: now + wait }));
}

/** Results that a run to itself could not read to their end: the next one reads no further. */
function tellOfTime(runtime: Runtime, lease: Lease, hadMs: number): void {
  const { budget } = runtime;
  const { batch, seen } = lease;
  if (budget === null || !budget.isWhole(hadMs) || batch.remaining === 0) return;
  const named = `The results of batch ${batch.key} (${seen?.resultRefs.join(", ") || batch.providerBatchId})`;
  const words = `${named} were not read to their end in the ${Math.round(budget.workMs / 100) / 10} s of a run`;
  const error = new DispatchError("RUN_TOO_SHORT", `${words}: give it a longer \`maxMs\`. What was read is kept.`);
  runtime.reportOnce(error.message, error, lease.context("results"));
}

/**
 * Puts off a batch whose results could not be read to their end. Throws a mistake in code again.
 */
export async function collectFailed(runtime: Runtime, lease: Lease, error: unknown, hadMs = 0): Promise<void> {
  if (runtime.isStopping) {
    tellOfTime(runtime, lease, hadMs);
    // With the last member decided it needs no more of the provider, and still ends.
    if (lease.batch.remaining > 0) await lease.end((now) => ({ nextAt: now }));
    return;
  }
  if (isCheckFailed(error)) {
    runtime.report(error, lease.context("results"));
    await putOff(lease, error.code, error.message, false);
    return;
  }
  if (isMistake(error)) throw error;
  const failure = failureOf(lease.account, error, "results");
  const context = lease.context("results");
  // What cannot be read is about the results, not about the account.
  if (failure.kind === "authOrBilling" || failure.kind === "rateLimited") {
    runtime.troubles.add({ error, failure, context });
  } else runtime.report(error, context);
  // The official clients' own errors have a code that is undefined.
  const own = isError(error) && "code" in error ? error.code : undefined;
  const code = typeof own === "string" ? own : failure.code;
  const isGone = failure.kind === "definitelyNotCreated" || failure.kind === "invalidRequest";
  const leastMs = failure.kind === "rateLimited" ? (failure.retryAfterMs ?? 0) : 0;
  await putOff(
    lease,
    code,
    failure.message,
    isGone || code === "RESULTS_UNREADABLE" || code === FOREIGN_LINES,
    leastMs,
  );
}
