import { expect, test } from "vitest";
import { FailureCounts } from "../../../../src/dispatch/batches/collect/end-batch.ts";

test("failures in a row are counted by key, until it succeeds", () => {
  const failures = new FailureCounts(1_000);
  expect([failures.failed("a", 0), failures.failed("b", 1), failures.failed("a", 2)]).toEqual([1, 1, 2]);
  failures.succeeded("a");
  expect(failures.failed("a", 3)).toBe(1);
});

test("a batch that another process has ended is forgotten, and one that keeps failing is not", () => {
  const failures = new FailureCounts(1_000);
  for (let n = 0; n < 5_000; n += 1) {
    failures.failed(`batch ${n}`, n);
    if (n % 500 === 0) expect(failures.failed("mine", n)).toBe(n / 500 + 1);
  }
  expect(failures.size).toBeLessThanOrEqual(1_001);
});
