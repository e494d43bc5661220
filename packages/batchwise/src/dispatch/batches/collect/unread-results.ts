// Decides, after a pass over the results of a batch, whether members without a line are missing or
// only unread. Pure. A provider that counts more requests as run than its results have lines for
// has not shown them all: a file that is not named yet, a download that ended cleanly but short.
// The same holds where a batch has ended and shows nothing at all, not even counts. Members count
// as missing once several reads agree over an hour.

import type { ProviderBatch } from "../../contract/account.ts";
import type { BatchRow } from "../../contract/store/rows.ts";

/** The reads so far that found fewer lines than the provider counts; kept in `batch.shortReads`. */
export interface ShortReads {
  /** Largest number of lines of executed requests that a read found. */
  readonly lines: number;
  /** Reads that found this number, and the time of the first. */
  readonly agreed: number;
  readonly since: number;
  /** Reads in a row without progress; pauses grow with it. */
  readonly tries: number;
}

/** What one pass over the results found. */
export interface ResultsRead {
  /** Requests that have run by the provider's own count; null: it gives none. */
  readonly counted: number | null;
  /** Minimum lines in the results, by `linesDue`; null if unknown. */
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
   * Read again after `waitMs`. `isStuck`: too many reads have differed, so an operator has to look.
   */
  | { readonly kind: "unread"; readonly reads: ShortReads; readonly waitMs: number; readonly isStuck: boolean };

const AGREEING_READS = 5;
const SPREAD_MS = 3_600_000;
const FIRST_PAUSE_MS = 5_000;
const PAUSE_GROWTH = 4;
const LONGEST_PAUSE_MS = 40 * 60_000;
/**
 * Reads without progress after which the batch is quarantined; reached only if they keep differing.
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
 * Minimum lines in the results of an ended batch; null if unknown. `found`: the number of lines of
 * its members that were read, with any content. Without any line, a `done` batch has not published
 * its results yet. A cut-short batch may have run nothing: it is unread only without counts, and
 * not if every member has a pending cancel. If a `done` batch counts fewer requests than it was
 * sent, the provider is still reading it: all lines are due.
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

/**
 * A read with more lines starts the count again; a read with fewer was cut, and agrees with no
 * other.
 */
function extended(lines: number, before: ShortReads | null, now: number): ShortReads {
  if (before === null || lines > before.lines) return { lines, agreed: 1, since: now, tries: 1 };
  const agreed = before.agreed + (lines === before.lines ? 1 : 0);
  return { ...before, agreed, tries: before.tries + 1 };
}
