// The folder belongs to one process at a time: two would each write every result. The lock is one that the system keeps
// on an open SQLite file and takes back when the process ends, however it ends. So there is no stale lock to delete.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Refusal } from "./refusal.ts";

/** Throws a Refusal where another process has the folder. Kept until `close`, or the end of this process. */
export function lockFolder(folder: string): { close(): void } {
  const lock = new DatabaseSync(join(folder, "process.lock"));
  const pidFile = join(folder, "process.pid");
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    // Only to name it: the lock alone decides.
    const pid = existsSync(pidFile) ? readFileSync(pidFile, "utf8") : "";
    throw new Refusal(`${folder} is in use by process ${pid}; end it, or choose another --folder.`);
  }
  writeFileSync(pidFile, String(process.pid));
  return lock;
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}
