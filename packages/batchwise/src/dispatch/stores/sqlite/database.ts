// The SQLite connection of a store: cached statements, transactions, and conversion of errors.
// Guarantees that a transaction happens whole or not at all, and is on disk when `write` returns
// (WAL, synchronous FULL). Never sleeps: the caller waits for locks.

import { isError } from "../../../core/contract/errors.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { SqlBound } from "../sql/statement.ts";
import { follow, type Step, type Steps } from "../sql/steps.ts";

/** A value of an SQLite column. */
export type SqliteValue = string | number | bigint | null | Uint8Array;

/** A prepared statement of node:sqlite, better-sqlite3 and others. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

/**
 * The part of a synchronous SQLite driver that the store uses. The driver's types fit it; none is
 * imported.
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

  /** Runs a statement and returns how many rows it changed. */
  run(sql: string, ...values: SqliteValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  get<Row>(sql: string, ...values: SqliteValue[]): Row | undefined {
    return (this.#statement(sql).get(...values) ?? undefined) as Row | undefined;
  }

  all<Row>(sql: string, ...values: SqliteValue[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** Runs the steps that all SQL stores share. */
  follow<Result>(steps: Steps<Result>): Result {
    return follow(steps, this.#answer);
  }

  readonly #answer = ({ sql, values, wants }: Step): unknown => {
    const bound = values.map(bind);
    return wants === "rows" ? this.all(sql, ...bound) : this.run(sql, ...bound);
  };

  /** Runs all of `work` or nothing; durable when it returns. */
  write<Result>(work: () => Result): Result {
    return this.#transaction("BEGIN IMMEDIATE", work);
  }

  /** Runs `work` on one snapshot of the data. */
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
   * After some errors SQLite has already ended the transaction, so nothing is left to roll back.
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

/** SQLite has neither lists nor booleans. */
function bind(value: SqlBound): SqliteValue {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

const GENERIC = 1;
const PERM = 3;
const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const SCHEMA = 17;
const AUTH = 23;
const NOT_A_DATABASE = 26;
const NAMES: Readonly<Record<string, number>> = {
  ...{
    ERROR: GENERIC,
    PERM,
    BUSY,
    LOCKED,
    READONLY: READ_ONLY,
    CORRUPT,
    FULL,
    CANTOPEN: CANNOT_OPEN,
    SCHEMA,
    AUTH,
    NOTADB: NOT_A_DATABASE,
  },
};

/** SQLite's primary result code in an error of any driver; undefined if there is none. */
function resultCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { errcode, errno, code } = error as { errcode?: unknown; errno?: unknown; code?: unknown };
  // node:sqlite has `errcode`, Bun `errno`; both may be extended codes. better-sqlite3 has `code`.
  if (typeof errcode === "number") return errcode & 0xff;
  const named = typeof code === "string" ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined;
  if (named !== undefined) return NAMES[named];
  return typeof errno === "number" && errno > 0 ? errno & 0xff : undefined;
}

/** The file, or one beside it, cannot be opened. */
export function isUnopened(error: unknown): boolean {
  return resultCode(error) === CANNOT_OPEN;
}

/** The tables may be others than the statement needs. */
export function mayBeOfTables(error: unknown): boolean {
  const code = resultCode(error);
  return code === undefined || code === GENERIC || code === SCHEMA;
}

/** Another connection holds the lock: a retry may succeed. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

export function storeError(error: unknown): DispatchError {
  if (error instanceof DispatchError) return error;
  const reason = isError(error) ? error.message : String(error);
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
