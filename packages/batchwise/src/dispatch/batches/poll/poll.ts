// Polls running batches: many by one list call, a single one by its id. batches/poll/after-poll.ts
// decides what follows. Poll times are rounded up to multiples of the account's interval, so that
// its batches fall due together, in all processes, and one list call serves them all.

import { isRefuted, learnable } from "../../accounts/learned-limit.ts";
import { isClosedByAnswer, outageOn } from "../../accounts/outage.ts";
import { asIn, type Ledgers } from "../../accounts/pause-changes.ts";
import { noteAcceptance, noteFaults } from "../../accounts/record-lane-health.ts";
import { type Account, hasEnded, type ProviderBatch } from "../../contract/account.ts";
import type { Failure } from "../../contract/failures.ts";
import type { LedgerChanges, LedgerRow } from "../../contract/store/ledger-rows.ts";
import type { BatchChanges, BatchRow } from "../../contract/store/rows.ts";
import { isMistake } from "../../format/client-error.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { callFor, failureOf, readFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { applyPlan } from "../apply-plan.ts";
import { NO_EVIDENCE } from "../batch-case.ts";
import { pages } from "../find/list-batches.ts";
import { undoAdoption } from "../find/undo-adoption.ts";
import { CLOCK_SKEW_MS } from "../life-cycle.ts";
import type { Plan } from "../plan.ts";
import { evidenceOn, preferFreeAccount } from "../submit/competing-batches.ts";
import { blameMembers } from "../submit/expire-members.ts";
import { tellOfFigure, tellOfRefusal } from "../submit/tell-of-refusal.ts";
import { afterPoll, failureIn, isFresh } from "./after-poll.ts";

/** Extra pages of a list, beyond the number that the wanted batches would fill. */
const SPARE_PAGES = 3;
/** Share of a run's remaining time for the list; batches that it misses are retrieved by id. */
const LIST_SHARE = 1 / 3;

/** Rounds a time up to the next multiple of `intervalMs`. */
export function roundUpToInterval(at: number, intervalMs: number): number {
  return Math.ceil(at / intervalMs) * intervalMs;
}

/**
 * Polls one batch: takes it from the last list call, else retrieves it by id. Ends the lease unless
 * results can be collected.
 */
export async function poll(runtime: Runtime, lease: Lease): Promise<void> {
  const { account, batch } = lease;
  const id = batch.providerBatchId;
  if (id === null) throw new Error(`Batch ${batch.key} is ${batch.state} without a provider's id.`);
  const listed = lease.seen !== null;
  if (lease.seen === null) {
    try {
      lease.seen = await readFor(runtime, lease, (call) => account.retrieve(id, call));
    } catch (error) {
      await pollFailed(runtime, lease, error);
      return;
    }
  }
  runtime.troubles.worked(account.name, "read");
  tellPolled(runtime, lease, listed, lease.seen, null);
  const seen = await blamed(runtime, lease, lease.seen);
  const needsLedger = seen?.state === "failed" || (batch.state === "submitted" && seen?.state !== "validating");
  const ledgers = needsLedger ? await runtime.ledgers() : new Map<string, LedgerRow>();
  const ledger = ledgers.get(batch.ledger) ?? null;
  const now = runtime.clock.now();
  const failure = seen?.state === "failed" ? failureIn(seen) : null;
  tellOfLimit(runtime, lease, failure);
  const evidence =
    failure === null ? NO_EVIDENCE : await evidenceOn(runtime, batch, failure, ledgers, seen?.createdAt || undefined);
  const { stuckAfterMs } = runtime.options;
  const decided = afterPoll({ batch, account, ledger, othersAccepted: false, evidence, now, stuckAfterMs }, seen);
  const plan = preferFreeAccount(runtime, batch, decided, ledgers);
  if (seen === null && !isFresh(batch, account, now)) {
    const end =
      plan.state === "quarantined" ? "It is quarantined, and looked for again each hour." : "It is looked for again.";
    const told = new Error(`The provider does not know ${id}, which is batch ${batch.key}, any more. ${end}`);
    runtime.report(told, lease.context("retrieve"));
  }
  if (!batch.verified && provesNothing(seen, plan)) {
    await undoAdoption(runtime, lease);
    return;
  }
  const isWaiting = plan.state === "submitted" || plan.state === "running";
  const nextAt = isWaiting ? roundUpToInterval(plan.nextAt, account.pollMs) : plan.nextAt;
  if (isWaiting) lease.seen = null;
  await noteLane(runtime, batch, plan, failure);
  const more = seenChanges(batch, seen, plan, ledgers, now);
  const isWritten = await applyPlan(runtime, lease, { ...plan, nextAt }, ledgers, more);
  tellOfRefusal(runtime, batch, decided, isWritten, "retrieve");
}

