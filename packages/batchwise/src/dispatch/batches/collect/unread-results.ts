// Decides, after a pass over the results of a batch, whether members without a line are missing or
// only unread. Pure. A provider that counts more requests as run than its results have lines for
// has not shown them all: a file that is not named yet, a download that ended cleanly but short.
// The same holds where a batch has ended and shows nothing at all, not even counts. Members count
// as missing once several reads agree over an hour.

import type { ProviderBatch } from "../../contract/account.ts";
import type { BatchRow } from "../../contract/store/rows.ts";

/** The reads so far that found fewer lines than the provider counts; kept in `batch.shortReads`. */
export interface ShortReads {
  /** The most lines of requests that ran that one of them has found. */
  readonly lines: number;
  /** How many have found so many, and when the first of these was. */
  readonly agreed: number;
  readonly since: number;
  /** All of them in a row that found no more than was known: the pauses grow with these. */
  readonly tries: number;
}

/** What one pass over the results found. */
export interface ResultsRead {
  /** Requests that have run by the provider's own count; null: it gives none. */
  readonly counted: number | null;
  /** Lines that the results must have, as far as anything tells; see `linesDue`. */
  readonly due: number | null;
  /** Lines of this batch, each member's once, that say that the request has run. */
  readonly lines: number;
  /** Members without a decision after it. */
  readonly remaining: number;
}

export type Reading =
  /**
   * All that is counted has been read: members without a line have none. `agreed`: the lines are
   * fewer, and stay so.
   */
  | { readonly kind: "whole" }
  | { readonly kind: "agreed" }
  /**
   * Read again after a while. `isStuck`: so many reads have not agreed that a person has to look.
   */
  | { readonly kind: "unread"; readonly reads: ShortReads; readonly waitMs: number; readonly isStuck: boolean };

const AGREEING_READS = 5;
const SPREAD_MS = 3_600_000;
const FIRST_PAUSE_MS = 5_000;
const PAUSE_GROWTH = 4;
const LONGEST_PAUSE_MS = 40 * 60_000;
/**
 * Reads without progress after which the batch is put aside; reached only where they keep
 * differing.
 */
const MOST_TRIES = 20;

export function afterReading(read: ResultsRead, before: ShortReads | null, now: number): Reading {
  const { due, lines, remaining } = read;
  if (remaining === 0 || due === null || lines >= due) return { kind: "whole" };
  const reads = extended(lines, before, now);
  const isSame = lines === reads.lines;
  if (isSame && reads.agreed >= AGREEING_READS && now - reads.since >= SPREAD_MS) return { kind: "agreed" };
  const waitMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * PAUSE_GROWTH ** Math.min(reads.tries - 1, MOST_TRIES));
  return { kind: "unread", reads, waitMs, isStuck: reads.tries >= MOST_TRIES };
}

/**
 * Lines that the results of a batch that has ended must have; null: nothing tells. `found`: the
 * lines of its members that were read, whatever they say. Where there is none, a batch that is
 * `done` has not shown its results yet, whatever the provider counts. One that was cut short may
 * have run nothing, so it counts as unread only while there are no counts either, and unless every
 * member is to be cancelled. One that is `done` and counts fewer requests than it was sent is still
 * being read by the provider: all are due.
 */
export function linesDue(
  seen: Pick<ProviderBatch, "state" | "total">,
  counted: number | null,
  found: number,
  { requests, remaining, cancelRequested }: Pick<BatchRow, "requests" | "remaining" | "cancelRequested">,
): number | null {
  if (seen.state === "done" && seen.total !== null && seen.total < requests) return requests;
  if (found > 0) return counted;
  const showsNothing = seen.total === null && (counted ?? 0) === 0 && cancelRequested < remaining;
  return seen.state === "done" || showsNothing ? Math.max(counted ?? 0, remaining) : counted;
}

/** A read with more lines begins anew; one with fewer is plainly cut, and agrees with nothing. */
function extended(lines: number, before: ShortReads | null, now: number): ShortReads {
  if (before === null || lines > before.lines) return { lines, agreed: 1, since: now, tries: 1 };
  const agreed = before.agreed + (lines === before.lines ? 1 : 0);
  return { ...before, agreed, tries: before.tries + 1 };
}
