// Opens the store of `--store`. The client of a server's store comes from the user's project.

import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Store } from "batchwise/dispatch";
import { addressOf, splitSchema, withoutPassword } from "./addresses.ts";
import { quoted } from "./command-line.ts";
import { CommandError, EXIT, wordsOf } from "./failures.ts";
import { loadPackage } from "./packages.ts";

export interface OpenStore {
  readonly store: Store;
  /** The name to show to the user, without a password. */
  readonly name: string;
  close(): Promise<void>;
}

export interface OpenStoreOptions {
  /** True: create a missing SQLite file. False: a missing file is an error. */
  readonly create: boolean;
  /** Permissions of a new SQLite file. */
  readonly fileMode?: number;
}

const FORMS = "sqlite:path, postgres://user@host/database or redis://host:port";
const SQLITE_FROM = "22.13";

export async function openStore(url: string, options: OpenStoreOptions): Promise<OpenStore> {
  const path = sqlitePath(url);
  if (path !== null) return sqlite(path, options);
  const { scheme } = addressOf(url) ?? { scheme: "" };
  // Clients accept schemes only in lower case.
  const plain = url.replace(/^[^:]*/, scheme);
  if (scheme === "postgres" || scheme === "postgresql") return postgres(plain);
  if (scheme === "redis" || scheme === "rediss") return redis(plain);
  // An unknown form of address may contain a password in an unknown place, so it is not quoted.
  const got = url.includes("@") ? (scheme === "" ? "another text" : `an address of "${scheme}"`) : `"${url}"`;
  throw new CommandError(`Expected --store to be ${FORMS}, got ${got}.`);
}

async function sqlite(path: string, { create, fileMode }: OpenStoreOptions): Promise<OpenStore> {
  if (path === "") throw new CommandError("Expected --store sqlite:path, got no path.");
  if (process.getBuiltinModule?.("node:sqlite") === undefined) {
    const here = `this is ${process.versions.node}`;
    const ways = "`npm install node@24` brings one for `npx batchwise`, or name a postgres:// or redis:// store";
    throw new CommandError(`A SQLite store needs Node.js ${SQLITE_FROM} or later; ${here}: ${ways} with --store.`);
  }
  if (!existsSync(dirname(resolve(path)))) throw new CommandError(`There is no folder ${dirname(path)} for the store.`);
  if (!create && !existsSync(path)) {
    throw new CommandError(
      `There is no store ${path}: \`batchwise run\` makes one, or name another${exampleFor(path)}.`,
    );
  }
  const { sqliteStore } = await import("batchwise/dispatch/sqlite");
  const store = sqliteStore({ path, ...(fileMode === undefined ? {} : { fileMode }) });
  return { store, name: `sqlite:${path}`, close: () => store.close() };
}

/** Names a database that lies in the folder of the missing one, if there is one. */
function exampleFor(path: string): string {
  const folder = dirname(path);
  const other = readdirSync(resolve(folder)).find((name) => /\.(?:db|sqlite3?)$/i.test(name));
  return other === undefined ? " with --store" : `, as in --store ${quoted(`sqlite:${join(folder, other)}`)}`;
}

interface Pg {
  readonly Pool: new (
    options: object,
  ) => {
    connect(): Promise<never>;
    on(event: "error", listener: (error: Error) => void): unknown;
    end(): Promise<void>;
  };
}

async function postgres(url: string): Promise<OpenStore> {
  const { Pool } = loadPackage<Pg>("pg", "A Postgres store");
  const { postgresStore } = await import("batchwise/dispatch/postgres");
  const [connectionString, schema] = splitSchema(url);
  const pool = new Pool({ connectionString, connectionTimeoutMillis: CONNECT_MS });
  // A connection is cut while idle: the next call opens another.
  pool.on("error", () => {});
  const store = postgresStore({ pool, ...(schema === null ? {} : { schema }) });
  const close = async (): Promise<void> => {
    await store.close();
    await pool.end();
  };
  return { store, name: withoutPassword(url), close };
}

const CONNECT_MS = 10_000;

interface Redis {
  call(...parts: string[]): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  disconnect(): void;
}

async function redis(url: string): Promise<OpenStore> {
  const Client = loadPackage<new (url: string, options: object) => Redis>("ioredis", "A Redis store");
  const { redisStore } = await import("batchwise/dispatch/redis");
  const client = new Client(url, { lazyConnect: true, connectTimeout: CONNECT_MS });
  let last: Error | null = null;
  client.on("error", (error) => {
    last = error;
  });
  try {
    await client.connect();
  } catch (error) {
    client.disconnect();
    const words = wordsOf(last ?? error);
    throw new CommandError(`The store ${withoutPassword(url)} does not answer: ${words}`, EXIT.failed, error);
  }
  const store = redisStore({ client: client as never });
  const close = async (): Promise<void> => {
    await store.close();
    client.disconnect();
  };
  return { store, name: withoutPassword(url), close };
}

/** null for the address of another kind of store. */
export function sqlitePath(url: string): string | null {
  return /^sqlite:(?:\/\/(?=.))?(.*)$/is.exec(url)?.[1] ?? null;
}

/** Throws if the output is a file of the store itself, which writing would destroy. */
export function checkIsNotStore(output: string, url: string): void {
  const path = sqlitePath(url);
  if (path === null || path === "") return;
  const files = ["", "-wal", "-shm"].map((end) => placeOf(`${path}${end}`));
  if (!files.includes(placeOf(output))) return;
  throw new CommandError(`The output ${output} is the store: name another file.`);
}

/** The real path of a file, with all links resolved. */
function placeOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}
