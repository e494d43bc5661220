// Decides what happens to a batch after a poll. Pure: takes the batch, the observed provider batch
// (null when the provider does not know it) and the time, returns a Plan.

import type { ProviderBatch } from "../../contract/account.ts";
import type { Failure } from "../../contract/failures.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { BatchCase } from "../batch-case.ts";
import { createTimeoutMs, type StepAccount } from "../life-cycle.ts";
import { type Plan, plan } from "../plan.ts";
import { ageOf, stuckAfter } from "../stuck.ts";
import { afterBatchFailure, PAUSE_MS } from "../submit/after-failure.ts";

const MINUTE = 60_000;
const POLL_GROWTH = 1.5;
const POLL_MOST_MS = 5 * MINUTE;
/** Longest time between polls of a batch that should have ended by now. */
const STUCK_POLL_MOST_MS = 60 * MINUTE;
/**
 * From this share of settled members on, the time between polls is NEARLY_AGE of the batch's age,
 * and at least the account's `pollMs`.
 */
const NEARLY_DONE = 0.9;
const NEARLY_AGE = 0.01;
/**
 * Looks in a row, and the time from the first to the last, after which a batch has vanished.
 */
const VANISHED_LOOKS = 6;
const VANISHED_MS = 10 * MINUTE;
const VANISHED_PAUSE_MS = 2 * MINUTE;
/** Time until the next look for a vanished batch that is quarantined. */
const QUARANTINED_PAUSE_MS = 60 * MINUTE;
const VANISHED = { code: "batch_vanished", message: "The provider does not know the batch any more." };

export interface PollCase extends BatchCase {
  readonly account: StepAccount & { readonly pollMs: number };
  readonly stuckAfterMs: number;
}

/**
 * Decides after a poll that reached the provider. `seen`: null if the provider does not know the
 * batch.
 */
export function afterPoll(at: PollCase, seen: ProviderBatch | null): Plan {
  if (seen === null) return afterVanished(at);
  const decided = pausing(afterSeen(at, seen), seen.failure, at.now);
  return { ...decided, figures: { ...decided.figures, lostLooks: 0, lostSince: null } };
}

/**
 * Pauses the account if the provider ended the batch, or is ending it, because of credit or the
 * key, even if it has results, so that no create has to fail first.
 */
function pausing(decided: Plan, failure: Failure | null, now: number): Plan {
  if (failure?.kind !== "authOrBilling" || decided.forget) return decided;
  const { code, message } = failure;
  return { ...decided, lastError: { code, message }, pauseAccountUntil: now + PAUSE_MS, isKeyRefused: true };
}

function afterSeen(at: PollCase, seen: ProviderBatch): Plan {
  const { batch, account, now } = at;
  const failure = failureIn(seen);
  if (failure !== null) return afterBatchFailure(at, failure);
  if (seen.state === "done" || seen.state === "cancelled" || seen.state === "expired" || seen.state === "failed") {
    return plan("collecting", now, {});
  }
  const pollMs = Math.max(account.pollMs, pauseOf(at, seen));
  return plan(seen.state === "validating" ? batch.state : "running", now + pollMs, { figures: { pollMs } });
}

function pauseOf({ batch, account, now, stuckAfterMs }: PollCase, { total, settled }: ProviderBatch): number {
  const age = ageOf(batch, now);
  const isStuck = age >= stuckAfter(batch, stuckAfterMs);
  const nearly = total !== null && settled !== null && settled >= NEARLY_DONE * total;
  if (nearly && !isStuck) return Math.min(age * NEARLY_AGE, POLL_MOST_MS);
  if (batch.pollMs === 0) return account.pollMs;
  return Math.min(batch.pollMs * POLL_GROWTH, isStuck ? STUCK_POLL_MOST_MS : POLL_MOST_MS);
}

/**
 * Why the batch failed as a whole; null if it has results, or has not failed. A reason counts more
 * than result files: Azure names both files of a batch that it failed, and they are empty. If the
 * provider counts requests that have run, the files are read first, even before they are named: a
 * request with a line in them must not run again.
 */
export function failureIn(seen: ProviderBatch): Failure | null {
  if (seen.state !== "failed") return null;
  const hasRun = (seen.ran ?? 0) > 0;
  if (hasRun || (seen.resultRefs.length > 0 && seen.failure === null)) return null;
  return seen.failure ?? { kind: "unknown", code: "batch_failed", message: "The provider gave no reason." };
}

/**
 * A batch may be missing because it is new, or because a list or proxy errs. If it stays missing it
 * may have run, so it is never re-sent: an operator decides, and a sweep looks for it each hour.
 */
function afterVanished({ batch, account, now }: PollCase): Plan {
  if (isFresh(batch, account, now)) return plan(batch.state, now + account.pollMs, { lastError: VANISHED });
  const lostLooks = batch.lostLooks + 1;
  const lostSince = batch.lostSince ?? now;
  const changes = { lastError: VANISHED, figures: { lostLooks, lostSince } };
  if (lostLooks >= VANISHED_LOOKS && now - lostSince >= VANISHED_MS) {
    return plan("quarantined", now + QUARANTINED_PAUSE_MS, changes);
  }
  return plan(batch.state, now + Math.max(account.pollMs, VANISHED_PAUSE_MS), changes);
}

/** True while the provider's reads may not show the batch yet. */
export function isFresh(batch: BatchRow, account: StepAccount, now: number): boolean {
  const started = batch.submitStartedAt ?? batch.createdAt;
  return now < started + createTimeoutMs(batch, account) + account.reconcileGraceMs;
}
