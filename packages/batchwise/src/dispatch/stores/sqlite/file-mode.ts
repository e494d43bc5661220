// Creates a database's file before SQLite does, so that it is private from its first byte, whatever
// the umask. SQLite gives its -wal and -shm the file's mode. An existing file keeps its mode.

import { closeSync, fchmodSync, openSync } from "node:fs";
import { fileOf, makesFile } from "./address.ts";

/** `path`: as the driver accepts it. */
export function makeFile(path: string, mode: number): void {
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
