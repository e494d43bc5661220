// Gives the file's free pages back to the file system, a few at a time. Only where the database was
// made for that (auto_vacuum INCREMENTAL, as the store's own new files are); what stays free is
// used by what comes next.

import type { Connection } from "./database.ts";

const INCREMENTAL = 2;
/** Moved by one call: it holds the writing lock for so long. */
const PAGES_A_CALL = 256;
/** So many free pages, or a tenth of the file, are kept for what comes next. */
const SPARE_PAGES = 256;
const SPARE_SHARE = 0.1;

/** True when there are more pages to give back. Takes its own lock. */
export function giveBack(db: Connection): boolean {
  if (figure(db, "auto_vacuum") !== INCREMENTAL) return false;
  const free = figure(db, "freelist_count");
  const spare = Math.max(SPARE_PAGES, figure(db, "page_count") * SPARE_SHARE);
  if (free <= spare) return false;
  db.exec(`PRAGMA incremental_vacuum(${PAGES_A_CALL})`);
  const left = figure(db, "freelist_count");
  // The file itself is cut when what was written is copied back.
  if (left <= spare) db.get("PRAGMA wal_checkpoint(PASSIVE)");
  return left > spare && left < free;
}

function figure(db: Connection, pragma: string): number {
  const row = db.get<Record<string, number>>(`PRAGMA ${pragma}`);
  return Object.values(row ?? {})[0] ?? 0;
}
