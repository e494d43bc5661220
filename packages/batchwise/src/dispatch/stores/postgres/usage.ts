// Adds what a transaction counts to the sums, all of it by one statement: of a thousand tenants each would cost a round
// trip, with the rows before it locked.

import { addUsage, type UsageSums } from "../sql/usage.ts";
import type { Connection } from "./database.ts";

const TEXTS = 3;

export async function keepUsage(db: Connection, sums: UsageSums): Promise<void> {
  const rows = sums.rows();
  const [first] = rows;
  if (first === undefined) return;
  const lists = first.map((_, column) => `$${column + 1}::${column < TEXTS ? "text" : "bigint"}[]`);
  const columns = first.map((_, column) => rows.map((row) => row[column] ?? 0));
  await db.run(addUsage(`SELECT * FROM unnest(${lists.join(", ")})`), ...columns);
}
