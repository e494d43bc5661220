// Registers cleanup for shared test support, after each test or after each file. vitest runs a hook
// at the top level of a shared module only for the first file of a process that imports it. Cleanup
// registered here runs for every file: run-after-tests.ts, a setup file, runs it.

type Cleanup = () => unknown;

const ofTest: Cleanup[] = [];
const ofFile: Cleanup[] = [];
let hasRunner = false;

/** Runs `cleanup` after each test of each file, until the process ends. */
export function afterEachTest(cleanup: Cleanup): void {
  add(ofTest, cleanup);
}

/** Runs `cleanup` after the last test of each file, until the process ends. */
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

/**
 * Runs the cleanups in reverse order of registration, as vitest does. A failing one does not stop
 * the others.
 */
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
