/** Reads machine, versions and commit, for the head of the report. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import os from "node:os";

const peerNames = ["dataloader", "@yornaath/batshit", "@tanstack/pacer", "promise-batcher", "async", "p-limit"];

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly node: string;
  readonly v8: string;
  readonly commit: string;
  readonly date: string;
  readonly loadAverage: number;
  readonly versions: readonly string[];
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

function commit(): string {
  try {
    const changed =
      git("status", "--porcelain", "--", "packages/batchwise/src", "packages/server/src") === ""
        ? ""
        : ", with local changes";
    return `${git("rev-parse", "--short", "HEAD")}${changed}`;
  } catch {
    return "not a git checkout";
  }
}

/** The version of a package that is installed for the benchmarks or at the root. */
export function versionOf(name: string): string {
  const files = ["..", "../.."].map(
    (folder) => new URL(`${folder}/node_modules/${name}/package.json`, import.meta.url),
  );
  const file = files.find((url) => existsSync(url));
  if (file === undefined) return `${name}, not installed`;
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return `${name} ${version}`;
}

export function describeMachine(): Machine {
  return {
    cpu: os.cpus()[0]?.model ?? "unknown",
    cores: os.availableParallelism(),
    memoryGb: Math.round(os.totalmem() / 2 ** 30),
    node: process.version,
    v8: process.versions.v8,
    commit: commit(),
    date: new Date().toISOString().slice(0, 10),
    loadAverage: os.loadavg()[0] ?? Number.NaN,
    versions: [versionOf("batchwise"), ...peerNames.map(versionOf)],
  };
}
