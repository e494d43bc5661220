// The Node.js programs on which the tests run the built library: the oldest supported release, the
// oldest of 22 (without `require` of ES modules), the current one, and the latest. Only installed
// ones are used: npm has the others only for Linux on x64.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { root } from "../../packages/batchwise/test/house/repository.ts";

const installed = ["node-20", "node-22", "node-26"];

/** The programs with their versions. */
export function runtimes(): [version: string, file: string][] {
  const files = installed
    .map((name) => `${root}compat/runtimes/node_modules/${name}/bin/node`)
    .filter((file) => existsSync(file));
  return [...files, process.execPath].map((file) => [versionOf(file), file]);
}

/** The oldest of them. */
export function oldestRuntime(): string {
  const [[, file] = ["", process.execPath]] = runtimes();
  return file;
}

function versionOf(file: string): string {
  return execFileSync(file, ["--version"], { encoding: "utf8" }).trim();
}
