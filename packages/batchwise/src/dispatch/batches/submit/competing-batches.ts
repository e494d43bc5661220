// Reads what the rest of the store says about a batch that cannot be sent: whether its account
// accepts other batches meanwhile, and whether another account is free for its requests. It writes
// nothing; decide/ decides, the caller writes.

import { outageOn } from "../../accounts/outage.ts";
import { opennessOf } from "../../accounts/pauses.ts";
import { rankAccounts, servingOf } from "../../accounts/rank-accounts.ts";
import type { Failure } from "../../contract/account.ts";
import type { BatchRow, LedgerRow } from "../../contract/store/rows.ts";
import { parseLane } from "../../format/encode.ts";
import { parseDisposal } from "../../format/payload.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { type Evidence, NO_EVIDENCE } from "../batch-case.ts";
import { CLOCK_SKEW_MS } from "../life-cycle.ts";
import { type Plan, wholeOf } from "../plan.ts";
import { isWholeFailure } from "./after-failure.ts";
import { type FailureStreak, isSuspect } from "./retry-policy.ts";

/** How many of the newest batches are searched for one that was accepted. */
const LOOKED_AT = 100;
/** The halves of a batch are sent within this time. */
const SENT_TOGETHER_MS = 60_000;
/**
 * How long a batch waits for its own account before another one gets its requests; of urgent ones.
 */
const PATIENCE_MS = 30 * 60_000;
const URGENT_PATIENCE_MS = 60_000;
/** How long a fallback account is left alone that has refused an urgent batch. */
const REFUSED_MS = 5 * 60_000;

/**
 * True when the account accepted another batch of the model since `streak` began. Reads only once
 * that matters.
 */
export async function othersAccepted(
  runtime: Runtime,
  batch: BatchRow,
  streak: FailureStreak | null,
): Promise<boolean> {
  if (streak === null || !isSuspect(streak)) return false;
  const { endpoint, model } = parseLane(batch.lane);
  const rows = await runtime.store.batches({ account: batch.account, limit: LOOKED_AT });
  return rows.some((other) => {
    const lane = parseLane(other.lane);
    if (other.key === batch.key || lane.endpoint !== endpoint || lane.model !== model) return false;
    return other.providerBatchId !== null && (other.submitStartedAt ?? 0) >= streak.since - CLOCK_SKEW_MS;
  });
}

/**
 * Tells a refused batch from a refusing account. Costs two reads, and only where a batch was
 * refused as a whole. `createdAt`: by the provider, which may be long before the last create, where
 * that was a repeated one.
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
  // One sent well after this batch may have met an account that had got well in between.
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

/** True where the provider took the batch to work, and it was sent between these times. */
function wasTaken(other: BatchRow, since: number, until: number): boolean {
  const { state, providerBatchId, verified, submitStartedAt } = other;
  const at = submitStartedAt ?? 0;
  if (providerBatchId === null || !verified || at < since || at > until) return false;
  return state === "running" || state === "collecting" || state === "done";
}

/**
 * When the batch that this one is a part of was refused by the same account in the same words; null
 * if it was not.
 */
async function splitAt(runtime: Runtime, batch: BatchRow, code: string): Promise<number | null> {
  const { group } = parseLane(batch.lane);
  if (group === "") return null;
  const [whole] = await runtime.store.batches({ keys: [wholeOf(group)], limit: 1 });
  if (whole?.account !== batch.account || whole.disposal === null) return null;
  const disposal = parseDisposal(whole.disposal);
  return "error" in disposal && disposal.error.code === code ? whole.splitAt : null;
}

/** True when the batch has waited long enough for its account, and another account is free. */
export function mayChangeAccount(runtime: Runtime, batch: BatchRow, ledgers: ReadonlyMap<string, LedgerRow>): boolean {
  const now = runtime.clock.now();
  if (now - batch.createdAt < patienceOf(runtime, batch)) return false;
  const lane = parseLane(batch.lane);
  const { first, second } = servingOf(runtime.accounts, lane);
  const others = [...first, ...(lane.urgent ? second : [])].filter(
    ({ name }) => name !== batch.account && opennessOf(runtime.lastPauses, { ...lane, account: name }, now) === "open",
  );
  // An account with strikes would only send them back: when all are full, waiting is better.
  return rankAccounts(others, lane, ledgers, now).some(({ ledger }) => (ledgers.get(ledger)?.strikes ?? 0) === 0);
}

/**
 * The plan; or, when it only waits for its account and another is free, one that requeues the
 * requests.
 */
export function preferFreeAccount(
  runtime: Runtime,
  batch: BatchRow,
  plan: Plan,
  ledgers: ReadonlyMap<string, LedgerRow>,
): Plan {
  const isUrgent = isUrgentAtFallback(runtime, batch);
  const waits = plan.state === "waiting_capacity" || plan.pauseAccountUntil !== null;
  const isRefused = isUrgent && (plan.state === "sealed" || plan.disposal?.kind === "canary");
  if (!(waits || isRefused) || !mayChangeAccount(runtime, batch, ledgers)) return plan;
  const code = plan.lastError?.code ?? "waiting";
  const now = runtime.clock.now();
  const disposal = { kind: "requeue", code } as const;
  // Or it would get them back at once.
  const aloneUntil = plan.disposal === null ? plan.nextAt : now + REFUSED_MS;
  const pauseAccountUntil = plan.pauseAccountUntil ?? (isRefused ? aloneUntil : null);
  return { ...plan, state: "collecting", nextAt: now, disposal, pauseAccountUntil };
}

/**
 * True for urgent requests at a fallback account: what makes these wait there sends them elsewhere.
 */
export function isUrgentAtFallback(runtime: Runtime, batch: Pick<BatchRow, "lane" | "account">): boolean {
  if (!parseLane(batch.lane).urgent) return false;
  return runtime.options.accounts.get(batch.account)?.capabilities.fallback === true;
}

function patienceOf(runtime: Runtime, batch: BatchRow): number {
  if (isUrgentAtFallback(runtime, batch)) return 0;
  return parseLane(batch.lane).urgent ? URGENT_PATIENCE_MS : PATIENCE_MS;
}
