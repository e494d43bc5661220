import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const vitest = fileURLToPath(new URL("../../../../../node_modules/vitest/vitest.mjs", import.meta.url));
const config = fileURLToPath(new URL("../fixtures/leftovers/vitest.config.ts", import.meta.url));

test("a test file that leaves a global, a variable or a listener fails in its own name, and the next one finds none", () => {
  const run = spawnSync(process.execPath, [vitest, "run", "--config", config, "--reporter=json"], {
    encoding: "utf8",
    env: { ...process.env, VITEST: undefined },
    timeout: 60_000,
  });
  const report: { readonly testResults: readonly { readonly name: string; readonly status: string }[] } = JSON.parse(
    run.stdout,
  );
  const files = report.testResults.map(({ name, status }) => `${name.split("/").at(-1)} ${status}`);
  expect(files.toSorted()).toEqual(["a-leaves-things.fixture.ts failed", "b-finds-none.fixture.ts passed"]);
  expect(run.stdout).toContain("it changed setTimeout, process.env.BATCHWISE_LEFT, listeners of warning.");
});
