// Builds, runs every test, and ends with one line: `N passed, N failed`. A test file that does not
// load and an error outside any test count as failures, and so does a run without tests.
//
// Unit tests use the time that integration tests leave to the processor while they wait for servers
// and processes: they run beside them, with a lower priority. They begin earlier, while the folders
// are installed that only integration tests need. Tests that measure time come last, by themselves.
// `--built`: the build is done.

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { type Folder, install, tested } from "./folders.ts";
import { countResults, type VitestReport } from "./result-counts.ts";
import { run, runBeside, runQuietly } from "./steps.ts";

const args = process.argv.slice(2).filter((arg) => arg !== "--built");
const NICENESS = 10;

interface Part {
  readonly passed: boolean;
  readonly files: VitestReport["testResults"];
  readonly seconds: number;
}

const FAILED: Part = { passed: false, files: [], seconds: 0 };

/** Runs vitest on these projects with the script's arguments. `start` runs the command. */
async function runPart(projects: readonly string[], start: (command: string) => Promise<boolean>): Promise<Part> {
  const report = `.cache/vitest-${projects[0] ?? "all"}.json`;
  rmSync(report, { force: true });
  const chosen = projects.map((name) => `--project ${name}`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const startedAt = performance.now();
  const passed = await start(["vitest run --passWithNoTests", ...chosen, ...reporters, ...args].join(" "));
  const seconds = (performance.now() - startedAt) / 1000;
  try {
    return { passed, files: (JSON.parse(readFileSync(report, "utf8")) as VitestReport).testResults, seconds };
  } catch {
    return { passed: false, files: [], seconds };
  }
}

/** Its output is printed when it ends, so that it does not mix with another's. */
async function runAtLowPriority(command: string): Promise<boolean> {
  const { passed, output } = await runQuietly(command, ".", NICENESS);
  process.stdout.write(`\n== unit tests\n${output}`);
  return passed;
}

/** Resolves with false, and prints why, if an installation fails. */
async function installed(wanted: readonly Folder[]): Promise<boolean> {
  try {
    await install(wanted);
    return true;
  } catch (error) {
    console.error((error as Error).message);
    return false;
  }
}

async function everyTest(): Promise<Record<string, Part>> {
  // Unit tests need none but `bench`.
  const early: readonly Folder[] = ["bench"];
  if (!(await installed(early))) return {};
  const restInstalled = installed(tested.filter((folder) => !early.includes(folder)));
  if (!process.argv.includes("--built") && !(await runBeside("node scripts/build.ts"))) {
    await restInstalled;
    return {};
  }
  process.env.BATCHWISE_BESIDE = "1";
  const unit = runPart(["unit"], runAtLowPriority);
  const integration = (await restInstalled) ? await runPart(["integration"], runBeside) : FAILED;
  const parts = { unit: await unit, integration };
  return { ...parts, "by themselves": await runPart(["own-process", "threads", "alone"], runBeside) };
}

async function proofs(): Promise<Record<string, Part>> {
  // The site installs itself.
  if (!(await installed(["compat/runtimes", "compat/frameworks", "compat/versions"]))) return {};
  return run("node scripts/build.ts") ? { prove: await runPart([], runBeside) } : {};
}

mkdirSync(".cache", { recursive: true });
const parts = await (args.includes("vitest.prove.config.ts") ? proofs() : everyTest());
const all = Object.values(parts);
const testResults = all.flatMap(({ files }) => files);
const { passed, failed, skipped } = countResults({ testResults }, all.length > 0 && all.every((part) => part.passed));

for (const name of skipped) console.log(`skipped: ${name}`);
for (const [name, part] of Object.entries(parts)) {
  console.log(`${part.passed ? "ok  " : "FAIL"}  ${name} (${part.files.length} files, ${part.seconds.toFixed(0)} s)`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
