// The entry "batchwise/dispatch/postgres": names only.

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult, PostgresTransaction } from "./database.ts";
export type { PostgresStoreOptions } from "./options.ts";
export { type PostgresStore, postgresStore } from "./postgres-store.ts";
