// What shared test support ends after each test, or removes after each test file. vitest runs a
// hook at the top level of a shared module only for the first file of a process that imports it;
// what is registered here runs for every file. run-after-tests.ts, a setup file, runs it.

type End = () => unknown;

const ofTest: End[] = [];
const ofFile: End[] = [];
let isRun = false;

/** Runs `end` after each test of each file, for as long as the process lives. */
export function afterEachTest(end: End): void {
  add(ofTest, end);
}

/** Runs `end` after the last test of each file, for as long as the process lives. */
export function afterEachFile(end: End): void {
  add(ofFile, end);
}

function add(ends: End[], end: End): void {
  if (!isRun) throw new Error("Expected scripts/run-after-tests.ts among the setup files of the project.");
  ends.push(end);
}

export function willBeRun(): void {
  isRun = true;
}

export async function endTest(): Promise<void> {
  await runAll(ofTest);
}

export async function endFile(): Promise<void> {
  await runAll(ofFile);
}

/** The latest registered first, as vitest runs its hooks. All run, also if one fails. */
async function runAll(ends: readonly End[]): Promise<void> {
  const errors: unknown[] = [];
  for (const end of ends.toReversed()) {
    try {
      await end();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors, "Several ends failed.");
}
