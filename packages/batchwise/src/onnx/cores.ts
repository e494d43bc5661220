/**
 * Counts the processor cores that this process may use; the number of model threads follows it.
 *
 * Guarantees: at least 1. In a container, or a service with a quota, the result is the quota
 * (cgroup v2 or v1), rounded down, if that is less than the machine has. A limit that cannot be
 * read is ignored.
 */

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

const CGROUPS = "/sys/fs/cgroup";
/**
 * One line per hierarchy: its number, its controllers, and the path of this process's group in it.
 */
const OWN_GROUPS = "/proc/self/cgroup";
const GROUP_2 = /^0::(.*)$/m;
const GROUP_1 = /^\d+:(?:[^:\n]*,)?cpu(?:,[^:\n]*)?:(.*)$/m;

/** Reads a small file as text; throws if there is none. */
type Read = (path: string) => string;

const readText: Read = (path) => readFileSync(path, "utf8");

/**
 * The number of processor cores that this process may use: at least 1, and at most its container's
 * share. Call it without arguments: they are for tests.
 *
 * @example
 * ```ts
 * import { availableCores, onnxModel } from "batchwise/onnx";
 * const model = onnxModel({ path: "model.onnx", workers: availableCores() });
 * ```
 */
export function availableCores(cores: number = availableParallelism(), read: Read = readText): number {
  return Math.max(1, Math.min(cores, Math.floor(limitOf(read))));
}

/**
 * The smallest limit of the process's own group and all groups around it, in cores. Infinity if
 * there is no limit.
 */
function limitOf(read: Read): number {
  const groups = textOf(read, OWN_GROUPS) ?? "";
  const limits = [
    ...upwards(GROUP_2.exec(groups)?.[1]).map((group) => words(read, `${CGROUPS}${group}/cpu.max`)),
    ...upwards(GROUP_1.exec(groups)?.[1]).map((group) => [
      ...words(read, `${CGROUPS}/cpu${group}/cpu.cfs_quota_us`).slice(0, 1),
      ...words(read, `${CGROUPS}/cpu${group}/cpu.cfs_period_us`),
    ]),
  ];
  return Math.min(...limits.map(coresOf));
}

/**
 * A group's path and the paths of the groups around it. The root, the only group that a container
 * may see, is "".
 */
function upwards(path = ""): string[] {
  const names = path.split("/").filter((name) => name !== "");
  return [...names.keys(), names.length].map((count) =>
    names
      .slice(0, count)
      .map((name) => `/${name}`)
      .join(""),
  );
}

function coresOf([quota, period]: readonly string[]): number {
  const limit = Number(quota) / Number(period);
  // "No limit" is the word "max" in version 2 and -1 in version 1.
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}

/** Empty if the file cannot be read. */
function words(read: Read, path: string): string[] {
  return textOf(read, path)?.trim().split(/\s+/) ?? [];
}

function textOf(read: Read, path: string): string | undefined {
  try {
    return read(path);
  } catch {
    return undefined;
  }
}
