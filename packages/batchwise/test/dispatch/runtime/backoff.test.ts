import { expect, test } from "vitest";
import { backoff } from "../../../src/dispatch/runtime/backoff.ts";

test("waits double from the first to the most", () => {
  expect([0, 1, 2, 3, 60].map((count) => backoff(5, 40, count))).toEqual([5, 5, 10, 20, 40]);
});
