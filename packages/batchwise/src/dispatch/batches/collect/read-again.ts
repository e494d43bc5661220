// Results that look complete and are not: the batch keeps its state and is read again. Reports the
// first such read, and the last. batches/collect/unread-results.ts decides.

import { countOf } from "../../../core/contract/errors.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Reading, ResultsRead, ShortReads } from "./unread-results.ts";

const CODE = "RESULTS_UNREADABLE";

/** Thrown when members without a line may have one that the provider has not shown yet. */
export class UnreadResults extends DispatchError {
  readonly reading: Extract<Reading, { kind: "unread" }>;

  constructor(reading: Extract<Reading, { kind: "unread" }>, batch: BatchRow, read: ResultsRead) {
    const then = reading.isStuck ? "Reads keep differing: it is quarantined." : "They are read again.";
    super(CODE, `${shortfall(batch, read)} ${then}`);
    this.reading = reading;
  }
}

/**
 * The error reported when results stay shorter than the provider's counts and the remaining members
 * are charged.
 */
export function stillMissing(batch: BatchRow, read: ResultsRead): DispatchError {
  const message = `${shortfall(batch, read)} Every read for an hour agreed: requests without a line (${read.remaining})`;
  return new DispatchError(CODE, `${message} count as missing and are charged a try.`);
}

function shortfall({ key, account, remaining }: BatchRow, { lines, counted, due }: ResultsRead): string {
  const isCounted = (counted ?? 0) > lines;
  if (!isCounted && lines === 0) {
    return `Batch ${key} at ${account} has ended, and neither results nor counts of its ${remaining} requests are there.`;
  }
  const told = isCounted ? `, and the provider counts ${counted}` : ` of ${countOf(due ?? lines, "request")}`;
  return `The results of batch ${key} at ${account} have ${countOf(lines, "line")}${told}.`;
}

/** The reads before that found too few lines; null for none. */
export function shortReadsOf({ shortReads }: BatchRow): ShortReads | null {
  return shortReads === null ? null : (JSON.parse(shortReads) as ShortReads);
}

/**
 * Gives the lease back until the next read, or quarantines the batch if reads have differed too
 * often.
 */
export async function readAgain(runtime: Runtime, lease: Lease, { reading, message }: UnreadResults): Promise<void> {
  const { reads, waitMs, isStuck } = reading;
  if (lease.batch.shortReads === null || isStuck) {
    runtime.report(new DispatchError(CODE, message), lease.context("results"));
  }
  const changes = { shortReads: JSON.stringify(reads), lastError: JSON.stringify({ code: CODE, message }) };
  await lease.end((now) => ({ ...changes, ...(isStuck ? { state: "quarantined" } : { nextAt: now + waitMs }) }));
}
