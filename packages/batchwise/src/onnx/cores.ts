/**
 * The processor cores that this process may use, which is what decides how many model threads pay.
 *
 * Guarantees: at least 1. In a container it is the container's share (cgroup v2 or v1), rounded down, where that is
 * less than the machine has; a limit that cannot be read is none.
 */

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

const CGROUP_2 = "/sys/fs/cgroup/cpu.max";
const CGROUP_1_QUOTA = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
const CGROUP_1_PERIOD = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";

/** Reads a small file as text; throws where there is none. */
type Read = (path: string) => string;

const readText: Read = (path) => readFileSync(path, "utf8");

/**
 * The processor cores that this process may use: at least 1, and no more than its container's share. Call it without
 * arguments: they are for tests.
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

/** In cores; Infinity where there is no limit. */
function limitOf(read: Read): number {
  const [quota, period] = words(read, CGROUP_2) ?? [
    words(read, CGROUP_1_QUOTA)?.[0],
    words(read, CGROUP_1_PERIOD)?.[0],
  ];
  const limit = Number(quota) / Number(period);
  // No limit is the word "max" in version 2, and -1 in version 1.
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}

function words(read: Read, path: string): string[] | undefined {
  try {
    return read(path).trim().split(/\s+/);
  } catch {
    return undefined;
  }
}