/** Reports a used-up limit; the batch waits. */
function tellOfLimit({ troubles }: Runtime, lease: Lease, failure: Failure | null): void {
  if (failure?.kind !== "tokenLimit") return;
  troubles.add({ error: new Error(failure.message), failure, context: lease.context("retrieve") });
}

/**
 * Records what the poll shows about the lane, before the batch's own row: a later owner cannot see
 * it again. An accepted batch matters only if some lane has a record.
 */
async function noteLane(runtime: Runtime, batch: BatchRow, plan: Plan, failure: Failure | null): Promise<void> {
  if (plan.disposal?.kind === "faults") await noteFaults(runtime, batch, failure, "retrieve");
  if (!isTaken(batch, plan)) return;
  runtime.troubles.worked(batch.account, "taken");
  if (runtime.lastPauses.healths.size > 0) await noteAcceptance(runtime, batch);
}

function tellPolled(
  { events, clock }: Runtime,
  { batch }: Lease,
  listed: boolean,
  seen: ProviderBatch | null,
  code: string | null,
): void {
  events.emit("poll", () => ({
    ...{ account: batch.account, batch: batch.key, listed, code, providerState: seen?.rawState ?? null },
    ...{ counts: seen?.counts ?? null, usage: seen?.usage ?? null },
    result: code !== null ? "failed" : seen === null ? "gone" : "seen",
    ageMs: clock.now() - (batch.submitStartedAt ?? batch.createdAt),
  }));
}

async function blamed(runtime: Runtime, lease: Lease, seen: ProviderBatch | null): Promise<ProviderBatch | null> {
  if (seen === null || seen.failure === null) return seen;
  tellOfFigure(runtime, lease, seen.failure, "retrieve");
  const failure = await blameMembers(runtime, lease, seen.failure);
  return { ...seen, failure: learnable(failure, lease.account) };
}

/**
 * True if an unverified batch has ended without a result that could prove it ours. False while
 * results may still appear (done, or no counts yet), and if it vanished, because it may have been
 * ours and have run.
 */
function provesNothing(seen: ProviderBatch | null, plan: Plan): boolean {
  if (seen === null || !hasEnded(seen)) return false;
  if (plan.forget) return true;
  const mayShowMore = seen.state === "done" || seen.total === null;
  return !mayShowMore && seen.resultRefs.length === 0 && (seen.ran ?? 0) === 0;
}

function seenChanges(
  batch: BatchRow,
  seen: ProviderBatch | null,
  plan: Plan,
  ledgers: Ledgers,
  now: number,
): BatchChanges {
  const told =
    seen === null || plan.forget ? {} : { providerState: seen.rawState, expiresAt: seen.expiresAt ?? batch.expiresAt };
  const hasEnded = plan.state === "collecting" && !plan.forget;
  const accepted = plan.state === "running" && batch.state === "submitted" ? acceptedOn(ledgers, batch, now) : null;
  const over = isTaken(batch, plan) ? outageOver(ledgers, batch, now) : null;
  // A batch that pauses its account proves nothing about the account's room.
  const isPaused = plan.pauseAccountUntil !== null;
  const [proof, other] = isPaused ? [] : [accepted, over].filter((change) => change !== null);
  const isOneLedger = proof !== undefined && proof.name === other?.name;
  const written = isOneLedger ? [{ ...proof, ...other }] : [proof, other].filter((change) => change !== undefined);
  return {
    ...told,
    ...(hasEnded ? { releaseAt: now } : {}),
    ...(written.length === 0 ? {} : { ledgers: written }),
  };
}

/** True if this poll is the first to show that the provider has started the batch. */
function isTaken({ state }: BatchRow, plan: Plan): boolean {
  const isOn = plan.state === "running" || (plan.state === "collecting" && !plan.forget);
  return state === "submitted" && isOn && plan.disposal === null;
}

