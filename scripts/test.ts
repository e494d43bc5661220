// Installs the folders that tests need, builds, runs every test, and ends with one line:
// `N passed, N failed`. A test file that does not load and an error outside any test count as
// failures, and so does a run without tests.

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { install, tested } from "./folders.ts";
import { countResults, type VitestReport } from "./result-counts.ts";
import { run } from "./steps.ts";

const reportFile = ".cache/vitest.json";

function report(): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(reportFile, "utf8")) as VitestReport;
  } catch {
    return undefined;
  }
}

mkdirSync(".cache", { recursive: true });
rmSync(reportFile, { force: true });

// The proving tests need these folders; the site installs itself.
await install(process.argv.includes("vitest.prove.config.ts") ? ["compat/runtimes", "compat/frameworks"] : tested);

const ended =
  run("node scripts/build.ts") &&
  run(
    `vitest run --reporter=default --reporter=json --outputFile.json=${reportFile} ${process.argv.slice(2).join(" ")}`.trim(),
  );
const { passed, failed, skipped } = countResults(report(), ended);

for (const name of skipped) console.log(`skipped: ${name}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
