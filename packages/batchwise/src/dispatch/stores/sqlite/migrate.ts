// Brings the tables of a database to the present version, or says why it cannot.

import type { DispatchError } from "../../contract/errors.ts";
import { newerSchema, refuseUnfit, schemaVersion } from "../sql/schema-version.ts";
import type { Connection } from "./database.ts";
import { STEPS } from "./schema.ts";

/**
 * Migrates the tables to the current version. Writes nothing if they are current, so readers may
 * call it.
 */
export function migrate(db: Connection): void {
  if (versionOf(db) === STEPS.length) return;
  db.write(() => {
    // Checked again under the lock: another process may just have migrated.
    const version = versionOf(db);
    if (version === STEPS.length) return;
    // By this machine's clock, which the older processes share.
    db.follow(refuseUnfit(version, STEPS.length, String(Date.now())));
    for (const step of STEPS.slice(version)) db.exec(step);
    db.exec("CREATE TABLE IF NOT EXISTS batchwise_schema (version INTEGER NOT NULL)");
    db.exec(`DELETE FROM batchwise_schema; INSERT INTO batchwise_schema VALUES (${STEPS.length})`);
  });
}

/**
 * The error of a failed statement if a later version has changed the tables since this connection
 * was opened; else null.
 */
export function changedSince(db: Connection, cause: unknown): DispatchError | null {
  const version = versionOf(db);
  return version > STEPS.length ? newerSchema(version, STEPS.length, cause) : null;
}

function versionOf(db: Connection): number {
  return db.follow(schemaVersion("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'batchwise_schema'"));
}
