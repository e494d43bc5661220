// Marks as rows. Each change is one statement that looks and writes at once.

import type { MarkChange, MarkRow } from "../../contract/rows.ts";
import type { Statement } from "./statement.ts";

export function changeMarks(changes: readonly MarkChange[]): Statement[] {
  return changes.flatMap(({ name, expected, value }) => {
    if (expected === null) return value === null ? [] : added(name, value);
    if (value === null) return removed(name, expected);
    return { sql: "UPDATE batchwise_mark SET value = ? WHERE name = ? AND value = ?", values: [value, name, expected] };
  });
}

function removed(name: string, expected: string): Statement {
  return { sql: "DELETE FROM batchwise_mark WHERE name = ? AND value = ?", values: [name, expected] };
}

function added(name: string, value: string): Statement {
  const sql = "INSERT INTO batchwise_mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING";
  return { sql, values: [name, value] };
}

export function readMarks(): Statement {
  return { sql: "SELECT name, value FROM batchwise_mark", values: [] };
}

/** By name, whatever order the database has for texts. */
export function markRows(raws: readonly MarkRow[]): MarkRow[] {
  return raws.map(({ name, value }) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1));
}
