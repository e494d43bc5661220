// How Postgres writes what the databases write differently.

import type { Dialect } from "../sql/dialect.ts";

export const postgres: Dialect = {
  among: (column, type) => `${column} = ANY(?::${type}[])`,
};
