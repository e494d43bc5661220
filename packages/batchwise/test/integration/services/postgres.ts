// A PostgreSQL server for one test file: on a free port of loopback, on data of its own, gone afterwards. Finds the
// server's programs or installs them; throws where it can do neither.

import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { findProgram, freePort, install, isRoot, type Service, startProgram, stopProgram } from "./processes.ts";

export interface PostgresService extends Service {
  /** An empty schema of its own: what a pool needs to work in it, also in another process. */
  place(): Promise<pg.PoolConfig>;
}

const FOLDERS = ["/usr/lib/postgresql/*/bin"];

function programs(): string {
  const found = findProgram("initdb", FOLDERS);
  if (found !== undefined && findProgram("postgres", [dirname(found)]) !== undefined) return dirname(found);
  install(["postgresql"], "a PostgreSQL server");
  const installed = findProgram("initdb", FOLDERS);
  if (installed === undefined) throw new Error("The PostgreSQL server was installed but is not to be found.");
  return dirname(installed);
}

/** Postgres does not run as root: then it runs as this user. */
function serverUser(): { readonly uid: number; readonly gid: number } | null {
  if (!isRoot()) return null;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string): number => Number(execFileSync("id", [flag, name], { stdio: "pipe" }).toString());
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // No such user here: the next one.
    }
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user postgres nor nobody.");
}

/** Its idle connections may be cut without ending the process. */
export function poolAt(place: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(place);
  pool.on("error", () => {});
  return pool;
}

export async function startPostgres(): Promise<PostgresService> {
  const bin = programs();
  const user = serverUser();
  const folder = mkdtempSync(join(tmpdir(), "batchwise-postgres-"));
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const as = user === null ? [] : ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  const run = ([program = "", ...args]: readonly string[]): void => {
    execFileSync(program, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  };
  run([...as, join(bin, "initdb"), "-D", data, "-U", "batchwise", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]);
  const port = await freePort();
  const config = { host: "127.0.0.1", port, user: "batchwise", database: "postgres" };
  const settings = ["max_connections=120", "unix_socket_directories=", "listen_addresses=127.0.0.1"];
  const child = await startProgram(
    [...as, join(bin, "postgres"), "-D", data, "-p", String(port), ...settings.flatMap((one) => ["-c", one])],
    folder,
    () => isReady(config),
  );
  let made = 0;
  return {
    port,
    place: async () => {
      made += 1;
      const name = `test_${made}`;
      await once(config, `CREATE SCHEMA ${name}`);
      return { ...config, options: `-c search_path=${name}` };
    },
    stop: async () => {
      await stopProgram(child, "SIGINT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function isReady(config: pg.PoolConfig): Promise<boolean> {
  await once(config, "SELECT 1");
  return true;
}

async function once(config: pg.PoolConfig, sql: string): Promise<void> {
  const client = new pg.Client(config);
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
