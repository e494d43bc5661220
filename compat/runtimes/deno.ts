// Runs Deno for tests, with a cache of its own.

import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { onTestFinished } from "vitest";
import { root, scratchFolder } from "../../packages/batchwise/test/house/repository.ts";
import { type Ended, programOf } from "../../packages/batchwise/test/tools/project.ts";

export const library: string = `${root}packages/batchwise/`;

/** Removed when the test has ended. */
export function scratch(name: string): string {
  const folder = scratchFolder(name);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Deno with a cache of its own, in the library's folder, whose jsr.json it reads. */
export function deno(...args: readonly string[]): Ended {
  const { status, stdout, stderr } = spawnSync(programOf("@deno/*/deno"), args, {
    cwd: library,
    env: { ...process.env, DENO_DIR: scratch("deno"), DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    encoding: "utf8",
    timeout: 600_000,
  });
  return { status, output: stdout + stderr };
}
