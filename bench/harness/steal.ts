/**
 * The share of processor time that the hypervisor of a rented machine gave to other machines, by
 * Linux's count: one cause of a slow run that can be detected without looking at its result.
 */
import { readFileSync } from "node:fs";

/** Ticks since the machine started, over all processors. */
interface Ticks {
  readonly stolen: number;
  readonly all: number;
}

/** The eighth figure of the first line of /proc/stat (proc(5)). */
const STOLEN = 7;
/** Later figures are included in earlier ones. */
const COUNTED = 8;

/** All zero on a system without the count. */
export function readTicks(): Ticks {
  try {
    return parseTicks(readFileSync("/proc/stat", "utf8"));
  } catch {
    return { stolen: 0, all: 0 };
  }
}

function parseTicks(stat: string): Ticks {
  const [line = ""] = stat.split("\n", 1);
  const figures = line
    .trim()
    .split(/\s+/)
    .slice(1, 1 + COUNTED)
    .map(Number);
  return { stolen: figures[STOLEN] ?? 0, all: figures.reduce((sum, ticks) => sum + ticks, 0) };
}

/** The share of time since then that went to other machines: 0 to 1. */
export function stolenSince(since: Ticks): number {
  const now = readTicks();
  const all = now.all - since.all;
  return all > 0 ? (now.stolen - since.stolen) / all : 0;
}
