// Opens the database of a store: checks the options, applies settings, creates tables.

import { accessSync, closeSync, constants, existsSync, fchmodSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isError } from "../../../core/contract/errors.ts";
import { check, invalidOption, objectWith, refuseUnknown, zeroOrMore } from "../../../core/contract/validate.ts";
import { DispatchError } from "../../contract/errors.ts";
import { fileOf, makesFile } from "./address.ts";
import { Connection, type SqliteDatabase } from "./database.ts";
import { migrate } from "./migrate.ts";

/** Options of the SQLite store. Exactly one of `path` and `database`. */
export interface SqliteStoreOptions {
  /** File of the database, created if it does not exist. Needs node:sqlite (Node >= 22.13). */
  readonly path?: string;
  /**
   * Permissions of the file that `path` creates, and of its -wal and -shm, independent of the
   * umask. An existing file keeps its own. Default 0o600: it holds all requests and answers. No
   * effect on Windows.
   */
  readonly fileMode?: number;
  /**
   * An open database of node:sqlite, better-sqlite3 or one of that shape. The store sets WAL and
   * synchronous FULL, adds tables whose names start with `batchwise_`, and never closes it.
   */
  readonly database?: SqliteDatabase;
  /**
   * Maximum wait for another connection's lock, in ms; then a call rejects with STORE_UNAVAILABLE.
   * Default 5_000.
   */
  readonly busyTimeoutMs?: number;
}

interface OwnDatabase extends SqliteDatabase {
  close(): void;
}

export interface ResolvedOptions {
  readonly open: () => SqliteDatabase;
  /** Only for a database that `open` has opened itself. */
  readonly close: (database: SqliteDatabase) => void;
  readonly isOwn: boolean;
  /** The path of a database that `open` opens itself; else null. */
  readonly path: string | null;
  readonly busyTimeoutMs: number;
}

const DEFAULT_BUSY_TIMEOUT_MS = 5_000;

const DEFAULT_FILE_MODE = 0o600;
const OWNER_ONLY = 0o600;

/** SQLite must be able to read and write the file. */
const aFileMode = {
  expected: "permissions with which the owner reads and writes, as 0o660",
  type: "number" as const,
  test: (mode: number): boolean =>
    Number.isInteger(mode) && mode > 0 && mode <= 0o777 && (mode & OWNER_ONLY) === OWNER_ONLY,
};

const anOptionsObject = { ...objectWith(), expected: 'an object, as in `sqliteStore({ path: "requests.db" })`' };

export function resolveSqliteStoreOptions(options: SqliteStoreOptions): ResolvedOptions {
  check("options", anOptionsObject, options);
  refuseUnknown(options, ["path", "database", "fileMode", "busyTimeoutMs"]);
  const { path, database, fileMode, busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS } = options;
  check("busyTimeoutMs", zeroOrMore, busyTimeoutMs);
  check("fileMode", aFileMode, fileMode ?? DEFAULT_FILE_MODE);
  if ((path === undefined) === (database === undefined)) {
    throw invalidOption(TypeError, "Expected exactly one of `path` and `database`");
  }
  if (database !== undefined) {
    check("database", objectWith("exec", "prepare"), database);
    if (fileMode !== undefined) {
      throw invalidOption(TypeError, "`fileMode` is for `path`: `database` has its file already");
    }
    return { open: () => database, close: () => {}, isOwn: false, path: null, busyTimeoutMs };
  }
  check("path", { expected: "a file name", type: "string", test: (name: string) => name !== "" }, path);
  const name = path ?? "";
  return { ...ownDatabase(name, fileMode ?? DEFAULT_FILE_MODE), isOwn: true, path: name, busyTimeoutMs };
}

