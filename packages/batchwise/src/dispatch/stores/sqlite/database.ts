// The one SQLite connection of a store: statements kept, transactions, and errors in the
// dispatcher's words. Guarantees that a transaction is whole or not there at all, and that it is on
// the disk when `write` returns (WAL, synchronous FULL). Waiting for a lock is the caller's:
// nothing here sleeps.

import { DispatchError } from "../../contract/errors.ts";
import type { SqlBound, Statement } from "../sql/statement.ts";
import { follow, type Step, type Steps } from "../sql/steps.ts";

/** What a column of SQLite may hold. */
export type SqliteValue = string | number | bigint | null | Uint8Array;

/** A prepared statement, as node:sqlite, better-sqlite3 and others have it. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

/**
 * The part of a synchronous SQLite driver that the store uses. The driver's own types fit it; none
 * is imported.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

export class Connection {
  readonly #database: SqliteDatabase;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Runs a statement and says how many rows it changed. */
  run(sql: string, ...values: SqliteValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  get<Row>(sql: string, ...values: SqliteValue[]): Row | undefined {
    return (this.#statement(sql).get(...values) ?? undefined) as Row | undefined;
  }

  all<Row>(sql: string, ...values: SqliteValue[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** Runs what all SQL stores have. */
  follow<Result>(steps: Steps<Result>): Result {
    return follow(steps, this.#answer);
  }

  readonly #answer = ({ sql, values, wants }: Step): unknown => {
    const bound = values.map(bind);
    return wants === "rows" ? this.all(sql, ...bound) : this.run(sql, ...bound);
  };

  /** All of `work` or nothing; durable when it returns. */
  write<Result>(work: () => Result): Result {
    return this.#transaction("BEGIN IMMEDIATE", work);
  }

  /** All of `work` sees one state of the data. */
  read<Result>(work: () => Result): Result {
    return this.#transaction("BEGIN", work);
  }

  #transaction<Result>(begin: string, work: () => Result): Result {
    this.run(begin);
    try {
      const result = work();
      this.run("COMMIT");
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /**
   * SQLite has ended the transaction itself after some errors: then there is nothing left to undo.
   */
  #rollBack(): void {
    try {
      this.run("ROLLBACK");
    } catch (error) {
      if (!/no transaction/i.test(String(error))) throw error;
    }
  }

  #statement(sql: string): SqliteStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** SQLite has neither lists nor truth values. */
function bind(value: SqlBound): SqliteValue {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

/** Runs statements that all SQL stores have. */
export function runAll(db: Connection, statements: readonly Statement[]): void {
  for (const { sql, values } of statements) db.run(sql, ...values.map(bind));
}

const PERM = 3;
const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const AUTH = 23;
const NOT_A_DATABASE = 26;
const NAMES: Readonly<Record<string, number>> = {
  ...{ PERM, BUSY, LOCKED, READONLY: READ_ONLY, CORRUPT, FULL, CANTOPEN: CANNOT_OPEN, AUTH, NOTADB: NOT_A_DATABASE },
};

/** SQLite's primary result code in an error of any driver; undefined where there is none. */
function resultCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { errcode, errno, code } = error as { errcode?: unknown; errno?: unknown; code?: unknown };
  // node:sqlite has `errcode`, Bun `errno`; both may be extended codes. better-sqlite3 has the name
  // in `code`.
  if (typeof errcode === "number") return errcode & 0xff;
  const named = typeof code === "string" ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined;
  if (named !== undefined) return NAMES[named];
  return typeof errno === "number" && errno > 0 ? errno & 0xff : undefined;
}

/** The file, or one beside it, cannot be opened. */
export function isUnopened(error: unknown): boolean {
  return resultCode(error) === CANNOT_OPEN;
}

/** Another connection holds the lock: the same call may work in a moment. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

export function storeError(error: unknown): DispatchError {
  if (error instanceof DispatchError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  switch (resultCode(error)) {
    case FULL:
      return new DispatchError("STORE_FULL", `The database or its disk is full: ${reason}.`, error);
    case READ_ONLY:
      return new DispatchError("STORE_READ_ONLY", `The database cannot be written to: ${reason}.`, error, false);
    case PERM:
    case AUTH:
      return new DispatchError("STORE_FORBIDDEN", `The database may not be used: ${reason}.`, error);
    case CORRUPT:
    case NOT_A_DATABASE:
      return new DispatchError("STORE_DAMAGED", `The file is damaged, or no database: ${reason}.`, error);
    case BUSY:
    case LOCKED:
      return new DispatchError("STORE_UNAVAILABLE", `The database is held by another connection: ${reason}.`, error);
    default:
      return new DispatchError("STORE_UNAVAILABLE", `The database failed: ${reason}.`, error);
  }
}
