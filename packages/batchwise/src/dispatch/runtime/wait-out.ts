// Waits while the store does not answer, for callers that can repeat the failed call.

import type { DispatchClock } from "../contract/dispatcher-options.ts";
import { DispatchError } from "../contract/errors.ts";
import { backoff } from "./backoff.ts";
import type { Runtime } from "./runtime.ts";

const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 30_000;
const AWAY: readonly string[] = ["STORE_UNAVAILABLE", "STORE_READ_ONLY"];

/**
 * Reports a store that does not answer, or accepts nothing for now, and resolves after a pause,
 * longer after each failure. Throws every other error, and any error once the dispatcher stops.
 */
export async function waitOut(runtime: Runtime, error: unknown, failures: number): Promise<void> {
  const isAway = error instanceof DispatchError && AWAY.includes(error.code) && error.retryable;
  if (!isAway || runtime.isStopping) throw error;
  runtime.reportShared(error, { operation: "store" });
  // A listener may have stopped the dispatcher.
  if (runtime.isStopping) throw error;
  await pause(runtime.clock, backoff(FIRST_PAUSE_MS, LAST_PAUSE_MS, failures), [runtime.stopping.signal]);
  if (runtime.isStopping) throw error;
}

/** Ends early when one of the signals aborts. */
export function pause(clock: DispatchClock, ms: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clock.clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.setTimeout(end, ms);
    for (const signal of signals) signal.addEventListener("abort", end);
  });
}
