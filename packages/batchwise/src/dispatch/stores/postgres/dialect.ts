// The Postgres forms of statements that differ between databases.

import type { Dialect } from "../sql/dialect.ts";
import { usageStatements } from "./usage.ts";

export const postgres: Dialect = {
  among: (column, type) => `${column} = ANY(?::${type}[])`,
  readyAmong: "seq = ANY(?::bigint[])",
  // With an equation, the planner may scan only the other column's index, past all rows of other
  // values.
  ofOne: (column, order, value) =>
    `(${column}, ${order}) > (${value}, ?) AND ${column} <= ${value} ORDER BY ${column}, ${order}`,
  yes: (column) => column,
  no: (column) => `NOT ${column}`,
  lock: (table) => `FOR UPDATE OF ${table}`,
  lockFree: (table) => `FOR UPDATE OF ${table} SKIP LOCKED`,
  lockKept: (table) => `FOR KEY SHARE OF ${table}`,
  newLane: (kind) => {
    const next = "nextval(pg_get_serial_sequence('batchwise_lane', 'id'))";
    const id = kind === "group" ? `-${next}` : next;
    return `INSERT INTO batchwise_lane (id, name) VALUES (${id}, ?) ON CONFLICT (name) DO NOTHING`;
  },
  takeTurns: (purpose) => [
    { sql: "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", values: [`batchwise:${purpose}`] },
  ],
  addUsage: usageStatements,
};
