// Runs work in the user's transaction, on the user's connection. Guarantees that the work is done
// whole or not at all, and that the transaction can continue after either, by a savepoint. Neither
// commits nor rolls back the transaction, and takes no connection from the pool.

import { isError } from "../../../core/contract/errors.ts";
import { DispatchError } from "../../contract/errors.ts";
import { Connection, codeOf, type PostgresTransaction, pathTo, storeError } from "./database.ts";

/**
 * Tries after a deadlock. A deadlock with one other call ends once that call has continued, so the
 * next try waits a little. A deadlock caused by the transaction's earlier locks does not end.
 */
const TRIES = 5;
const PAUSE_MS = 100;
const DEADLOCK = "40P01";
const SERIALIZATION_FAILURE = "40001";
const NO_TRANSACTION = "25P01";
const FAILED_TRANSACTION = "25P02";
const NO_SAVEPOINT = "3B001";
const NO_TABLE = "42P01";

/**
 * The last call on each client. Savepoints of two concurrent calls would undo each other's work.
 */
const lastOn: WeakMap<PostgresTransaction, Promise<unknown>> = new WeakMap();

/** `schema`: the schema of the tables; null: on the client's search path. */
export function within<Result>(
  client: PostgresTransaction,
  schema: string | null,
  work: (db: Connection) => Promise<Result>,
): Promise<Result> {
  const inSchema = (db: Connection): Promise<Result> => (schema === null ? work(db) : onPath(db, pathTo(schema), work));
  const call = (lastOn.get(client) ?? Promise.resolve()).then(() => withSavepoint(new Connection(client), inSchema));
  lastOn.set(
    client,
    call.catch(() => undefined),
  );
  return call;
}

async function withSavepoint<Result>(db: Connection, work: (db: Connection) => Promise<Result>): Promise<Result> {
  await db.run("SAVEPOINT batchwise").catch((error: unknown) => {
    throw whyNotBegun(error);
  });
  for (let tries = 1; ; tries += 1) {
    try {
      const result = await work(db);
      await release(db);
      return result;
    } catch (error) {
      const isUndone = await undo(db);
      if (codeOf(error) !== DEADLOCK || tries >= TRIES || !isUndone) {
        if (isUndone) await release(db);
        throw whyFailed(error);
      }
      await new Promise((resolve) => setTimeout(resolve, tries * PAUSE_MS * (1 + Math.random())));
    }
  }
}

/** Runs work on another search path. If it fails, the savepoint restores the path. */
async function onPath<Result>(
  db: Connection,
  path: string,
  work: (db: Connection) => Promise<Result>,
): Promise<Result> {
  // OFFSET 0 makes the setting read before it is set.
  const before = await db.get<{ path: string }>(
    `SELECT path, set_config('search_path', $1, true)
     FROM (SELECT current_setting('search_path') AS path OFFSET 0) AS before`,
    path,
  );
  const result = await work(db);
  await db.run("SELECT set_config('search_path', $1, true)", before?.path ?? "");
  return result;
}

/**
 * False if rolling back is impossible: the connection was cut, or the transaction has ended
 * meanwhile.
 */
async function undo(db: Connection): Promise<boolean> {
  try {
    await db.run("ROLLBACK TO SAVEPOINT batchwise");
    return true;
  } catch {
    return false;
  }
}

async function release(db: Connection): Promise<void> {
  await db.run("RELEASE SAVEPOINT batchwise");
}

function whyNotBegun(error: unknown): DispatchError {
  switch (codeOf(error)) {
    case NO_TRANSACTION:
      return unusable(
        "No transaction is under way on this client: run BEGIN on it first. A pool gives each query any of its clients, so pass the one that pool.connect() gave.",
        error,
      );
    case FAILED_TRANSACTION:
      return unusable("An earlier statement of this transaction has failed: roll it back, and begin again.", error);
    default:
      return storeError(error);
  }
}

function whyFailed(error: unknown): DispatchError {
  switch (codeOf(error)) {
    case NO_TRANSACTION:
    case NO_SAVEPOINT:
      return unusable(
        "The transaction ended while requests were being stored in it, so some may be stored outside of it: await enqueueIn before COMMIT or ROLLBACK.",
        error,
      );
    case NO_TABLE:
      return unusable(
        "The client does not see the tables of the store: give it the database and the search path of the store's pool, or the store its `schema`.",
        error,
      );
    case DEADLOCK:
    case SERIALIZATION_FAILURE: {
      const message = `Another transaction was in the way (${reasonOf(error)}): roll back, and run the whole transaction again.`;
      return new DispatchError("STORE_UNAVAILABLE", message, error);
    }
    default:
      return storeError(error);
  }
}

function unusable(message: string, error: unknown): DispatchError {
  return new DispatchError("TRANSACTION_UNUSABLE", message, error);
}

function reasonOf(error: unknown): string {
  return isError(error) ? error.message : String(error);
}
