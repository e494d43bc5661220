// Codes of errors, as stores keep them.

import { expect, test } from "vitest";
import { storedCode, withStoredCode } from "../../../src/dispatch/format/stored-code.ts";

test.each([
  ["a usual code", "rate_limit_exceeded", "rate_limit_exceeded"],
  ["no code", "", ""],
  ["a whole emoji", "odd 🙃", "odd 🙃"],
  ["a NUL character", "a\0b\0", "a\ufffdb\ufffd"],
  ["half an emoji", "odd \ud83d", "odd \ufffd"],
  ["a long text", "x".repeat(5_000), "x".repeat(256)],
  ["an emoji across the cut", `${"x".repeat(255)}🙃`, `${"x".repeat(255)}\ufffd`],
])("%s is stored as a text that every database takes", (_what, code, stored) => {
  expect(storedCode(code)).toBe(stored);
  expect(storedCode(stored)).toBe(stored);
});

test("an item whose code can be stored is left as it is", () => {
  const items = [
    { ord: 1, code: "usual" },
    { ord: 2, code: null },
  ];
  expect(items.map((item) => withStoredCode(item) === item)).toEqual([true, true]);
  expect(withStoredCode({ ord: 3, code: "a\0" })).toEqual({ ord: 3, code: "a\ufffd" });
});
