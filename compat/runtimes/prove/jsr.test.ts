// Deno's type check of all sources before it would publish them. It takes a core half a minute; the
// rest of what Deno checks is in test/jsr.

import { expect, test } from "vitest";
import { deno } from "../deno.ts";

test("Deno finds no type error in the sources that it would publish", () => {
  const { status, output } = deno("publish", "--dry-run", "--allow-dirty");
  expect(status, output).toBe(0);
});
