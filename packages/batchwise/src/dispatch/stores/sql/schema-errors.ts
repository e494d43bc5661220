// Why a database cannot be used as it is, in words that SQLite and Postgres share.

import { DispatchError } from "../../contract/errors.ts";

/** A later version has written it. `cause`: what failed, if a process was using it meanwhile. */
export function newerSchema(found: number, known: number, cause?: unknown): DispatchError {
  const message = `The database has schema ${found}, newer than this batchwise knows (${known}).`;
  const advice = "A later version has upgraded it: start this process anew with that version.";
  return new DispatchError("STORE_SCHEMA", `${message} ${advice}`, cause);
}

/** Batches that processes of an earlier version hold, and until when. */
export interface Held {
  readonly count: number;
  readonly until: number | null;
}

/**
 * A lease ends by itself: one that lasts longer than this is of a clock that was wrong, and nobody
 * waits for it.
 */
export const LONGEST_LEASE_MS: number = 3_600_000;

/** Retryable: the step waits until the older processes have stopped. */
export function heldByOlder(found: number, known: number, { count, until }: Held): DispatchError {
  const what = `The database has schema ${found}, and cannot become ${known} yet: an older batchwise works on ${count} of its batches.`;
  const ends = new Date(until ?? 0).toISOString();
  return new DispatchError("STORE_UNAVAILABLE", `${what} Stop it. Leases that it leaves end by ${ends}.`);
}
