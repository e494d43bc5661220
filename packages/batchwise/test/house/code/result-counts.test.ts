import { describe, expect, test } from "vitest";
import { countResults, type VitestReport } from "../../../../../scripts/result-counts.ts";

type Status = "passed" | "failed" | "skipped";

function report(...files: { status: "passed" | "failed"; tests: Status[] }[]): VitestReport {
  return {
    testResults: files.map(({ status, tests }, index) => ({
      name: `${index}.test.ts`,
      status,
      assertionResults: tests.map((test, place) => ({ status: test, fullName: `test ${place}` })),
    })),
  };
}

describe("the count of a test run", () => {
  test("adds up passed and failed tests of every file", () => {
    const run = report(
      { status: "passed", tests: ["passed", "passed"] },
      { status: "failed", tests: ["failed", "passed"] },
    );
    expect(countResults(run, false)).toEqual({ passed: 3, failed: 1, skipped: [] });
  });

  test("names skipped tests and counts them nowhere", () => {
    expect(countResults(report({ status: "passed", tests: ["passed", "skipped"] }), true)).toEqual({
      passed: 1,
      failed: 0,
      skipped: ["test 1"],
    });
  });

  test("counts a file that did not load as one failure", () => {
    expect(
      countResults(report({ status: "failed", tests: [] }, { status: "passed", tests: ["passed"] }), false),
    ).toMatchObject({
      passed: 1,
      failed: 1,
    });
  });

  test("counts a failure when every test passed but the run ended badly", () => {
    expect(countResults(report({ status: "passed", tests: ["passed"] }), false)).toMatchObject({
      passed: 1,
      failed: 1,
    });
  });

  test("counts a failure when the run left no report", () => {
    expect(countResults(undefined, false)).toEqual({ passed: 0, failed: 1, skipped: [] });
  });
});
