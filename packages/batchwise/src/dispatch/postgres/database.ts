// Connections of the user's pool: transactions, and errors in the dispatcher's words. Guarantees that a transaction is
// whole or not there at all, that it is on the server's disk when `write` resolves, and that one which the server ended
// because two were in each other's way runs again. Does not repeat a call whose connection was cut: its caller does.

import { DispatchError } from "../errors.ts";

export type PostgresValue = string | number | boolean | null | readonly (string | number | boolean | null)[];

export interface PostgresQuery {
  readonly text: string;
  readonly values: PostgresValue[];
  readonly types: { getTypeParser(oid: number): (text: string) => unknown };
}

export interface PostgresResult {
  readonly rows: unknown[];
  readonly rowCount: number | null;
}

/** A connection that has been taken from the pool, as node-postgres has it. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  release(destroy?: boolean): void;
}

/** The part of node-postgres' Pool that the store uses. The driver's own types fit it; none is imported. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on?(event: "connect", listener: (client: PostgresClient) => void): unknown;
  off?(event: "connect", listener: (client: PostgresClient) => void): unknown;
}

/**
 * Listens to the errors of every connection that the pool makes; answers how to stop that. A server can end one in the
 * same breath in which it is made, before `connect` has handed it over: unheard, that would end the process.
 */
export function hearNewConnections(pool: PostgresPool): () => void {
  const hear = (client: PostgresClient): void => {
    client.on("error", () => {});
  };
  pool.on?.("connect", hear);
  return () => pool.off?.("connect", hear);
}

/** Most that a LIMIT takes. */
const MOST = 2 ** 31 - 1;

export function atMost(limit: number): number {
  return Math.max(0, Math.min(limit, MOST));
}

/** Whole numbers as numbers and truth as boolean, whatever parsers the user has set; the rest as text. */
const types: PostgresQuery["types"] = {
  getTypeParser: (oid) => {
    if (oid === 20 || oid === 21 || oid === 23 || oid === 701 || oid === 1700) return Number;
    return oid === 16 ? (text) => text === "t" : (text) => text;
  },
};

/** The statements of one transaction. */
export class Connection {
  readonly #client: PostgresClient;

  constructor(client: PostgresClient) {
    this.#client = client;
  }

  /** Runs a statement and says how many rows it changed. */
  async run(text: string, ...values: PostgresValue[]): Promise<number> {
    return (await this.#client.query({ text, values, types })).rowCount ?? 0;
  }

  async all<Row>(text: string, ...values: PostgresValue[]): Promise<Row[]> {
    return (await this.#client.query({ text, values, types })).rows as Row[];
  }

  async get<Row>(text: string, ...values: PostgresValue[]): Promise<Row | undefined> {
    return (await this.all<Row>(text, ...values))[0];
  }
}

/** Thrown inside `write` to undo the transaction and answer all the same. */
export class Undo<Result> {
  readonly answer: Result;
  constructor(answer: Result) {
    this.answer = answer;
  }
}

/** Thrown inside `write` where another transaction came in between: undo, and once more from the start. */
export class Again extends Error {}

const TRIES = 8;
const WRITE = "BEGIN; SET LOCAL synchronous_commit = on";
const READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

type Work<Result> = (db: Connection) => Promise<Result>;

/** All of `work` or nothing; durable when it resolves. */
export async function write<Result>(pool: PostgresPool, work: Work<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await transaction(pool, WRITE, work);
    } catch (error) {
      if (!isCollision(error) || tries >= TRIES) throw storeError(error);
    }
  }
}

/** All of `work` sees one state of the data. */
export async function read<Result>(pool: PostgresPool, work: Work<Result>): Promise<Result> {
  try {
    return await transaction(pool, READ, work);
  } catch (error) {
    throw storeError(error);
  }
}

async function transaction<Result>(pool: PostgresPool, begin: string, work: Work<Result>): Promise<Result> {
  const client = await pool.connect();
  const db = new Connection(client);
  let broken = false;
  // A connection that is cut between two statements says so by this event only; the next statement then fails.
  const cut = (): void => {
    broken = true;
  };
  client.on("error", cut);
  try {
    await db.run(begin);
    const result = await work(db);
    await db.run("COMMIT");
    return result;
  } catch (error) {
    await db.run("ROLLBACK").catch(cut);
    if (error instanceof Undo) return error.answer as Result;
    throw error;
  } finally {
    client.off("error", cut);
    client.release(broken);
  }
}

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}

/** Serialization failure, deadlock, or a row that another transaction has made first. */
function isCollision(error: unknown): boolean {
  return error instanceof Again || ["40001", "40P01", "23505"].includes(codeOf(error));
}

function storeError(error: unknown): DispatchError {
  if (error instanceof DispatchError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  switch (codeOf(error)) {
    case "53100":
      return new DispatchError("STORE_FULL", `The server's disk is full: ${reason}.`, error);
    case "25006":
      return new DispatchError("STORE_READ_ONLY", `The server cannot be written to: ${reason}.`, error);
    default:
      return new DispatchError("STORE_UNAVAILABLE", `The database failed: ${reason}.`, error);
  }
}
