// How SQLite writes what the databases write differently. A list is bound as JSON. Nothing is locked: one transaction
// writes at a time.

import type { Dialect } from "../sql/dialect.ts";

export const sqlite: Dialect = {
  among: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  lock: "",
  takeTurns: () => [],
};
