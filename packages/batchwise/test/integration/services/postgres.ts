// A PostgreSQL server on a free port of loopback, with its own data, which is removed afterwards.
// Finds the server's programs or installs them; throws if it can do neither.

import { execFile, execFileSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePort, type Service, startProgram, stopProgram } from "./processes.ts";
import { folderOf } from "./programs.ts";
import { mountSmallDisk } from "./small-disk.ts";

export interface PostgresOptions {
  /**
   * Puts the tables of every place on a disk of this many megabytes; the server's own files are
   * elsewhere.
   */
  readonly diskMb?: number;
  /** Makes it a standby of the server on this port: it only reads, and may be promoted. */
  readonly standbyOf?: number;
  /** True (default): commits are flushed to the disk. Only a power failure shows the difference. */
  readonly fsync?: boolean;
}

export interface PostgresService extends Service {
  /** The folder of the small disk, if there is one. */
  readonly folder: string;
  /**
   * An empty schema, as settings for a pool that works in it, also in another process. Its
   * connections have its name.
   */
  place(): Promise<PostgresPlace>;
}

export type PostgresPlace = pg.PoolConfig & { readonly application_name: string };

const SETTINGS = ["max_connections=120", "fsync=off", "unix_socket_directories=", "listen_addresses=127.0.0.1"];

/** Postgres does not run as root; then it runs as this user. */
function serverUser(): { readonly uid: number; readonly gid: number } | null {
  if (userInfo().uid !== 0) return null;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string): number => Number(execFileSync("id", [flag, name], { stdio: "pipe" }).toString());
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // This user does not exist: try the next one.
    }
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user postgres nor nobody.");
}

/** A pool whose idle connections may be cut without ending the process. */
export function poolAt(place: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(place);
  pool.on("error", () => {});
  return pool;
}

export async function startPostgres({
  diskMb,
  standbyOf,
  fsync = true,
}: PostgresOptions = {}): Promise<PostgresService> {
  const programs = ["initdb", "postgres", "pg_basebackup"];
  const folders = ["/usr/lib/postgresql/*/bin"];
  const bin = folderOf({ programs, folders, packages: ["postgresql"], what: "a PostgreSQL server" });
  const user = serverUser();
  const folder = mkdtempSync(join(tmpdir(), "batchwise-postgres-"));
  const data = join(folder, "data");
  const small = join(folder, "disk");
  mkdirSync(small);
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const as = user === null ? [] : ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  const run = async ([program = "", ...args]: readonly string[]): Promise<void> => {
    await promisify(execFile)(program, args, { cwd: folder });
  };
  await run([...as, ...dataCommand(bin, data, standbyOf)]);
  const disk = diskMb === undefined ? null : await mountSmallDisk(small, diskMb, user?.uid ?? userInfo().uid);
  const port = await freePort();
  const config = { host: "127.0.0.1", port, user: "batchwise", database: "postgres" };
  const command = [...(disk?.enter ?? []), ...as, join(bin, "postgres"), "-D", data, "-p", String(port)];
  const settings = [...SETTINGS, `fsync=${fsync ? "on" : "off"}`].flatMap((one) => ["-c", one]);
  const child = await startProgram([...command, ...settings], folder, () => isReady(config));
  if (disk !== null) await query(config, `CREATE TABLESPACE small LOCATION '${small}'`);
  const tablespace = disk === null ? "" : " -c default_tablespace=small";
  let made = 0;
  return {
    port,
    folder: disk?.path ?? small,
    place: async () => {
      made += 1;
      const name = `test_${made}`;
      await query(config, `CREATE SCHEMA ${name}`);
      return { ...config, application_name: name, options: `-c search_path=${name}${tablespace}` };
    },
    stop: async () => {
      // Stops at once: unwritten data is not needed.
      await stopProgram(child, "SIGQUIT");
      await disk?.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function dataCommand(bin: string, data: string, standbyOf: number | undefined): string[] {
  const user = ["-D", data, "-U", "batchwise", "-N"];
  if (standbyOf === undefined) return [join(bin, "initdb"), ...user, "-A", "trust", "-E", "UTF8", "--locale=C"];
  const from = ["-h", "127.0.0.1", "-p", String(standbyOf), "-R", "-X", "stream", "-c", "fast"];
  return [join(bin, "pg_basebackup"), ...user, ...from];
}

async function isReady(config: pg.PoolConfig): Promise<boolean> {
  await query(config, "SELECT 1");
  return true;
}

/** Runs one statement on a connection of its own. */
export async function query(config: pg.PoolConfig, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client(config);
  client.on("error", () => {});
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}
