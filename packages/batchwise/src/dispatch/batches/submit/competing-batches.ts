// Reads what the rest of the store says about a batch that cannot be sent: whether its account
// accepts other batches meanwhile, and whether another account is free for its requests. It writes
// nothing: after-failure.ts decides, the caller writes.

import { isClosedByAnswer, outageOn } from "../../accounts/outage.ts";
import { opennessOf } from "../../accounts/pauses.ts";
import { rankAccounts, servingOf } from "../../accounts/rank-accounts.ts";
import type { Failure } from "../../contract/failures.ts";
import type { LedgerRow } from "../../contract/store/ledger-rows.ts";
import type { BatchRow, HistoryRow } from "../../contract/store/rows.ts";
import { parseLane } from "../../format/encode.ts";
import { storedCode } from "../../format/stored-code.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { type Evidence, NO_EVIDENCE } from "../batch-case.ts";
import { CLOCK_SKEW_MS } from "../life-cycle.ts";
import { partOf } from "../parts.ts";
import type { Plan } from "../plan.ts";
import { isWholeFailure } from "./after-failure.ts";
import { isSuspect, type Tried } from "./retry-policy.ts";

/** How many of the newest batches are searched for one that was accepted. */
const LOOKED_AT = 100;
/** The halves of a batch are sent within this time. */
const SENT_TOGETHER_MS = 60_000;
/**
 * How long a batch waits for its own account, which is full or in an outage, before another one
 * gets its requests.
 */
const PATIENCE_MS = 30 * 60_000;
const URGENT_PATIENCE_MS = 60_000;
/**
 * How long requests avoid a fallback account that refused an urgent batch, or any account that
 * could not be reached.
 */
const REFUSED_MS = 5 * 60_000;
/** Tries in a row without a connection, after which another account gets the requests. */
const UNREACHED_TRIES = 2;

/**
 * True when the account accepted another batch of the model since the first of these tries. Reads
 * only once that matters.
 */
export async function othersAccepted(runtime: Runtime, batch: BatchRow, tried: Tried): Promise<boolean> {
  const { triesSince } = tried;
  if (triesSince === null || !isSuspect(tried)) return false;
  const { endpoint, model } = parseLane(batch.lane);
  const rows = await runtime.store.batches({ account: batch.account, limit: LOOKED_AT });
  return rows.some((other) => {
    const lane = parseLane(other.lane);
    if (other.key === batch.key || lane.endpoint !== endpoint || lane.model !== model) return false;
    return other.providerBatchId !== null && (other.submitStartedAt ?? 0) >= triesSince - CLOCK_SKEW_MS;
  });
}

/**
 * Collects the evidence on whether the batch or its account is to blame. Makes up to three reads,
 * only after a refusal as a whole. `createdAt`: the provider's time of creation; for a repeated
 * create it may be long before the last one.
 */
export async function evidenceOn(
  runtime: Runtime,
  batch: BatchRow,
  failure: Failure,
  ledgers: ReadonlyMap<string, LedgerRow>,
  createdAt: number = Number.POSITIVE_INFINITY,
): Promise<Evidence> {
  if (!isWholeFailure(batch, failure)) return NO_EVIDENCE;
  const now = runtime.clock.now();
  const account = ledgers.get(batch.account);
  const since = (await splitAt(runtime, batch, failure.code)) ?? batch.lastRefusedAt;
  const others = since === null ? [] : await runtime.store.batches({ account: batch.account, limit: LOOKED_AT });
  // A batch sent much later proves nothing: the account may have recovered in between.
  const until = Math.min(batch.submitStartedAt ?? now, createdAt) + SENT_TOGETHER_MS;
  const taken = others.filter((other) => other.key !== batch.key && wasTaken(other, since ?? now, until));
  const { endpoint, model } = parseLane(batch.lane);
  const laneTakesOthers = taken.some((other) => {
    const lane = parseLane(other.lane);
    return lane.endpoint === endpoint && lane.model === model;
  });
  const outage = outageOn(account, now);
  const pausedUntil = account?.blockedUntil ?? 0;
  return { laneTakesOthers, accountTakesOthers: taken.length > 0, outage, pausedUntil };
}

/** True if the batch was sent between these times and the provider has started it. */
function wasTaken(other: BatchRow, since: number, until: number): boolean {
  const { state, providerBatchId, verified, submitStartedAt } = other;
  const at = submitStartedAt ?? 0;
  if (providerBatchId === null || !verified || at < since || at > until) return false;
  return state === "running" || state === "collecting" || state === "done";
}

/**
 * The time when the batch was divided that this one is a part of, if the same account refused it
 * with the same code; else null. The history of a member holds that code.
 */
async function splitAt({ store }: Runtime, batch: BatchRow, code: string): Promise<number | null> {
  const part = partOf(batch);
  if (part === null) return null;
  const [member] = await store.requests({ batchKey: batch.key, fromOrd: 0, limit: 1, history: true });
  const isSame = ({ batchKey, code: earlier }: HistoryRow): boolean =>
    batchKey === part.whole && earlier === storedCode(code);
  if (member?.history?.some(isSame) !== true) return null;
  const [whole] = await store.batches({ keys: [part.whole], limit: 1 });
  return whole?.account === batch.account ? whole.splitAt : null;
}

