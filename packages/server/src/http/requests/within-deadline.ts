/**
 * Work that ends when its caller leaves or its time is up.
 *
 * Guarantees: the signal that the work gets aborts with the caller's, and with 504 after
 * `timeoutMs`; no timer is left. Does not end work that does not look at its signal.
 */

import { deadlineExceeded } from "../errors.ts";

/** A timer of Node.js that is set for longer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export async function withinDeadline<Value>(
  caller: AbortSignal,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  if (timeoutMs > LONGEST_TIMER_MS) return work(caller);
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(deadlineExceeded()), timeoutMs);
  try {
    return await work(AbortSignal.any([caller, deadline.signal]));
  } finally {
    clearTimeout(timer);
  }
}
