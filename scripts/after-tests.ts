// What shared test support ends after each test, or removes after each test file. vitest runs a
// hook at the top level of a shared module only for the first file of a process that imports it;
// what is registered here runs for every file. run-after-tests.ts, a setup file, runs it.

type Cleanup = () => unknown;

const ofTest: Cleanup[] = [];
const ofFile: Cleanup[] = [];
let hasRunner = false;

/** Runs `cleanup` after each test of each file, for as long as the process lives. */
export function afterEachTest(cleanup: Cleanup): void {
  add(ofTest, cleanup);
}

/** Runs `cleanup` after the last test of each file, for as long as the process lives. */
export function afterEachFile(cleanup: Cleanup): void {
  add(ofFile, cleanup);
}

function add(cleanups: Cleanup[], cleanup: Cleanup): void {
  if (!hasRunner) throw new Error("Expected scripts/run-after-tests.ts among the setup files of the project.");
  cleanups.push(cleanup);
}

/** Called by the setup file, before the test file can register anything. */
export function registerRunner(): void {
  hasRunner = true;
}

export async function endTest(): Promise<void> {
  await runAll(ofTest);
}

export async function endFile(): Promise<void> {
  await runAll(ofFile);
}

/** The latest registered first, as vitest runs its hooks. All run, also if one fails. */
async function runAll(cleanups: readonly Cleanup[]): Promise<void> {
  const errors: unknown[] = [];
  for (const cleanup of cleanups.toReversed()) {
    try {
      await cleanup();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors, "Several cleanups failed.");
}
