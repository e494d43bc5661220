// Calls an account within a timeout and the lease. The call rejects after the timeout, even if the
// client ignores the signal. The account classifies errors; our own timeouts and aborts are
// classified here.

import type { Account, CallOptions } from "../contract/account.ts";
import type { Failure, Operation } from "../contract/failures.ts";
import { atOnce } from "../format/at-once.ts";
import { readable } from "../format/client-error.ts";
import { secretsOf } from "../format/secrets.ts";
import type { Lease } from "./lease/lease.ts";
import type { Runtime } from "./runtime.ts";

/** The call took longer than its timeout, so its result is unknown. */
export class CallTimeout extends Error {}

/**
 * Real time in ms that a test clock waits for an answer: the other side may wait for that clock.
 */
export const HELD_MS = 100;

type Run<T> = (call: CallOptions) => Promise<T>;

/**
 * One call about a batch. Rejects with the client's error, a CallTimeout, or the signal's reason.
 */
export function callFor<T>(runtime: Runtime, lease: Lease, run: Run<T>): Promise<T> {
  return bounded(runtime, runtime.timeFor(lease.account.requestTimeoutMs), [lease.signal], run);
}

/** A call that changes nothing at the provider, so a stop aborts it too. */
export function readFor<T>(runtime: Runtime, lease: Lease, run: Run<T>): Promise<T> {
  const timeoutMs = runtime.timeFor(lease.account.requestTimeoutMs);
  return bounded(runtime, timeoutMs, [lease.signal, runtime.stopping.signal], run);
}

/** One call within `atMostMs` and the run's time. Any of the signals aborts it earlier. */
export function bounded<T>(runtime: Runtime, atMostMs: number, cuts: readonly AbortSignal[], run: Run<T>): Promise<T> {
  const { budget } = runtime;
  // The run's own timer ends the call: with a second one, either might be first. The client gets a
  // later limit for the same reason.
  const isRuns = budget !== null && budget.leftMs <= atMostMs;
  const timeoutMs = isRuns ? budget.endsInMs : atMostMs;
  const signals = budget === null ? cuts : [...cuts, budget.signal];
  return new Promise<T>((resolve, reject) => {
    const cut = new AbortController();
    const stop = (reason: unknown): void => {
      cut.abort(reason);
      reject(reason);
    };
    const late = (): void => stop(new CallTimeout(`No answer within ${timeoutMs} ms.`));
    const timer = isRuns ? null : runtime.clock.setTimeout(late, timeoutMs);
    const forget = onAbort(signals, stop);
    const done = (): void => {
      runtime.clock.clearTimeout(timer);
      forget();
    };
    // A synchronous error counts like a rejection.
    const call = async (): Promise<unknown> =>
      cut.signal.aborted ? undefined : run({ signal: cut.signal, timeoutMs });
    runtime.clock
      .hold(call(), HELD_MS)
      .then(
        (value) => resolve(value as T),
        (error: unknown) => reject(runtime.secrets.error(readable(error))),
      )
      .finally(done);
  });
}

/**
 * Calls `listener` with the reason once one of the signals is aborted. Returns a function that
 * stops it.
 */
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

/** Classifies an error of a call, without the account's secrets. */
export function failureOf(account: Account, error: unknown, operation: Operation): Failure {
  if (error instanceof CallTimeout) return { kind: "unknown", code: "timeout", message: error.message };
  return secretsOf(account).error(atOnce(account, "classify", account.classify(error, operation))) as Failure;
}
