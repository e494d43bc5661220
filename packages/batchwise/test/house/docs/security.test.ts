import { expect, test } from "vitest";
import { textOf } from "../repository.ts";
import { missingOf, referencesIn, rowsIn } from "./references.ts";

test("each attack on the page on security has its defence, and tests that exist", () => {
  const attacks = rowsIn(textOf("docs/security.md"));
  expect(attacks.length).toBeGreaterThan(40);
  for (const row of attacks) {
    expect(row, row[0]).toHaveLength(3);
    const references = referencesIn(`| ${row[2]} |`);
    expect(references.length, row[0]).toBeGreaterThan(0);
    expect(missingOf(references)).toEqual([]);
  }
});
