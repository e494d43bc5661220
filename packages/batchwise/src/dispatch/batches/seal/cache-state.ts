// The state of requests that wait until the first requests have cached their prefixes. All
// processes share it in a mark of the store: absent while a slot fills, `first` while the first
// requests run, `next` while replacements of failed ones run, `open` while the cache lives. Pure.

import type { MarkRow } from "../../contract/store/ledger-rows.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import { storedMessage } from "../../format/stored-code.ts";
import type { CacheLane, CacheRole } from "./cache-lanes.ts";
import { DEADLINE_LEAD_MS } from "./thresholds.ts";

const MARK = "cache ";
/** How long a one-hour block is cached, and the longest that requests wait for it, in ms. */
export const CACHED_MS = 3_600_000;
/** A prefix that fewer requests share is not sent ahead. */
export const LEAST_SHARED = 8;
/** Number of batches of first requests that the others wait for. */
const MOST_AWAITED = 100;

export interface Priming {
  readonly phase: "first" | "next" | "open";
  /** Keys of the batches of this phase, each written before its batch is sealed. */
  readonly batches: readonly string[];
  /** The account whose cache has the prefixes; "" until it is known. */
  readonly account: string;
  /** When the others began to wait. */
  readonly since: number;
  /** End of the wait, or of the cache's life. */
  readonly until: number;
}

/** By name of the mark. */
export type Primings = ReadonlyMap<string, Priming>;

export function primingMark({ base, slot }: Pick<CacheLane, "base" | "slot">): string {
  return storedMessage(`${MARK}${slot} ${base}`);
}

export function primingsOf(marks: readonly MarkRow[]): Primings {
  const own = marks.filter(({ name }) => name.startsWith(MARK));
  return new Map(own.map(({ name, value }) => [name, JSON.parse(value) as Priming]));
}

/** The mark's value; null for a slot that fills. */
export function primingValue(priming: Priming | null): string | null {
  return priming === null ? null : JSON.stringify(priming);
}

/** A clock that was ahead may have written a time that is too late. */
export function isOver({ until }: Priming, now: number): boolean {
  return until <= now || until > now + 2 * CACHED_MS;
}

/**
 * What a lane of the slot does: `fills` until the slot is due, `sends` its requests as first ones,
 * `waits` for those, or is `open` and goes at once.
 */
export type CacheStep = "fills" | "sends" | "waits" | "open";

export function stepOf(priming: Priming | null, role: CacheRole, lane: LaneRow | null, now: number): CacheStep {
  if (role === "late") return "open";
  if (priming === null) return "fills";
  if (priming.phase === "open" || isOver(priming, now)) return "open";
  if (role !== "rest" && isNewer(lane, priming.since)) return "waits";
  if (role === "first" && priming.phase === "next") return "open";
  if (role !== priming.phase) return "waits";
  return priming.batches.length < MOST_AWAITED ? "sends" : "waits";
}

/** First requests that come later would make the others wait ever longer. */
function isNewer(lane: LaneRow | null, time: number): boolean {
  return lane !== null && lane.oldestAt !== null && lane.oldestAt > time;
}

/** The slot with one more batch of first requests, to be written before that is sealed. */
export function withBatch(priming: Priming | null, key: string, now: number): Priming {
  const begun = priming ?? { phase: "first", batches: [], account: "", since: now, until: now + CACHED_MS };
  return { ...begun, batches: [...begun.batches, key] };
}

/** The waiting requests of a slot, by role. */
export type SlotRows = Partial<Record<CacheRole, LaneRow>>;

/**
 * The requests to send ahead; undefined if that is not worth a wait. Those of `next` are sent if
 * the first ones were cancelled or have expired.
 */
export function firstOf({ first, next, rest }: SlotRows): LaneRow | undefined {
  const ready = [first, next, rest].map((row) => row?.ready ?? 0);
  if (ready.reduce((sum, some) => sum + some, 0) < LEAST_SHARED) return undefined;
  return [first, next].find((row) => (row?.ready ?? 0) > 0);
}

/** The batches of the present phase, as far as they are known. */
export interface SentFirst {
  readonly haveEnded: boolean;
  /** Each of their requests has succeeded. */
  readonly haveSucceeded: boolean;
  /** An account that ran one of them; "" for none. */
  readonly account: string;
}

/** True while more first requests of the phase are to be sent: nothing else is decided then. */
export function isSending(priming: Priming, rows: SlotRows, now: number): boolean {
  const { phase } = priming;
  if (phase === "open" || isOver(priming, now)) return false;
  const row = rows[phase] ?? null;
  return row !== null && row.ready > 0 && stepOf(priming, phase, row, now) === "sends";
}

/** True if requests are there to go in place of first ones that have failed. */
export function hasNext({ phase }: Priming, { next }: SlotRows): boolean {
  return phase === "first" && (next?.ready ?? 0) > 0;
}

/** The slot's next state: the same object if it does not change, null if it fills again. */
export function afterLook(priming: Priming, rows: SlotRows, sent: SentFirst, now: number): Priming | null {
  const { phase } = priming;
  if (phase === "open") {
    const openedAt = priming.until - CACHED_MS;
    const isLeft = [rows.first, rows.next, rows.rest].some((row) => row !== undefined && !isNewer(row, openedAt));
    return isLeft ? priming : null;
  }
  if (isSending(priming, rows, now) || (!isOver(priming, now) && !sent.haveEnded)) return priming;
  const account = sent.account === "" ? priming.account : sent.account;
  const isReplaced = !sent.haveSucceeded && hasNext(priming, rows);
  if (isReplaced && !isOver(priming, now)) return { ...priming, phase: "next", batches: [], account };
  return { phase: "open", batches: [], account, since: priming.since, until: now + CACHED_MS };
}

/**
 * Requests with an earlier deadline go without the cache: half of their time has passed, or only
 * the last minute is left.
 */
export function lateBefore({ since }: Priming, now: number): number {
  return now + Math.max(now - since, DEADLINE_LEAD_MS) + 1;
}

/** When a waiting lane must be looked at again. */
export function heldUntil({ since, until }: Priming, deadlineAt: number | null): number {
  if (deadlineAt === null) return until;
  return Math.min(until, since + (deadlineAt - since) / 2, deadlineAt - DEADLINE_LEAD_MS);
}
