// Connections of the user's pool: transactions, and conversion of errors. Guarantees that a
// transaction happens whole or not at all, that it is on the server's disk when `write` resolves,
// and that it is repeated if the server ended it because of a conflict. Does not repeat a call
// whose connection was cut: its caller does.

import { isError } from "../../../core/contract/errors.ts";
import { DispatchError } from "../../contract/errors.ts";
import { Column, numbered, type SqlBound, type SqlValue } from "../sql/statement.ts";
import { Again, followLater, type Step, type Steps } from "../sql/steps.ts";

/** A statement with its parameters, for node-postgres. */
export interface PostgresQuery {
  readonly text: string;
  readonly values: (SqlValue | readonly SqlValue[])[];
  readonly types: { getTypeParser(oid: number): (text: string) => unknown };
}

/** The rows of a statement, and how many it changed. */
export interface PostgresResult {
  readonly rows: unknown[];
  readonly rowCount: number | null;
}

/** A connection on which the user has begun a transaction: a client of node-postgres. */
export interface PostgresTransaction {
  query(query: PostgresQuery): Promise<PostgresResult>;
}

/** A connection taken from the pool, as node-postgres has it. */
export interface PostgresClient extends PostgresTransaction {
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  release(destroy?: boolean): void;
}

/**
 * The part of node-postgres' Pool that the store uses. The driver's types fit it; none is imported.
 */
export interface PostgresPool {
  /**
   * Calls back as soon as a connection is available: a promise would deliver its errors too late.
   */
  connect(done: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
}

/** The place of the tables. */
export interface Place {
  readonly pool: PostgresPool;
  /** null: in the first schema of the connection's search path. */
  readonly schema: string | null;
}

/** A search path with only this schema and the server's own. */
export function pathTo(schema: string): string {
  return `"${schema.replaceAll('"', '""')}"`;
}

/**
 * Reads numbers as numbers, booleans as booleans and everything else as text, even if the user has
 * set other parsers.
 */
const types: PostgresQuery["types"] = {
  getTypeParser: (oid) => {
    if (oid === 20 || oid === 21 || oid === 23 || oid === 701 || oid === 1700) return Number;
    return oid === 16 ? (text) => text === "t" : (text) => text;
  },
};

/** The statements of one transaction. */
export class Connection {
  readonly #client: PostgresTransaction;
  readonly #onlyReads: boolean;

  constructor(client: PostgresTransaction, onlyReads = false) {
    this.#client = client;
    this.#onlyReads = onlyReads;
  }

