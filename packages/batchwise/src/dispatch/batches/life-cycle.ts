// The states of a batch: which may follow which, and the next step of a batch that has just been
// leased. Pure. `submit/after-failure.ts` and `poll/after-poll.ts` decide after failures and polls.
// Stores know none of this; the dispatcher checks here before every `transition`.
//
// `forming` is not a state of a row: it means requests waiting in a lane. A batch exists from
// `sealed` on.

import type { Account } from "../contract/account.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import type { BatchState } from "../contract/types.ts";
import { goesInline } from "./submit/batch-file.ts";

/**
 * Legal next states. Writing fields without leaving the state is always legal, except in `done`.
 */
export const TRANSITIONS: Readonly<Record<BatchState, readonly BatchState[]>> = {
  sealed: ["submitting", "collecting", "quarantined"],
  submitting: ["submitted", "unknown", "sealed", "waiting_capacity", "collecting", "quarantined"],
  unknown: ["submitted", "submitting", "sealed", "collecting", "quarantined"],
  waiting_capacity: ["submitting", "collecting", "quarantined"],
  submitted: ["running", "collecting", "sealed", "waiting_capacity", "unknown", "quarantined"],
  running: ["collecting", "sealed", "waiting_capacity", "unknown", "quarantined"],
  collecting: ["done", "unknown", "quarantined"],
  quarantined: ["sealed", "submitted", "collecting"],
  done: [],
};

export function isLegal(from: BatchState, to: BatchState): boolean {
  return from === to ? from !== "done" : TRANSITIONS[from].includes(to);
}

/**
 * States in which the provider may be handling a create: one such batch at a time if the provider
 * has no tag.
 */
export const UNRESOLVED: readonly BatchState[] = ["submitting", "unknown"];

/** States that `lease` gives out when due. */
export const LIVE: readonly BatchState[] = [
  "sealed",
  "submitting",
  "unknown",
  "waiting_capacity",
  "submitted",
  "running",
  "collecting",
];

/** What the owner of a fresh lease has to do. */
export type Step =
  /** Intent, upload, create. `attempt` is the number that the intent writes. */
  | { readonly kind: "submit"; readonly attempt: number }
  /** Send the same create again with the same token: the provider knows whether it is new. */
  | { readonly kind: "repeat"; readonly attempt: number }
  /**
   * Look the batch up. Listing starts at `since`; only a look that starts after the grace may give
   * it up.
   */
  | { readonly kind: "reconcile"; readonly since: number; readonly mayRecreate: boolean }
  | { readonly kind: "poll" }
  /** Run what is open: the account has no provider behind it. */
  | { readonly kind: "execute" }
  | { readonly kind: "cancel" }
  /** Fetch the results and settle; then dispose of members that are still open. */
  | { readonly kind: "collect" }
  /** Settle the members as `batch.disposal` says, without results. */
  | { readonly kind: "dispose" }
  /** All members are cancelled and nothing was sent: settle all as cancelled. */
  | { readonly kind: "drop" }
  | { readonly kind: "none" };

/** What `nextStep` needs to know of the account. */
export interface StepAccount {
  readonly capabilities: Pick<Account["capabilities"], "tag" | "maxInlineBytes">;
  readonly requestTimeoutMs: number;
  readonly reconcileGraceMs: number;
  readonly execute?: Account["execute"];
}

/** Our clock and the provider's may differ by this much when listed times are compared. */
export const CLOCK_SKEW_MS = 120_000;

/**
 * The step for a batch that this process has just leased. A batch found in `submitting` has lost
 * its submitter: a submitter holds the lease until it has written the result, so no other process
 * can lease a running submit.
 */
