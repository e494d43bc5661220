// The entry "batchwise/dispatch/postgres": names only.

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./database.ts";
export type { PostgresStoreOptions } from "./options.ts";
export { postgresStore } from "./postgres-store.ts";
