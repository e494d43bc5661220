// Brings the tables of a database to the present version, or says why it cannot: another encoding,
// a missing right, tables of a later version, or older processes at work.

import { DispatchError } from "../../contract/errors.ts";
import { refuseUnfit, schemaVersion } from "../sql/schema-version.ts";
import { type Connection, type Place, write } from "./database.ts";
import { STEPS } from "./schema.ts";

const ENCODINGS: readonly string[] = ["UTF8", "SQL_ASCII"];

/**
 * The advisory lock under which one process at a time makes the tables. The number is arbitrary:
 * another program that uses the database must not lock the same one.
 */
const MIGRATION_LOCK = 7_305_128_419;

/** Brings the tables to the present version. Needs no right to make any where they are there. */
export async function migrate(place: Place): Promise<void> {
  await write(place, async (db) => {
    await refuseEncoding(db);
    if (place.schema !== null) await refuseSchema(db, place.schema);
    await db.run("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK);
    const version = await versionOf(db);
    if (version === STEPS.length) return;
    // By the server's clock, as the leases.
    await db.follow(refuseUnfit(version, STEPS.length, "extract(epoch FROM clock_timestamp()) * 1000"));
    for (const step of STEPS.slice(version)) await db.run(step);
    await db.run("CREATE TABLE IF NOT EXISTS batchwise_schema (version BIGINT NOT NULL)");
    await db.run("DELETE FROM batchwise_schema");
    await db.run("INSERT INTO batchwise_schema VALUES ($1)", STEPS.length);
  });
}

/** In others many characters cannot be written: one fails all requests of its commit. */
async function refuseEncoding(db: Connection): Promise<void> {
  const row = await db.get<{ encoding: string }>("SELECT current_setting('server_encoding') AS encoding");
  const encoding = row?.encoding ?? "UTF8";
  if (ENCODINGS.includes(encoding)) return;
  const message = `The database has the encoding ${encoding}, which lacks characters that requests have.`;
  throw new DispatchError("STORE_SCHEMA", `${message} Make one with UTF8 (CREATE DATABASE ... ENCODING 'UTF8').`);
}

/**
 * A path passes over a schema that is not there, or not to be used. Throws 3F000 with its name for
 * the first.
 */
async function refuseSchema(db: Connection, schema: string): Promise<void> {
  const right = await db.get<{ has: boolean }>("SELECT has_schema_privilege($1, 'USAGE') AS has", schema);
  if (right?.has) return;
  throw new DispatchError("STORE_FORBIDDEN", `The role misses a right: USAGE on the schema "${schema}".`);
}

/** True where the connection sees the tables in the present version. */
export async function isMigrated(db: Connection): Promise<boolean> {
  return (await versionOf(db)) === STEPS.length;
}

function versionOf(db: Connection): Promise<number> {
  return db.follow(schemaVersion("SELECT 1 WHERE to_regclass('batchwise_schema') IS NOT NULL"));
}
