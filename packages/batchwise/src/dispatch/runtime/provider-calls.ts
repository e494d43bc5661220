// Calls on an account, each bounded by its own time and by the lease: whatever the client does with the signal, the
// caller is free again when the time is over. What a failed call means is the account's to say, but for our own cuts.

import type { Account, CallOptions, Failure, Operation } from "../contract/account.ts";
import type { Tenure } from "./lease.ts";
import type { Room } from "./runtime.ts";

/** Our own cut: the call took longer than it may. What became of it is unknown. */
export class CallTimeout extends Error {}

type Run<T> = (call: CallOptions) => Promise<T>;

/** One call about a batch. Rejects with the client's error, a CallTimeout, or the signal's reason. */
export function callFor<T>(room: Room, tenure: Tenure, run: Run<T>): Promise<T> {
  return bounded(room, tenure.account.requestTimeoutMs, [tenure.signal], run);
}

/** One that changes nothing at the provider, and so is cut as well when the dispatcher stops. */
export function readFor<T>(room: Room, tenure: Tenure, run: Run<T>): Promise<T> {
  return bounded(room, tenure.account.requestTimeoutMs, [tenure.signal, room.stopping.signal], run);
}

/** One call within `timeoutMs`; any of the signals cuts it earlier. */
export function bounded<T>(room: Room, timeoutMs: number, cuts: readonly AbortSignal[], run: Run<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cut = new AbortController();
    const stop = (reason: unknown): void => {
      cut.abort(reason);
      reject(reason);
    };
    const timer = room.clock.setTimeout(() => stop(new CallTimeout(`No answer within ${timeoutMs} ms.`)), timeoutMs);
    const forget = onAbort(cuts, stop);
    const done = (): void => {
      room.clock.clearTimeout(timer);
      forget();
    };
    Promise.resolve(cut.signal.aborted ? undefined : run({ signal: cut.signal, timeoutMs }))
      .then((value) => resolve(value as T), reject)
      .finally(done);
  });
}

/** Calls back with the reason of a signal that is aborted, or once one is. Gives back how to stop listening. */
export function onAbort(signals: readonly AbortSignal[], listener: (reason: unknown) => void): () => void {
  const heard = (event: Event): void => listener((event.target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) listener(signal.reason);
    else signal.addEventListener("abort", heard);
  }
  return () => {
    for (const signal of signals) signal.removeEventListener("abort", heard);
  };
}

/** What an error of a call means for the batch. */
export function failureOf(account: Account, error: unknown, operation: Operation): Failure {
  if (error instanceof CallTimeout) return { kind: "unknown", code: "timeout", message: error.message };
  return account.classify(error, operation);
}
