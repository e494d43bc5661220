// The entry "batchwise/dispatch/sqlite": names only.

export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./database.ts";
export type { SqliteStoreOptions } from "./open.ts";
export { sqliteStore } from "./sqlite-store.ts";
