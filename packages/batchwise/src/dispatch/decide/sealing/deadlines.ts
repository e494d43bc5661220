// Decides which requests would come back after their deadlines from the accounts that they wait
// for, and whether a fallback account is there for these. Pure. What an account has taken of late
// tells how long the next batch takes.

import type { Account } from "../../contract/account.ts";
import type { LaneRow, LedgerRow } from "../../contract/rows.ts";
import type { LaneName } from "../../format/encode.ts";
import { ledgerName } from "../batch/life-cycle.ts";
import { outageOn } from "./outage.ts";
import { opennessOf, type Pauses } from "./pauses.ts";
import { fullAccounts, rankAccounts } from "./rank-accounts.ts";
import { DEADLINE_LEAD_MS } from "./thresholds.ts";

/**
 * A request with less time than this never goes to an account of which nobody knows how long it
 * takes, if a fallback account is there: few providers promise any batch within an hour.
 */
export const LEAST_TRIAL_MS = 3_600_000;

/** What to expect of an account. */
export interface Prospect {
  /**
   * When it takes a batch: now or earlier; later, where it is blocked; Infinity where nobody can
   * tell.
   */
  readonly opensAt: number;
  /** How long its batches take. */
  readonly turnaroundMs: number;
  /** False while none of its batches has ended. */
  readonly isKnown: boolean;
}

/** What becomes of the requests of a lane, or of a batch, that have deadlines. */
export interface Outlook {
  /** Those with a deadline before this would be back too late. */
  readonly lateBefore: number;
  /** A fallback account takes them now, and is sooner. */
  readonly isRescued: boolean;
}

/** When the account takes a batch of the lane. */
export function opensAt(
  account: Account,
  lane: Pick<LaneName, "endpoint" | "model">,
  ledgers: ReadonlyMap<string, LedgerRow>,
  pauses: Pauses,
  now: number,
): number {
  const isClosed = opennessOf(pauses, { ...lane, account: account.name }, now) !== "open";
  if (isClosed || fullAccounts([account], lane, ledgers, now).length > 0) return Number.POSITIVE_INFINITY;
  const held = outageOn(ledgers.get(account.name), now)?.holdUntil ?? 0;
  if (rankAccounts([account], lane, ledgers, now).length > 0) return Math.max(now, held);
  const names = [account.name, ledgerName(account.name, account.capabilities.ledgerScope, lane.model)];
  return Math.max(now, held, ...names.map((name) => ledgers.get(name)?.blockedUntil ?? 0));
}

/**
 * `first` have the requests, of which the first deadline is `deadlineAt`; `second` are fallback
 * accounts.
 */
export function outlookOf(
  first: readonly Prospect[],
  second: readonly Prospect[],
  deadlineAt: number,
  now: number,
): Outlook {
  const backAt = (from: number, { opensAt, turnaroundMs }: Prospect): number =>
    from + (opensAt <= now ? turnaroundMs : Math.max(turnaroundMs, DEADLINE_LEAD_MS));
  // One of which nobody can tell when it opens may open any time.
  const isUntold = ({ opensAt }: Prospect): boolean => opensAt === Number.POSITIVE_INFINITY;
  const lateBefore = Math.min(...first.map((one) => backAt(isUntold(one) ? now : one.opensAt, one)));
  // One that opens after the deadline sends nothing.
  const sending = first.filter(({ opensAt }) => opensAt < deadlineAt);
  const expected = Math.min(...sending.map((one) => backAt(one.opensAt, one)), Number.POSITIVE_INFINITY);
  const isRescued = second.some((one) => one.opensAt <= now && now + one.turnaroundMs < expected);
  return { lateBefore, isRescued };
}

/**
 * When a lane closes because nobody knows how long batches take: requests with a deadline wait no
 * longer than half of their time then. Infinity where none has one.
 */
export function halfTime({ oldestAt, deadlineAt }: LaneRow): number {
  if (oldestAt === null || deadlineAt === null) return Number.POSITIVE_INFINITY;
  return oldestAt + (deadlineAt - oldestAt) / 2;
}
