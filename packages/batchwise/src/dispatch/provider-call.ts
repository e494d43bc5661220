// Calls on an account, each bounded by its own time and by the lease: whatever the client does with the signal, the
// caller is free again when the time is over. What a failed call means is the account's to say, but for our own cuts.

import type { Account, CallOptions, Failure, Operation } from "./provider.ts";
import type { Room } from "./room.ts";
import type { Tenure } from "./tenure.ts";

/** Our own cut: the call took longer than it may. What became of it is unknown. */
export class CallTimeout extends Error {}

/** One call about a batch. Rejects with the client's error, a CallTimeout, or the signal's reason. */
export function callFor<T>(room: Room, tenure: Tenure, run: (call: CallOptions) => Promise<T>): Promise<T> {
  return bounded(room, tenure.account.requestTimeoutMs, tenure.signal, run);
}

/** One call within `timeoutMs`; `signal` cuts it earlier. */
export function bounded<T>(
  room: Room,
  timeoutMs: number,
  signal: AbortSignal,
  run: (call: CallOptions) => Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cut = new AbortController();
    const stop = (reason: unknown): void => {
      cut.abort(reason);
      reject(reason);
    };
    const onAbort = (): void => stop(signal.reason);
    const timer = room.clock.setTimeout(() => stop(new CallTimeout(`No answer within ${timeoutMs} ms.`)), timeoutMs);
    const done = (): void => {
      room.clock.clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
    Promise.resolve(cut.signal.aborted ? undefined : run({ signal: cut.signal, timeoutMs }))
      .then((value) => resolve(value as T), reject)
      .finally(done);
  });
}

/** What an error of a call means for the batch. */
export function failureOf(account: Account, error: unknown, operation: Operation): Failure {
  if (error instanceof CallTimeout) return { kind: "unknown", code: "timeout", message: error.message };
  return account.classify(error, operation);
}
