/**
 * Ends work when its caller leaves or its time is up.
 *
 * Guarantees: the work's signal aborts with the caller's, and with 504 after `timeoutMs`. No timer
 * is left. Work that does not read its signal is not ended.
 */

import { deadlineExceeded } from "../errors.ts";

/** A longer timer of Node.js fires at once. */
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
