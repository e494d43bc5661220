// Reads the version of the tables, and builds the errors for a database that cannot be used or
// upgraded now.

import { DispatchError } from "../../contract/errors.ts";
import { get, type Steps } from "./steps.ts";

/**
 * Error for a database that a later version has upgraded. `cause`: the failed statement, if this
 * process was already connected.
 */
export function newerSchema(found: number, known: number, cause?: unknown): DispatchError {
  const message = `The database has schema ${found}, newer than this batchwise knows (${known}).`;
  const advice = "A later version has upgraded it: start this process anew with that version.";
  return new DispatchError("STORE_SCHEMA", `${message} ${advice}`, cause);
}

/** Batches that processes of an earlier version hold, and until when. */
interface Held {
  readonly count: number;
  readonly until: number | null;
}

/**
 * A lease that ends later than this was written with a wrong clock. A schema step does not wait for
 * it.
 */
const LONGEST_LEASE_MS = 3_600_000;

/** Retryable: the step waits until the older processes have stopped. */
function heldByOlder(found: number, known: number, { count, until }: Held): DispatchError {
  const what = `The database has schema ${found}, and cannot become ${known} yet: an older batchwise works on ${count} of its batches.`;
  const ends = new Date(until ?? 0).toISOString();
  return new DispatchError("STORE_UNAVAILABLE", `${what} Stop it. Leases that it leaves end by ${ends}.`);
}

/**
 * Returns the schema version; 0 if there are no tables. `isThere`: a query that returns a row if
 * the version table exists.
 */
export function* schemaVersion(isThere: string): Steps<number> {
  if ((yield* get(isThere)) === undefined) return 0;
  return (yield* get<{ version: number }>("SELECT version FROM batchwise_schema"))?.version ?? 0;
}

/**
 * Throws if the tables are newer than `known`, or older while an older process holds a lease.
 * `clock`: SQL expression for the current time on the clock of the leases.
 */
export function* refuseUnfit(version: number, known: number, clock: string): Steps<void> {
  if (version > known) throw newerSchema(version, known);
  if (version === 0) return;
  const held = yield* get<Held>(
    `SELECT count(*) AS count, max(lease_until) AS until
     FROM batchwise_batch, (SELECT ${clock} AS now) clock
     WHERE state <> 'done' AND lease_until > now AND lease_until < now + ?`,
    LONGEST_LEASE_MS,
  );
  if (held !== undefined && held.count > 0) throw heldByOlder(version, known, held);
}
