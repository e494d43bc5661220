// The priority of threads that work for the event loop's thread.

import { setPriority } from "node:os";

/** The event loop's thread goes first where both want a core. */
const NICENESS = 5;

/**
 * Lowers the priority of this thread. On Linux a thread has one of its own; elsewhere nothing is
 * changed.
 */
export function letOthersGoFirst(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, NICENESS);
  } catch {
    // Not allowed here: all threads stay alike.
  }
}