function ownDatabase(path: string, fileMode: number): Pick<ResolvedOptions, "open" | "close"> {
  const sqlite = process.getBuiltinModule?.("node:sqlite");
  if (sqlite === undefined) {
    const newer = "Either `npm install node@24`, then `npx node` in place of `node`";
    const other = "or `database: new Database(file)` of better-sqlite3 in place of `path`";
    throw invalidOption(TypeError, `\`path\` needs node:sqlite, of Node.js 22.13 or later. ${newer}; ${other}`);
  }
  const opened = new Set<OwnDatabase>();
  return {
    open: () => {
      const database = opening(path, () => {
        makeFile(path, fileMode);
        return new sqlite.DatabaseSync(path) as OwnDatabase;
      });
      opened.add(database);
      return database;
    },
    close: () => {
      for (const database of opened) database.close();
      opened.clear();
    },
  };
}

/** Adds the file's name to an error: SQLite's message has none. */
function opening<Database>(path: string, open: () => Database): Database {
  try {
    return open();
  } catch (error) {
    throw whyNotOpened(path, error);
  }
}

/**
 * Explains an error. SQLite's is equal for a missing folder, a missing permission and a read-only
 * file system.
 */
export function whyNotOpened(path: string, error: unknown): DispatchError {
  const what = `The database ${path} cannot be opened:`;
  const file = fileOf(path) ?? "";
  const folder = dirname(file);
  const wrong = wrongPath(path, file, folder);
  if (wrong !== null) return new DispatchError("STORE_SCHEMA", `${what} ${wrong}, or correct the path.`, error);
  const refused = refusedBySystem(existsSync(file) ? [file, folder] : [folder]);
  if (refused === "EROFS") {
    return new DispatchError("STORE_READ_ONLY", `${what} its file system is read-only.`, error, false);
  }
  const reason = isError(error) ? error.message : String(error);
  if (refused === "EACCES" || refused === "EPERM") {
    const message = `${what} this process may not read and write the file and its folder ${folder}.`;
    return new DispatchError("STORE_FORBIDDEN", message, error);
  }
  return new DispatchError("STORE_UNAVAILABLE", `${what} ${reason}.`, error);
}

function wrongPath(path: string, file: string, folder: string): string | null {
  if (!existsSync(folder)) return `the folder ${folder} does not exist. Make it`;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return "it is a folder. Give the name of a file in it";
  return found === undefined && !makesFile(path) ? "there is no such file, and this address makes none. Make it" : null;
}

/** The code of the first refused read or write of these paths; undefined if there is none. */
function refusedBySystem(paths: readonly string[]): string | undefined {
  try {
    for (const path of paths) accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return (error as { readonly code?: string }).code;
  }
}

/**
 * Settings of our own files. 16 KiB pages hold seven bodies of 2 KB, 4 KiB pages only one, and a
 * full call writes less than with 8 KiB; a single request writes more. A checkpoint copies 1,000
 * pages. A cache of 4 MB holds the writes of one call of 1,000; more helps only random ids. A new
 * file can return space by pages.
 */
const OWN_SETTINGS = `
  PRAGMA page_size = 16384;
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA wal_autocheckpoint = 1000;
  PRAGMA cache_size = -4000;`;

/** Sets durability first: every commit is on disk when it returns. */
export function prepare(database: SqliteDatabase, isOwn: boolean): Connection {
  const db = new Connection(database);
  if (isOwn) db.exec(OWN_SETTINGS);
  const mode = db.get<{ journal_mode: string }>("PRAGMA journal_mode")?.journal_mode;
  if (mode !== "wal" && mode !== "memory") db.get("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
  migrate(db);
  return db;
}

/**
 * Creates a database's file before SQLite does, so that it is private from its first byte under any
 * umask. SQLite gives its -wal and -shm the file's mode. An existing file keeps its mode. `path`:
 * as the driver accepts it.
 */
function makeFile(path: string, mode: number): void {
  const file = fileOf(path);
  if (file === null || !makesFile(path)) return;
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx", mode);
  } catch {
    // It exists, or SQLite cannot create it either and reports the error.
    return;
  }
  try {
    // The umask has removed bits.
    fchmodSync(descriptor, mode);
  } catch {
    // Some file systems have no modes.
  } finally {
    closeSync(descriptor);
  }
}
