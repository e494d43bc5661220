// The Postgres forms of statements that differ between databases.

import type { Dialect } from "../sql/dialect.ts";
import { Column, type Columns, type SqlValue } from "../sql/statement.ts";
import { addUsage, USAGE } from "../sql/usage.ts";
import { record } from "./endings.ts";

/** Rows as a table of these columns. */
function tableOf(columns: Columns): string {
  return `unnest(${Object.values(columns)
    .map((type) => `?::${type}[]`)
    .join(", ")})`;
}

function columnsOf(columns: Columns, rows: readonly (readonly SqlValue[])[]): Column[] {
  return Object.keys(columns).map((_, place) => new Column(rows.map((row) => row[place] ?? null)));
}

export const postgres: Dialect = {
  among: (column, type) => `${column} = ANY(?::${type}[])`,
  readyAmong: "seq = ANY(?::bigint[])",
  // With an equation, the planner may scan only the other column's index, past all rows of other
  // values.
  ofOne: (column, order, value) =>
    `(${column}, ${order}) > (${value}, ?) AND ${column} <= ${value} ORDER BY ${column}, ${order}`,
  someOf: (table, where, order, most) =>
    `ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ${most} FOR UPDATE SKIP LOCKED))`,
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
  /** One statement: one per tenant would cost a round trip each, while earlier rows stay locked. */
  addUsage: (sums) => {
    const rows = sums.rows();
    return rows.length === 0
      ? []
      : [{ sql: addUsage(`SELECT * FROM ${tableOf(USAGE)}`), values: columnsOf(USAGE, rows) }];
  },
  insertRows: (into, columns, rows) => {
    if (rows.length === 0) return [];
    const sql = `INSERT INTO ${into} (${Object.keys(columns).join(", ")}) SELECT * FROM ${tableOf(columns)}`;
    return [{ sql, values: columnsOf(columns, rows) }];
  },
  updateRows: (table, { keys, sets, adds = {} }, rows) => {
    if (rows.length === 0) return [];
    const columns = { ...sets, ...adds, ...keys };
    const changes = [...Object.keys(sets).map((name) => `${name} = i.${name}`)];
    for (const name of Object.keys(adds)) changes.push(`${name} = r.${name} + i.${name}`);
    const sql = `UPDATE ${table} r SET ${changes.join(", ")} FROM ${tableOf(columns)}
      AS i (${Object.keys(columns).join(", ")}) WHERE ${Object.keys(keys)
        .map((name) => `r.${name} = i.${name}`)
        .join(" AND ")}`;
    return [{ sql, values: columnsOf(columns, rows) }];
  },
  withOwner: "",
  record,
};
