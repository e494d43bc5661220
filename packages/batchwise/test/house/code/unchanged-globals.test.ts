import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const vitest = fileURLToPath(new URL("../../../../../node_modules/vitest/vitest.mjs", import.meta.url));
const config = fileURLToPath(new URL("../fixtures/leftovers/vitest.config.ts", import.meta.url));

test("a test file that changes a global and does not restore it fails in its own name, and the next one has the real one", () => {
  const run = spawnSync(process.execPath, [vitest, "run", "--config", config, "--reporter=json"], {
    encoding: "utf8",
    env: { ...process.env, VITEST: undefined },
    timeout: 60_000,
  });
  const report: { readonly testResults: readonly { readonly name: string; readonly status: string }[] } = JSON.parse(
    run.stdout,
  );
  const files = report.testResults.map(({ name, status }) => `${name.split("/").at(-1)} ${status}`);
  expect(files.toSorted()).toEqual(["a-leaves-a-timer.fixture.ts failed", "b-sets-a-timer.fixture.ts passed"]);
  expect(run.stdout).toContain("Expected the file to leave the globals alone, it changed setTimeout.");
});
