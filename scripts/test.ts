// Builds, runs every test, and ends with one line: `N passed, N failed`. The folders that
// integration tests need are installed while the unit tests run. A test file that does not load and
// an error outside any test count as failures, and so does a run without tests.

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { type Folder, install, tested } from "./folders.ts";
import { countResults, type VitestReport } from "./result-counts.ts";
import { run } from "./steps.ts";

const args = process.argv.slice(2);

/** Runs vitest with the script's arguments, adds its results to `files`; true if all passed. */
function runTests(projects: readonly string[], files: VitestReport["testResults"][number][]): boolean {
  const report = ".cache/vitest.json";
  rmSync(report, { force: true });
  const chosen = projects.map((name) => `--project ${name}`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const passed = run(["vitest run --passWithNoTests", ...chosen, ...reporters, ...args].join(" "));
  try {
    files.push(...(JSON.parse(readFileSync(report, "utf8")) as VitestReport).testResults);
  } catch {
    return false;
  }
  return passed;
}

mkdirSync(".cache", { recursive: true });
const testResults: VitestReport["testResults"][number][] = [];
let ended: boolean;

if (args.includes("vitest.prove.config.ts")) {
  // The site installs itself.
  await install(["compat/runtimes", "compat/frameworks"]);
  ended = run("node scripts/build.ts") && runTests([], testResults);
} else {
  // Unit tests need none but `bench`.
  const early: readonly Folder[] = ["bench"];
  await install(early);
  // Their processes are started here, and go on while this one waits for others.
  const installed = install(tested.filter((folder) => !early.includes(folder)));
  const built = run("node scripts/build.ts");
  const unitEnded = built && runTests(["unit", "own-process", "threads"], testResults);
  await installed;
  ended = built && runTests(["integration", "alone"], testResults) && unitEnded;
}
const { passed, failed, skipped } = countResults({ testResults }, ended);

for (const name of skipped) console.log(`skipped: ${name}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
