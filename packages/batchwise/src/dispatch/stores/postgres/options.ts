// The options of the Postgres store, checked once.

import { check, checkIsObject, objectWith, type Rule, refuseUnknown } from "../../../core/contract/validate.ts";
import type { Place, PostgresPool } from "./database.ts";

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * A node-postgres pool, or a compatible one. The store never ends it. Give it an `error`
   * listener: without one, node-postgres ends the process when an idle connection is cut.
   */
  readonly pool: PostgresPool;
  /**
   * The schema of the tables, as in the catalog, without quotes. It must exist. For pools whose
   * search path you cannot set, such as behind a pooler. Each transaction of the store sets the
   * path only for itself; `enqueueIn` restores it before it resolves. Default: the first schema of
   * the connection's search path.
   */
  readonly schema?: string;
}

/** Postgres truncates longer names. */
const MOST_BYTES = 63;

const A_SCHEMA: Rule = {
  expected: `the name of a schema, of 1 to ${MOST_BYTES} bytes`,
  type: "string",
  test: (name: string) => name !== "" && !name.includes("\0") && new TextEncoder().encode(name).length <= MOST_BYTES,
};

export function resolvePostgresStoreOptions(options: PostgresStoreOptions): Place {
  checkIsObject("options", options);
  refuseUnknown(options, ["pool", "schema"]);
  const { pool, schema } = options;
  check("pool", objectWith("connect"), pool);
  if (schema !== undefined) check("schema", A_SCHEMA, schema);
  return { pool, schema: schema ?? null };
}
