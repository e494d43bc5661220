// Counts the results of a vitest run. Pure.

/** The used part of vitest's JSON report. */
export interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

export interface ResultCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

/**
 * `ended`: the run itself succeeded. A file that failed without a failed test (it did not load, a
 * hook threw) counts once; so does a run that failed although every test passed, or that wrote no
 * report.
 */
export function countResults(report: VitestReport | undefined, ended: boolean): ResultCounts {
  let passed = 0;
  let failed = 0;
  const skipped: string[] = [];
  for (const file of report?.testResults ?? []) {
    const statuses = file.assertionResults.map((test) => test.status);
    const failures = statuses.filter((status) => status === "failed").length;
    passed += statuses.filter((status) => status === "passed").length;
    failed += file.status === "failed" ? Math.max(1, failures) : failures;
    for (const test of file.assertionResults) {
      if (test.status !== "passed" && test.status !== "failed") skipped.push(test.fullName);
    }
  }
  if (!ended && failed === 0) failed = 1;
  return { passed, failed, skipped };
}