  /** Runs a statement and returns how many rows it changed. */
  async run(text: string, ...values: (SqlValue | readonly SqlValue[])[]): Promise<number> {
    return (await this.#client.query({ text, values, types })).rowCount ?? 0;
  }

  async all<Row>(text: string, ...values: (SqlValue | readonly SqlValue[])[]): Promise<Row[]> {
    return (await this.#client.query({ text, values, types })).rows as Row[];
  }

  async get<Row>(text: string, ...values: (SqlValue | readonly SqlValue[])[]): Promise<Row | undefined> {
    return (await this.all<Row>(text, ...values))[0];
  }

  /** Runs the steps that all SQL stores share. */
  follow<Result>(steps: Steps<Result>): Promise<Result> {
    return followLater(steps, this.#answer);
  }

  readonly #answer = (step: Step): Promise<unknown> =>
    this[step.wants === "rows" ? "all" : "run"](numbered(step), ...step.values.map((value) => this.#comparable(value)));

  /**
   * Prepares values of comparisons: a list is always one, and a text is one if the statement writes
   * nothing. Postgres refuses texts with a NUL and has no row equal to one, so it is removed from a
   * list, and becomes NULL otherwise, which equals nothing.
   */
  #comparable(value: SqlBound): SqlValue | readonly SqlValue[] {
    if (value instanceof Column) return value.values;
    if (typeof value === "object" && value !== null) return value.filter(isStorable);
    return this.#onlyReads && !isStorable(value) ? null : value;
  }
}

function isStorable(value: SqlValue): boolean {
  return typeof value !== "string" || !value.includes("\0");
}

/** Thrown inside `write` to roll back and still return a result. */
export class Undo<Result> {
  readonly answer: Result;
  constructor(answer: Result) {
    this.answer = answer;
  }
}

const TRIES = 8;
/**
 * Codes of a server that is read-only or about to end: another connection may reach its successor.
 */
const WRONG_SERVER = ["25006", "57P01", "57P02", "57P03"];
/**
 * Read committed, even if the role has another default: a statement that waited for a lock sees the
 * changes made under it.
 */
const WRITE =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL extra_float_digits = 1";
/**
 * Planner settings for reads. A read is one page whose rows have an index in page order. With old
 * statistics the planner may take a page for large or a table for empty, and scan whole tables.
 */
const OFF = ["seqscan", "bitmapscan", "hashjoin", "mergejoin", "material", "sort"].map((name) => `enable_${name}`);
const READ = [
  "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
  ...[...OFF, "jit"].map((name) => `SET LOCAL ${name} = off`),
  "SET LOCAL max_parallel_workers_per_gather = 0",
  "SET LOCAL extra_float_digits = 1",
].join("; ");

type Work<Result> = (db: Connection) => Promise<Result>;

/** Runs all of `work` or nothing; durable when it resolves. */
export async function write<Result>(place: Place, work: Work<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await transaction(place, WRITE, work);
    } catch (error) {
      if (!isCollision(error) || tries >= TRIES) throw storeError(error);
    }
  }
}

/** Runs `work` on one snapshot of the data. */
export async function read<Result>(place: Place, work: Work<Result>): Promise<Result> {
  try {
    return await transaction(place, READ, work);
  } catch (error) {
    throw storeError(error);
  }
}

/**
 * A connection that is ours until `release`. A cut between two statements is reported only by an
 * event.
 */
class Loan {
  readonly client: PostgresClient;
  #isBroken = false;

  constructor(client: PostgresClient) {
    this.client = client;
    client.on("error", this.noteBroken);
  }

  /** Listens inside the pool's callback: a cut may be the next thing that the driver reads. */
  static take(pool: PostgresPool): Promise<Loan> {
    return new Promise((resolve, reject) => {
      pool.connect((error, client) => {
        if (client === undefined) reject(error);
        else resolve(new Loan(client));
      });
    });
  }

  readonly noteBroken = (): void => {
    this.#isBroken = true;
  };

  /** Returns it to the pool, which closes a broken one. */
  release(): void {
    this.client.off("error", this.noteBroken);
    this.client.release(this.#isBroken);
  }
}

async function transaction<Result>(
  { pool, schema }: Place,
  begin: typeof WRITE | typeof READ,
  work: Work<Result>,
): Promise<Result> {
  const loan = await Loan.take(pool);
  const db = new Connection(loan.client, begin === READ);
  try {
    await db.run(schema === null ? begin : `${begin}; SET LOCAL search_path TO ${pathTo(schema)}`);
    const result = await work(db);
    await db.run("COMMIT");
    return result;
  } catch (error) {
    if (WRONG_SERVER.includes(codeOf(error))) loan.noteBroken();
    await db.run("ROLLBACK").catch(loan.noteBroken);
    if (error instanceof Undo) return error.answer as Result;
    throw error;
  } finally {
    loan.release();
  }
}

export function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}

/** A serialization failure, a deadlock, or a row that another transaction inserted first. */
function isCollision(error: unknown): boolean {
  return error instanceof Again || ["40001", "40P01", "23505"].includes(codeOf(error));
}

export function storeError(error: unknown): DispatchError {
  if (error instanceof DispatchError) return error;
  const reason = isError(error) ? error.message : String(error);
  switch (codeOf(error)) {
    case "53100":
      return new DispatchError("STORE_FULL", `The server's disk is full: ${reason}.`, error);
    case "25006":
      return new DispatchError("STORE_READ_ONLY", `The server cannot be written to: ${reason}.`, error);
    case "42501":
      return new DispatchError("STORE_FORBIDDEN", `The role misses a right: ${reason}.`, error);
    case "28000":
    case "28P01":
      return new DispatchError("STORE_FORBIDDEN", `The server refuses the login: ${reason}.`, error);
    case "3D000":
    case "3F000":
    case "42P01":
    case "42703":
    case "42883":
      return new DispatchError("STORE_SCHEMA", `The database is not as it should be: ${reason}.`, error);
    case "XX001":
    case "XX002":
      return new DispatchError("STORE_DAMAGED", `The server's data are damaged: ${reason}.`, error);
    default:
      return new DispatchError("STORE_UNAVAILABLE", `The database failed: ${reason}.`, error);
  }
}
