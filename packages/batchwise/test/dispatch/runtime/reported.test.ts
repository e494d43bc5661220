import { expect, test } from "vitest";
import { Reported } from "../../../src/dispatch/runtime/reported.ts";

test("a name is noted again only after its time, or once it was forgotten", () => {
  const reported = new Reported();
  expect(reported.note("a", 0, 100)).toBe(true);
  expect(reported.note("a", 99, 100)).toBe(false);
  expect(reported.note("a", 100, 100)).toBe(true);
  expect(reported.note("b", 100, Number.POSITIVE_INFINITY)).toBe(true);
  expect(reported.note("b", 1e15, 100)).toBe(false);
  reported.forget("b");
  expect(reported.note("b", 1e15, 100)).toBe(true);
});

test("a hundred thousand names that are never noted again take no quadratic time", () => {
  const reported = new Reported();
  const names = Array.from({ length: 100_000 }, (_, index) => index);
  expect(names.every((name) => reported.note(String(name), name / 1_000, Number.POSITIVE_INFINITY))).toBe(true);
});
