// Marks as rows. Each change compares and sets in one statement.

import type { MarkChange, MarkRow } from "../../contract/store/ledger-rows.ts";
import { all, run, type Steps } from "./steps.ts";

/** All marks by name, after the changes. */
export function* changeMarks(changes: readonly MarkChange[]): Steps<MarkRow[]> {
  for (const change of changes) yield* changeMark(change);
  const rows = yield* all<MarkRow>("SELECT name, value FROM batchwise_mark");
  return rows.map(({ name, value }) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function* changeMark({ name, expected, value }: MarkChange): Steps<void> {
  if (expected !== null && value !== null) {
    yield* run("UPDATE batchwise_mark SET value = ? WHERE name = ? AND value = ?", value, name, expected);
  } else if (expected !== null) {
    yield* run("DELETE FROM batchwise_mark WHERE name = ? AND value = ?", name, expected);
  } else if (value !== null) {
    yield* run("INSERT INTO batchwise_mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, value);
  }
}
