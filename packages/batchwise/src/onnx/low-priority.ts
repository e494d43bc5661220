// Lowers the priority of threads that work for the event loop's thread.

import { setPriority } from "node:os";

/** High enough that the event loop's thread runs first when both want a core. */
const NICENESS = 5;

/**
 * Lowers the priority of this thread. Works on Linux, where each thread has its own priority;
 * elsewhere it changes nothing.
 */
export function letOthersGoFirst(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, NICENESS);
  } catch {
    // Not permitted here: all threads keep the same priority.
  }
}
