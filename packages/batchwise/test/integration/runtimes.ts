// The Node.js programs at hand: the one that runs the tests, and an older supported one where the machine has it.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter } from "node:path";

function versionOf(file: string): string {
  return execFileSync(file, ["--version"], { encoding: "utf8" }).trim();
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  return major === 20 ? minor >= 19 : major > 20 && major < 24;
}

/** Each with its version. */
export function runtimes(): [version: string, file: string][] {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  const older = folders.map((folder) => `${folder}/node`).find((file) => existsSync(file) && isOlder(versionOf(file)));
  const files = older === undefined ? [process.execPath] : [process.execPath, older];
  return files.map((file) => [versionOf(file), file]);
}
