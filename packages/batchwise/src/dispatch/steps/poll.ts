// Looks at what the provider says of running batches: many by one list call, a single one by its id. What it means for
// a batch is decided in sighting.ts. Times of polls are rounded up to the account's own rhythm, so that its batches come
// due together, also in several processes, and one list call answers for all.

import { type Account, hasEnded, type ProviderBatch } from "../contract/account.ts";
import type { BatchChanges, BatchRow, LedgerChanges, LedgerRow } from "../contract/rows.ts";
import type { Plan } from "../decide/after-failure.ts";
import { afterPoll, isFresh } from "../decide/after-poll.ts";
import { CLOCK_SKEW_MS } from "../decide/life-cycle.ts";
import type { Tenure } from "../runtime/lease.ts";
import { callFor, failureOf, readFor } from "../runtime/provider-calls.ts";
import type { Room } from "../runtime/runtime.ts";
import { follow } from "./apply-plan.ts";
import { orElsewhere } from "./competing-batches.ts";
import { pages } from "./list-batches.ts";
import { giveBack } from "./undo-adoption.ts";

const LEARNED_FOR_MS = 24 * 3_600_000;
/** Pages of a list read beyond those that the wanted batches alone would fill. */
const SPARE_PAGES = 3;

/** Rounded up to the next beat of `rhythmMs`. */
export function onBeat(at: number, rhythmMs: number): number {
  return Math.ceil(at / rhythmMs) * rhythmMs;
}

/** One batch: by what a list call saw of it, else by its id. Ends the tenure unless results can be collected. */
export async function poll(room: Room, tenure: Tenure): Promise<void> {
  const { account, batch } = tenure;
  const id = batch.providerBatchId;
  if (id === null) throw new Error(`Batch ${batch.key} is ${batch.state} without a provider's id.`);
  if (tenure.seen === null) {
    try {
      tenure.seen = await readFor(room, tenure, (call) => account.retrieve(id, call));
    } catch (error) {
      await pollFailed(room, tenure, error);
      return;
    }
  }
  const { seen } = tenure;
  const needsLedger = seen?.state === "failed" || (batch.state === "submitted" && seen?.state !== "validating");
  const ledgers = needsLedger ? await room.ledgers() : new Map<string, LedgerRow>();
  const ledger = ledgers.get(batch.ledger) ?? null;
  const now = room.clock.now();
  const plan = orElsewhere(room, batch, afterPoll(batch, seen, account, ledger, now), ledgers);
  if (seen === null && !isFresh(batch, account, now)) {
    const end = plan.state === "quarantined" ? "It is put aside." : "It is looked for again.";
    room.report(new Error(`The provider does not know ${id}, which is batch ${batch.key}, any more. ${end}`));
  }
  if (!batch.verified && provesNothing(seen, plan)) {
    await giveBack(room, tenure);
    return;
  }
  const isWaiting = plan.state === "submitted" || plan.state === "running";
  const nextAt = isWaiting ? onBeat(plan.nextAt, account.pollMs) : plan.nextAt;
  if (isWaiting) tenure.seen = null;
  await follow(tenure, { ...plan, nextAt }, seenChanges(batch, seen, plan, ledger, now));
}

/** A guess that is gone, or ended without a result that would name its owner, may be a stranger's as well as ours. */
function provesNothing(seen: ProviderBatch | null, plan: Plan): boolean {
  return seen === null ? plan.state === "quarantined" : hasEnded(seen) && seen.resultRefs.length === 0;
}

function seenChanges(
  batch: BatchRow,
  seen: ProviderBatch | null,
  plan: Plan,
  ledger: LedgerRow | null,
  now: number,
): BatchChanges {
  const told =
    seen === null || plan.forget ? {} : { providerState: seen.rawState, expiresAt: seen.expiresAt ?? batch.expiresAt };
  const hasEnded = plan.state === "collecting" && !plan.forget;
  const accepted = plan.state === "running" && batch.state === "submitted" ? acceptedOn(ledger, now) : null;
  return {
    ...told,
    ...(hasEnded ? { releaseAt: now } : {}),
    ...(accepted === null ? {} : { ledgers: [accepted] }),
  };
}

/** A batch that runs proves that the limit has room again; what was learned of it is doubted after a day. */
function acceptedOn(ledger: LedgerRow | null, now: number): LedgerChanges | null {
  if (ledger === null) return null;
  const isOld = ledger.learnedAt !== null && ledger.learnedAt + LEARNED_FOR_MS <= now;
  if (ledger.strikes === 0 && !isOld) return null;
  const unblocked = ledger.strikes === 0 ? {} : { strikes: 0, blockedUntil: 0 };
  return { name: ledger.name, ...unblocked, ...(isOld ? { learnedTokens: null, learnedAt: null } : {}) };
}

async function pollFailed(room: Room, tenure: Tenure, error: unknown): Promise<void> {
  if (tenure.isOver) throw error;
  if (room.isStopping) return;
  room.report(error);
  const { account, batch } = tenure;
  const failure = failureOf(account, error, "retrieve");
  const told = failure.kind === "rateLimited" ? failure.retryAfterMs : null;
  const wait = Math.max(account.pollMs, batch.pollMs, told ?? 0);
  const lastError = JSON.stringify({ code: failure.code, message: failure.message });
  await tenure.end((now) => ({ nextAt: onBeat(now + wait, account.pollMs), lastError }));
}

/**
 * Fills in what a list call sees of these batches of one account. What it does not find is left to `poll`, which asks
 * for each by its id: in an account full of strangers' batches that takes fewer calls than reading the whole list.
 */
export async function listSeen(room: Room, account: Account, tenures: readonly Tenure[]): Promise<void> {
  const wanted = new Map(tenures.map((tenure) => [tenure.batch.providerBatchId, tenure]));
  const oldest = Math.min(...tenures.map(({ batch }) => batch.submitStartedAt ?? batch.createdAt)) - CLOCK_SKEW_MS;
  const needed = Math.ceil(tenures.length / account.capabilities.list.pageSize);
  let left = Math.min(tenures.length, needed + SPARE_PAGES);
  for await (const batches of pages(room, account, oldest, [room.stopping.signal])) {
    for (const seen of batches) {
      const tenure = wanted.get(seen.id);
      if (tenure === undefined) continue;
      tenure.seen = seen;
      wanted.delete(seen.id);
    }
    left -= 1;
    if (wanted.size === 0 || left === 0) return;
  }
}

/** Asks the provider to stop a batch that nobody wants any more. The polls that follow see what came of it. */
export async function cancelBatch(room: Room, tenure: Tenure): Promise<void> {
  const { account, batch } = tenure;
  try {
    tenure.seen = await callFor(room, tenure, (call) => account.cancel(batch.providerBatchId as string, call));
  } catch (error) {
    await pollFailed(room, tenure, error);
    return;
  }
  await tenure.write((now) => ({ cancelSentAt: now }));
}