/**
 * True when another account is free, and the batch has waited long enough for its own. An account
 * that takes nothing, for its key, its money or a person's pause, is not waited for.
 */
export function mayChangeAccount(runtime: Runtime, batch: BatchRow, ledgers: ReadonlyMap<string, LedgerRow>): boolean {
  const now = runtime.clock.now();
  const { accounts } = runtime.lastPauses;
  const isClosed = accounts.has(batch.account) || isClosedByAnswer(ledgers.get(batch.account), now);
  if (!(isClosed && batch.wholeFailures === 0) && isTooYoung(runtime, batch)) return false;
  return isOtherFree(runtime, batch, ledgers);
}

function isOtherFree(runtime: Runtime, batch: BatchRow, ledgers: ReadonlyMap<string, LedgerRow>): boolean {
  const now = runtime.clock.now();
  const lane = parseLane(batch.lane);
  const { first, second } = servingOf(runtime.accounts, lane);
  const others = [...first, ...(lane.urgent ? second : [])].filter(({ name }) => {
    if (name === batch.account || runtime.troubles.isAvoided(name)) return false;
    // An account whose pause ended recently does not count as free: two closed accounts would
    // exchange the requests endlessly.
    if (now - (ledgers.get(name)?.blockedUntil ?? 0) < PATIENCE_MS) return false;
    return opennessOf(runtime.lastPauses, { ...lane, account: name }, now) === "open";
  });
  // An account with strikes would only send them back: when all are full, waiting is better.
  const free = rankAccounts(others, lane, ledgers, now).filter(({ isFull }) => !isFull);
  return free.some(({ ledger }) => (ledgers.get(ledger)?.strikes ?? 0) === 0);
}

/**
 * Returns the plan, or a plan that requeues the requests if the given one only waits for its
 * account while another is free. `isUnreached`: no connection to the account was made, so the batch
 * is not to blame.
 */
export function preferFreeAccount(
  runtime: Runtime,
  batch: BatchRow,
  plan: Plan,
  ledgers: ReadonlyMap<string, LedgerRow>,
  isUnreached = false,
): Plan {
  // The provider may have results of it.
  if (batch.providerBatchId !== null && !plan.forget) return plan;
  const isUrgent = isUrgentAtFallback(runtime, batch);
  const waits = plan.state === "waiting_capacity" || plan.pauseAccountUntil !== null;
  const isRefused = isUrgent && (plan.state === "sealed" || plan.disposal?.kind === "canary");
  const isGone = isUnreached && plan.state === "sealed" && (plan.figures.tries ?? 0) >= UNREACHED_TRIES;
  if (!(waits || isRefused || isGone)) return plan;
  const isClosed = isGone || isClosedBy(plan, batch);
  const after = { ...batch, wholeFailures: plan.figures.wholeFailures ?? batch.wholeFailures };
  const mayGo = isClosed ? isOtherFree(runtime, batch, ledgers) : mayChangeAccount(runtime, after, ledgers);
  if (!mayGo) return plan;
  const code = plan.lastError?.code ?? "waiting";
  const now = runtime.clock.now();
  const disposal = { kind: "requeue", code } as const;
  // Otherwise the same account would get them back at once. Only this process avoids it, since its
  // own network may be at fault.
  const avoidAccountMs = isGone ? REFUSED_MS : null;
  const aloneUntil = plan.disposal === null ? plan.nextAt : now + REFUSED_MS;
  const pauseAccountUntil = plan.pauseAccountUntil ?? (isRefused ? aloneUntil : null);
  return { ...plan, state: "collecting", nextAt: now, disposal, pauseAccountUntil, avoidAccountMs };
}

/**
 * True for the refusal of a call that blames the account. A batch that was accepted and failed in
 * such words may be to blame itself, and would pause one account after the other.
 */
function isClosedBy({ pauseAccountUntil, outage, figures }: Plan, { wholeFailures }: BatchRow): boolean {
  return pauseAccountUntil !== null && outage === null && (figures.wholeFailures ?? wholeFailures) === 0;
}

/**
 * True for urgent requests at a fallback account. They never wait there: they move to another
 * account.
 */
export function isUrgentAtFallback(runtime: Runtime, batch: Pick<BatchRow, "lane" | "account">): boolean {
  if (!parseLane(batch.lane).urgent) return false;
  return runtime.options.accounts.get(batch.account)?.capabilities.fallback === true;
}

function isTooYoung(runtime: Runtime, batch: BatchRow): boolean {
  const patienceMs = parseLane(batch.lane).urgent ? URGENT_PATIENCE_MS : PATIENCE_MS;
  return !isUrgentAtFallback(runtime, batch) && runtime.clock.now() - batch.createdAt < patienceMs;
}
