// Texts and counts from outside, as stores keep them.

import { expect, test } from "vitest";
import { storedCode, storedJson, storedTokens } from "../../../src/dispatch/format/stored-code.ts";

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

test("texts inside of JSON are cut one by one, and short JSON stays as it is", () => {
  expect(storedJson('{"a":"b\\u0000"}')).toBe('{"a":"b\\u0000"}');
  const long = storedJson(JSON.stringify({ code: "c", message: "x".repeat(50_000), tries: 2 }));
  expect(JSON.parse(long)).toEqual({ code: "c", message: "x".repeat(20_000), tries: 2 });
});

test("counts of tokens are whole, and not too large to be added up", () => {
  const odd = { inputTokens: 10.5, cachedTokens: Number.NaN, outputTokens: 1e300, reasoningTokens: -1 };
  const stored = { inputTokens: 10, cachedTokens: 0, outputTokens: 1e9, reasoningTokens: 0 };
  expect(storedTokens(odd)).toEqual(stored);
  expect(storedTokens({ inputTokens: 7 })).toEqual({
    ...{ inputTokens: 7, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  });
});
