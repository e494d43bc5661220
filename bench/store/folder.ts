/**
 * A folder for one database, on the disk of BATCHWISE_BENCH_FOLDER, or among the system's temporary
 * files.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs `work` with a file name in a new folder, and removes the folder afterwards. */
export async function inFolder<Result>(work: (file: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(process.env.BATCHWISE_BENCH_FOLDER ?? tmpdir(), "batchwise-bench-"));
  try {
    return await work(join(folder, "store.db"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
