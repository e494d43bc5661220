// Decides which requests would return after their deadlines from their accounts, and whether a
// fallback account can take them. Recent batches of an account predict the next one's time. Pure.

import { ledgerName } from "../batches/life-cycle.ts";
import { DEADLINE_LEAD_MS } from "../batches/seal/thresholds.ts";
import type { Account } from "../contract/account.ts";
import type { LedgerRow } from "../contract/store/ledger-rows.ts";
import type { LaneRow } from "../contract/store/probe.ts";
import type { LaneName } from "../format/encode.ts";
import { outageOn } from "./outage.ts";
import { rankAccounts } from "./rank-accounts.ts";

/**
 * Requests with less time never go to an account with an unknown batch time if a fallback account
 * is available: few providers promise any batch within an hour.
 */
export const LEAST_TRIAL_MS = 3_600_000;

/** Predictions for an account. */
export interface Prospect {
  /** When it accepts a batch: now or earlier; later, if it is blocked; Infinity if unknown. */
  readonly opensAt: number;
  /** Time of a batch, in ms. */
  readonly turnaroundMs: number;
  /** False until one of its batches has ended. */
  readonly isKnown: boolean;
  /**
   * Most requests that it takes, by its pauses: Infinity, those that its next probe of the lane
   * still lacks, or 0.
   */
  readonly takes: number;
}

/** The decision for requests with deadlines, of a lane or a batch. */
export interface Outlook {
  /** Requests with an earlier deadline would return too late. */
  readonly lateBefore: number;
  /** How many of them a fallback account takes now that is sooner; 0 if there is none. */
  readonly rescued: number;
}

/** When the account accepts a batch of the lane, by its ledgers. */
export function opensAt(
  account: Account,
  lane: Pick<LaneName, "endpoint" | "model">,
  ledgers: ReadonlyMap<string, LedgerRow>,
  now: number,
): number {
  const [choice] = rankAccounts([account], lane, ledgers, now);
  if (choice?.isFull) return Number.POSITIVE_INFINITY;
  const held = outageOn(ledgers.get(account.name), now)?.holdUntil ?? 0;
  if (choice !== undefined) return Math.max(now, held);
  const names = [account.name, ledgerName(account.name, account.capabilities.ledgerScope, lane.model)];
  return Math.max(now, held, ...names.map((name) => ledgers.get(name)?.blockedUntil ?? 0));
}

/**
 * `first`: the accounts of the requests, whose first deadline is `deadlineAt`. `second`: fallback
 * accounts. One that takes only a probe may fail it, so it counts only if no other sends in time
 * and none is full, which may change at any time; in the last minute, full ones do not matter.
 */
export function outlookOf(
  first: readonly Prospect[],
  second: readonly Prospect[],
  deadlineAt: number,
  now: number,
): Outlook {
  const backAt = (from: number, { opensAt, turnaroundMs }: Prospect): number =>
    from + (opensAt <= now ? turnaroundMs : Math.max(turnaroundMs, DEADLINE_LEAD_MS));
  // Unknown opening time: assume now.
  const isUntold = ({ opensAt }: Prospect): boolean => opensAt === Number.POSITIVE_INFINITY;
  const lateBefore = Math.min(...first.map((one) => backAt(isUntold(one) ? now : one.opensAt, one)));
  // An account that opens after the deadline does not count.
  const sending = first.filter(({ opensAt }) => opensAt < deadlineAt);
  const expected = Math.min(...sending.map((one) => backAt(one.opensAt, one)), Number.POSITIVE_INFINITY);
  const isLastMinute = deadlineAt - DEADLINE_LEAD_MS <= now;
  const mayProbe = expected === Number.POSITIVE_INFINITY && (isLastMinute || !first.some(isFull));
  const isSooner = (one: Prospect): boolean => now + one.turnaroundMs < expected && (mayProbe || takesAll(one));
  return { lateBefore, rescued: mostTaken(second.filter(isSooner), now) };
}

/** Only its ledgers hold it, and they do not say until when. */
function isFull(one: Prospect): boolean {
  return takesAll(one) && one.opensAt === Number.POSITIVE_INFINITY;
}

function takesAll({ takes }: Prospect): boolean {
  return takes === Number.POSITIVE_INFINITY;
}

/** Most requests that one of the accounts takes now. */
export function mostTaken(accounts: readonly Prospect[], now: number): number {
  return Math.max(0, ...accounts.map(({ opensAt, takes }) => (opensAt <= now ? takes : 0)));
}

/**
 * When a lane closes if batch times are unknown: a request with a deadline waits at most half of
 * its time. Infinity if none has one.
 */
export function halfTime({ oldestAt, deadlineAt }: LaneRow): number {
  if (oldestAt === null || deadlineAt === null) return Number.POSITIVE_INFINITY;
  return oldestAt + (deadlineAt - oldestAt) / 2;
}
