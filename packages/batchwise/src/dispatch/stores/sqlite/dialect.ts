// The SQLite forms of statements that differ between databases. A list is bound as JSON. Nothing is
// locked, because one transaction writes at a time.

import type { Dialect } from "../sql/dialect.ts";

export const sqlite: Dialect = {
  among: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  readyAmong: "seq IN (SELECT value FROM json_each(?))",
  ofOne: (column, order, value) => `${column} = ${value} AND ${order} > ? AND ${column} = ${value} ORDER BY ${order}`,
  yes: (column) => `${column} = 1`,
  no: (column) => `${column} = 0`,
  lock: () => "",
  lockFree: () => "",
  lockKept: () => "",
  newLane: (kind) => {
    const id = kind === "group" ? "min(coalesce(min(id), 0), 0) - 1" : "max(coalesce(max(id), 0), 0) + 1";
    return `INSERT INTO batchwise_lane (id, name) VALUES ((SELECT ${id} FROM batchwise_lane), ?)
      ON CONFLICT (name) DO NOTHING`;
  },
  takeTurns: () => [],
  addUsage: (sums) => sums.statements(),
};