// A proof changes nothing of a ledger on which another pause has been written since it was read.

/** A running batch proves that the limit has room again, and that it is no lower. */
function acceptedOn(ledgers: Ledgers, batch: BatchRow, now: number): LedgerChanges | null {
  const ledger = ledgers.get(batch.ledger);
  if (ledger === undefined) return null;
  const isOld = isRefuted(ledger, batch.tokens, now);
  if (ledger.strikes === 0 && !isOld) return null;
  const unblocked = ledger.strikes === 0 ? {} : { strikes: 0, blockedUntil: 0 };
  return { ...asIn(ledgers, batch.ledger), ...unblocked, ...(isOld ? { learnedTokens: null, learnedAt: null } : {}) };
}

/**
 * A batch that was sent during an outage and accepted proves that the outage has ended. It proves
 * nothing about a key that was refused later.
 */
function outageOver(ledgers: Ledgers, batch: BatchRow, now: number): LedgerChanges | null {
  const ledger = ledgers.get(batch.account);
  const outage = outageOn(ledger, now);
  if (ledger === undefined || outage === null || (batch.submitStartedAt ?? 0) < outage.since) return null;
  const unblocked = isClosedByAnswer(ledger, now) ? {} : { blockedUntil: 0, note: null };
  return { ...asIn(ledgers, batch.account), ...unblocked, outage: null };
}

async function pollFailed(runtime: Runtime, lease: Lease, error: unknown): Promise<void> {
  if (lease.isOver) throw error;
  if (runtime.isStopping) return;
  const { account, batch } = lease;
  const failure = failureOf(account, error, "retrieve");
  tellPolled(runtime, lease, false, null, failure.code);
  if (isMistake(error)) throw error;
  runtime.troubles.add({ error, failure, context: lease.context("retrieve") });
  const told = failure.kind === "rateLimited" ? failure.retryAfterMs : null;
  const wait = Math.max(account.pollMs, batch.pollMs, told ?? 0);
  const lastError = JSON.stringify({ code: failure.code, message: failure.message });
  await lease.end((now) => ({ nextAt: roundUpToInterval(now + wait, account.pollMs), lastError }));
}

/**
 * Sets `lease.seen` from one list call for several batches of an account. `poll` retrieves the
 * batches that it does not find by id: in an account full of other clients' batches that takes
 * fewer calls than the whole list.
 */
export async function listSeen(runtime: Runtime, account: Account, leases: readonly Lease[]): Promise<void> {
  const wanted = new Map(leases.map((lease) => [lease.batch.providerBatchId, lease]));
  const oldest = Math.min(...leases.map(({ batch }) => batch.submitStartedAt ?? batch.createdAt)) - CLOCK_SKEW_MS;
  const needed = Math.ceil(leases.length / account.capabilities.list.pageSize);
  let left = Math.min(leases.length, needed + SPARE_PAGES);
  const { budget, clock } = runtime;
  const until = budget === null ? Number.POSITIVE_INFINITY : clock.monotonic() + budget.leftMs * LIST_SHARE;
  const limitMs = (): number => Math.min(account.requestTimeoutMs, until - clock.monotonic());
  for await (const { batches } of pages(runtime, account, oldest, [runtime.stopping.signal], { limitMs })) {
    for (const seen of batches) {
      const lease = wanted.get(seen.id);
      if (lease === undefined) continue;
      lease.seen = seen;
      wanted.delete(seen.id);
    }
    left -= 1;
    if (wanted.size === 0 || left === 0) return;
  }
}

/**
 * Cancels a batch at the provider when all of its open members are cancelled. Later polls see the
 * result. If the cancel fails, the batch is polled until it ends, and the next step retries the
 * cancel.
 */
export async function cancelBatch(runtime: Runtime, lease: Lease): Promise<void> {
  const { account, batch } = lease;
  try {
    lease.seen = await callFor(runtime, lease, (call) => account.cancel(batch.providerBatchId as string, call));
  } catch (error) {
    if (lease.isOver) throw error;
    if (runtime.isStopping) return;
    const failure = failureOf(account, error, "cancel");
    runtime.troubles.add({ error, failure, context: lease.context("cancel") });
    await poll(runtime, lease);
    return;
  }
  await lease.write((now) => ({ cancelSentAt: now, lastError: null }));
}
