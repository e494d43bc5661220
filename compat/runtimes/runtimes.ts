// The Node.js programs that the tests run the built library on: the oldest supported release, the
// oldest of 22 (it has no `require` of ES modules), the one that runs the tests, and the latest.
// Those that are installed are tried: npm has the others for Linux on x64 alone.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { root } from "../../packages/batchwise/test/house/repository.ts";

const installed = ["node-20", "node-22", "node-26"];

/** Each with its version. */
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
