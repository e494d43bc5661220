// `npm test` where a step before the tests fails. Stand-ins for npm, vitest and the build run in an
// empty folder.

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { folders } from "../../../../../scripts/folders.ts";
import { root, scratchFolder } from "../repository.ts";

const REPORT = {
  testResults: [{ name: "a.test.ts", status: "passed", assertionResults: [{ status: "passed", fullName: "a" }] }],
};
/** npm installs `bench`, and fails elsewhere. */
const npm = `process.exit(process.cwd().endsWith("/bench") ? 0 : 1)`;
const vitest = `const file = process.argv.find((arg) => arg.startsWith("--outputFile"));
process.getBuiltinModule("node:fs").writeFileSync(file.split("=")[1], ${JSON.stringify(JSON.stringify(REPORT))})`;

/** Runs the command with a build that takes 0.3 s. */
function runTests(buildCode: number): { status: number | null; stdout: string; stderr: string } {
  const cwd = scratchFolder("test-command");
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  for (const folder of [...folders, "bin", "scripts"]) mkdirSync(`${cwd}${folder}`, { recursive: true });
  for (const [name, text] of Object.entries({ npm, vitest })) {
    writeFileSync(`${cwd}bin/${name}`, `#!${process.execPath}\n${text}\n`, { mode: 0o755 });
  }
  writeFileSync(`${cwd}scripts/build.ts`, `setTimeout(() => process.exit(${buildCode}), 300);\n`);
  const env = { ...process.env, PATH: `${cwd}bin${delimiter}${process.env.PATH}` };
  return spawnSync(process.execPath, [`${root}scripts/test.ts`], { cwd, env, encoding: "utf8", timeout: 20_000 });
}

test("an installation that fails while the build runs fails the integration tests, and the others run", () => {
  const { status, stdout, stderr } = runTests(0);
  expect(stdout).toMatch(/ok {4}unit .*\nFAIL {2}integration .*\nok {4}by themselves .*\n2 passed, 1 failed\n$/);
  expect(stderr).toMatch(/^npm ci failed in compat\/\w+\s*$/);
  expect(status).toBe(1);
});

test("a build that fails beside an installation that fails ends the run with its count", () => {
  expect(runTests(1)).toMatchObject({ status: 1, stdout: expect.stringMatching(/\n0 passed, 1 failed\n$/) });
});
