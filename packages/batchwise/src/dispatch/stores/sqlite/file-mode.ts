// Makes a database's file before SQLite does, so that it is private from its first byte on,
// whatever the umask. SQLite gives its -wal and -shm the mode of the file. A file that is there
// keeps its mode.

import { closeSync, fchmodSync, openSync } from "node:fs";
import { fileOf, makesFile } from "./address.ts";

/** `path`: as the driver takes it. */
export function makeFile(path: string, mode: number): void {
  const file = fileOf(path);
  if (file === null || !makesFile(path)) return;
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx", mode);
  } catch {
    // It is there, or SQLite cannot make it either and says so.
    return;
  }
  try {
    // The umask has taken bits away.
    fchmodSync(descriptor, mode);
  } catch {
    // Some file systems have no modes.
  } finally {
    closeSync(descriptor);
  }
}
