// Returns the file's free pages to the file system, a few at a time. Only for databases created for
// that (auto_vacuum INCREMENTAL, like the store's own files); other free pages are reused.

import type { Connection } from "./database.ts";

const INCREMENTAL = 2;
/** Pages moved by one call, which holds the write lock meanwhile. */
const PAGES_A_CALL = 256;
/** This many free pages, or a tenth of the file, are kept for new rows. */
const SPARE_PAGES = 256;
const SPARE_SHARE = 0.1;

/** True if there are more pages to return. Takes its own lock. */
export function giveBack(db: Connection): boolean {
  if (figure(db, "auto_vacuum") !== INCREMENTAL) return false;
  const free = figure(db, "freelist_count");
  const spare = Math.max(SPARE_PAGES, figure(db, "page_count") * SPARE_SHARE);
  if (free <= spare) return false;
  db.exec(`PRAGMA incremental_vacuum(${PAGES_A_CALL})`);
  const left = figure(db, "freelist_count");
  // The file shrinks when the changes are checkpointed.
  if (left <= spare) db.get("PRAGMA wal_checkpoint(PASSIVE)");
  return left > spare && left < free;
}

function figure(db: Connection, pragma: string): number {
  const row = db.get<Record<string, number>>(`PRAGMA ${pragma}`);
  return Object.values(row ?? {})[0] ?? 0;
}
