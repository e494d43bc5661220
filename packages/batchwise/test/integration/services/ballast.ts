// Fills a small disk to its last byte, and frees space on it again.

import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";

function fileIn(folder: string): string {
  return join(folder, "ballast");
}

export function fillDisk(folder: string): void {
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) appendFileSync(fileIn(folder), Buffer.alloc(size));
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ENOSPC") throw error;
    }
  }
}

export function emptyDisk(folder: string): void {
  rmSync(fileIn(folder), { force: true });
}
