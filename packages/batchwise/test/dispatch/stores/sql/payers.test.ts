// Two processes that start, or one and a batch, never wait for each other's payers.

import { expect, test } from "vitest";
import { postgres } from "../../../../src/dispatch/stores/postgres/dialect.ts";
import { changePayers } from "../../../../src/dispatch/stores/sql/payers.ts";
import { follow } from "../../../../src/dispatch/stores/sql/steps.ts";

function statements(names: readonly string[]): string[] {
  const changes = names.map((name) => ({ name, limit: 1, spent: 0 }));
  const seen: string[] = [];
  follow(changePayers(postgres, changes, []), ({ sql, values }) => {
    const [first] = values;
    seen.push(sql.startsWith("INSERT") ? `write ${first}` : sql.includes("FOR ") ? "lock all in order" : "read");
    return [];
  });
  return seen;
}

test("payers are locked in the order of the database, and new ones are written in one order", () => {
  const inOrder = ["lock all in order", "write a", "write b", "write c", "read"];
  expect(statements(["b", "c", "a"])).toEqual(inOrder);
  expect(statements(["c", "a", "b"])).toEqual(inOrder);
});
