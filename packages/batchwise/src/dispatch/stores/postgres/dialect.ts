// How Postgres writes what the databases write differently.

import type { Dialect } from "../sql/dialect.ts";

export const postgres: Dialect = {
  among: (column, type) => `${column} = ANY(?::${type}[])`,
  lock: " FOR UPDATE",
  takeTurns: (account) => [
    { sql: "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", values: [`batchwise:${account}`] },
  ],
};
