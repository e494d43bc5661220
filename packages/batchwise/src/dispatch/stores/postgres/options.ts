// The options of the Postgres store, checked once.

import { check, checkIsObject, objectWith, refuseUnknown } from "../../../core/contract/validate.ts";
import type { PostgresPool } from "./database.ts";

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /** A pool of node-postgres, or one that answers alike. The store never ends it. Give it an `error` listener: without
   * one, node-postgres ends the process when an idle connection is cut. */
  readonly pool: PostgresPool;
}

export function resolvePostgresStoreOptions(options: PostgresStoreOptions): PostgresStoreOptions {
  checkIsObject("options", options);
  refuseUnknown(options, ["pool"]);
  check("pool", objectWith("connect"), options.pool);
  return { pool: options.pool };
}