export function nextStep(batch: BatchRow, account: StepAccount, now: number): Step {
  switch (batch.state) {
    case "sealed":
    case "waiting_capacity":
      return allCancelled(batch) ? { kind: "drop" } : { kind: "submit", attempt: batch.submitAttempt + 1 };
    case "submitting":
    case "unknown":
      return resolveStep(batch, account, now);
    case "submitted":
    case "running":
      if (account.execute !== undefined) return { kind: "execute" };
      // An unverified batch may not be ours, so it is not cancelled.
      return allCancelled(batch) && batch.verified && batch.cancelSentAt === null
        ? { kind: "cancel" }
        : { kind: "poll" };
    case "collecting":
      return { kind: batch.disposal === null ? "collect" : "dispose" };
    case "quarantined":
    case "done":
      return { kind: "none" };
  }
}

function resolveStep(batch: BatchRow, account: StepAccount, now: number): Step {
  if (account.capabilities.tag === "idempotencyToken") return { kind: "repeat", attempt: batch.submitAttempt };
  // The file's id is written before the create is sent: without one, no create of
  // unknown outcome was ever sent (an id is cleared only after a definite refusal).
  if (!goesInline(batch, account) && batch.state === "submitting" && batch.providerFileId === null) {
    return { kind: "submit", attempt: batch.submitAttempt + 1 };
  }
  const started = batch.submitStartedAt ?? batch.createdAt;
  return { kind: "reconcile", since: started - CLOCK_SKEW_MS, mayRecreate: now >= giveUpAt(batch, account) };
}

function allCancelled(batch: BatchRow): boolean {
  return batch.remaining > 0 && batch.cancelRequested === batch.remaining;
}

/**
 * When a create of unknown outcome may be sent again if a look that starts then does not find it.
 * `submitStartedAt` is written twice: with the intent, and again, with the file's id, right before
 * the create, so that a long upload does not eat the grace.
 */
export function giveUpAt(batch: BatchRow, account: StepAccount): number {
  return (batch.submitStartedAt ?? batch.createdAt) + createTimeoutMs(batch, account) + account.reconcileGraceMs;
}

/** Bytes a millisecond below which sending a batch's lines is given up. */
const SLOWEST_SENDING = 1_000;

/** Time for a call that carries the lines of the batch. */
export function sendingTimeoutMs(
  batch: Pick<BatchRow, "bytes">,
  account: Pick<StepAccount, "requestTimeoutMs">,
): number {
  return account.requestTimeoutMs + Math.ceil(batch.bytes / SLOWEST_SENDING);
}

/** Time for the create, which carries the lines where there is no file. */
export function createTimeoutMs(batch: Pick<BatchRow, "bytes" | "inline">, account: StepAccount): number {
  return goesInline(batch, account) ? sendingTimeoutMs(batch, account) : account.requestTimeoutMs;
}

/**
 * Looks after the outcome became unknown, as shares of the grace: 5, 15, 30, 60, 120, 240 s at the
 * default 300 s.
 */
const LOOKS: readonly number[] = [1 / 60, 1 / 20, 1 / 10, 1 / 5, 2 / 5, 4 / 5];
const LOOK_LEAST_MS = 1_000;

/** When to look next for a batch that a look at `now` has not found (and might not give up). */
export function nextLookAt(batch: BatchRow, account: StepAccount, now: number): number {
  const end = giveUpAt(batch, account);
  if (end <= now) return now + Math.max(LOOK_LEAST_MS, account.reconcileGraceMs / 60);
  const from = batch.unknownSince ?? now;
  for (const share of LOOKS) {
    const at = from + share * account.reconcileGraceMs;
    if (at > now) return Math.min(at, end);
  }
  return end;
}

/**
 * The create may only leave this process while the rest of the lease, on this process's monotonic
 * clock, covers the whole call: a process that slept in between must not send it.
 */
export function maySend(leasedForMs: number, heldForMs: number, timeoutMs: number): boolean {
  return leasedForMs - heldForMs >= timeoutMs;
}

/**
 * The ledger that a batch is booked on; the one named like the account also carries the account's
 * pauses.
 */
export function ledgerName(account: string, scope: "account" | "model", model: string): string {
  return scope === "account" ? account : `${account}/${model}`;
}
