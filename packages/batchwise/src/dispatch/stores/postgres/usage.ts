// Adds all counts of a transaction to the sums in one statement: one per tenant would cost a round
// trip each, while earlier rows stay locked.

import { numbered, type Statement } from "../sql/statement.ts";
import { addUsage, type UsageAdditions } from "../sql/usage.ts";
import type { Connection } from "./database.ts";

const TEXTS = 3;

/** One statement, or none. */
export function usageStatements(sums: UsageAdditions): Statement[] {
  const rows = sums.rows();
  const [first] = rows;
  if (first === undefined) return [];
  const lists = first.map((_, column) => `?::${column < TEXTS ? "text" : "bigint"}[]`);
  const values = first.map((_, column) => rows.map((row) => row[column] ?? 0));
  return [{ sql: addUsage(`SELECT * FROM unnest(${lists.join(", ")})`), values }];
}

export async function keepUsage(db: Connection, sums: UsageAdditions): Promise<void> {
  for (const statement of usageStatements(sums)) await db.run(numbered(statement), ...statement.values);
}
