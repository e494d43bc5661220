// Two processes that start, or one and a batch, never wait for each other's payers.

import { expect, test } from "vitest";
import { postgres } from "../../../../src/dispatch/stores/postgres/dialect.ts";
import { changePayers } from "../../../../src/dispatch/stores/sql/payers.ts";
import { follow } from "../../../../src/dispatch/stores/sql/steps.ts";

function nameOf(sql: string, first: unknown): string {
  if (sql.includes("advisory")) return "take turns";
  if (sql.startsWith("INSERT")) return `write ${first}`;
  return sql.includes("FOR ") ? "lock all in order" : "read";
}

function statements(names: readonly string[]): string[] {
  const changes = names.map((name) => ({ name, limit: 1, spent: 0 }));
  const seen: string[] = [];
  follow(changePayers(postgres, changes, []), ({ sql, values }) => {
    seen.push(nameOf(sql, values[0]));
    return [];
  });
  return seen;
}

test("one transaction at a time changes payers, after it has locked those that exist in one order", () => {
  const begin = ["take turns", "lock all in order"];
  expect(statements(["b", "c", "a"])).toEqual([...begin, "write b", "write c", "write a", "read"]);
  expect(statements(["c", "a"])).toEqual([...begin, "write c", "write a", "read"]);
});
