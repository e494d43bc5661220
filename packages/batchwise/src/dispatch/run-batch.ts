// A job from beginning to end: enqueues its requests, runs a dispatcher, gives all outcomes, and
// stops the dispatcher whichever way the iteration ends. All it knows of a job is in the store, so
// that the same call again goes on with it.

import { attempt } from "../core/contract/thenable.ts";
import { UnheardWarnings } from "../core/contract/unheard-warnings.ts";
import type { Dispatcher } from "./contract/dispatcher.ts";
import { DispatchError } from "./contract/errors.ts";
import type { JobOutcome, JobRequest } from "./contract/jobs.ts";
import type { LoggedOutcome } from "./contract/types.ts";
import { createDispatcherParts } from "./dispatcher.ts";
import { Producer } from "./intake/producer.ts";
import { keepJobDefaults } from "./ops/job-defaults.ts";
import { JobGuard } from "./ops/job-guard.ts";
import { JobPlaces } from "./ops/job-places.ts";
import { ProgressTeller } from "./ops/job-progress.ts";
import { type RunBatchOptions, type RunBatchPlan, runBatchOptions } from "./options/run-batch-options.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { waitOut } from "./runtime/wait-out.ts";

/**
 * Runs requests as one job and gives their outcomes, those of earlier runs included, in the order
 * they were recorded. It begins when the first outcome is asked for, and ends when each request of
 * the job has one. Whatever stops it (`break`, the signal, an error, a kill), all that was enqueued
 * is durable, and the same call again goes on: what the store has is not enqueued, nor paid for,
 * twice. The last batches do not wait for company. The store stays open.
 *
 * Several processes may run the same job on one store: each gives all outcomes, and they share the
 * work.
 *
 * The iteration rejects, once its dispatcher has stopped, with
 * - the signal's reason, or what `requests` threw;
 * - a DispatchError that names the request (`requests[17]: ...`) when no account takes it, or
 *   DUPLICATE_ID when it is not the one that an earlier run had; what came before it stays
 *   enqueued. With an array, before the first outcome; else outcomes of what came before it may
 *   come first;
 * - DEFAULTS_CHANGED, before anything is sent, when an earlier run of the job had other
 *   `requestDefaults`: see `onChange`;
 * - ACCOUNT_REFUSED, which names account and status, when the keys of all accounts that could go on
 *   with it are refused. Each account is asked once before the first upload, where a 403 is only
 *   told. Whatever else makes the job wait (no network, a limit that is used up) is told once to
 *   `onError` and stands in the progress, as `paused`;
 * - a QuarantinedError, which has the `keys`, when all that is left waits for a person; all
 *   outcomes come first;
 * - the store's error. A store that does not answer for a while is waited for, and told to
 *   `onError`.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or
 * out of range.
 *
 * @example
 * ```ts
 * import { type Account, memoryStore, runBatch } from "batchwise/dispatch";
 * async function classify(accounts: readonly Account[], texts: readonly string[]): Promise<void> {
 *   const messages = (content: string) => [{ role: "user", content }];
 *   const requests = texts.map((text) => ({ body: { model: "gpt-4o-mini", messages: messages(text) } }));
 *   const job = { store: memoryStore(), accounts, job: "night", requests };
 *   for await (const { index, status, response } of runBatch(job)) {
 *     console.log(index, status, response?.body);
 *   }
 * }
 * ```
 */
export function runBatch<Request extends JobRequest>(
  options: RunBatchOptions<Request>,
): AsyncIterableIterator<JobOutcome<Request>> {
  const plan = runBatchOptions(options);
  return outcomesOf(plan, expectReader(options));
}

/**
 * Reports a job whose outcomes nobody has asked for after a second. Returns what is called when
 * somebody does.
 */
function expectReader({ job, onError, clock }: Pick<RunBatchOptions, "job" | "onError" | "clock">): () => void {
  let isRead = false;
  const message = `runBatch({ job: "${job}" }) does nothing until its outcomes are read`;
  const error = new DispatchError("NOT_ITERATED", `${message}: for await (const outcome of runBatch(...)) { ... }`);
  const isHeard = (): boolean => {
    if (!isRead)
      attempt(
        () => onError?.(error, { operation: "work" }),
        () => {},
      );
    return isRead || onError !== undefined;
  };
  // On a clock of the caller's, as in tests, no time passes by itself.
  if (clock === undefined) new UnheardWarnings(isHeard, "Printed once a code.").add(error.code, error.message);
  return () => {
    isRead = true;
  };
}

async function* outcomesOf<Request extends JobRequest>(
  plan: RunBatchPlan<Request>,
  begin: () => void,
): AsyncGenerator<JobOutcome<Request>, void, undefined> {
  begin();
  plan.signal?.throwIfAborted();
  const run = new JobRun(plan);
  try {
    yield* run.outcomes();
  } finally {
    await run.end();
  }
}

class JobRun<Request extends JobRequest> {
  readonly #plan: RunBatchPlan<Request>;
  readonly #places: JobPlaces<Request>;
  readonly #runtime: Runtime;
  readonly #dispatcher: Dispatcher;
  readonly #producer: Producer;
  readonly #progress: ProgressTeller;
  readonly #guard: JobGuard;
  /** Settles once the accounts were asked. Never rejects. */
  #beginning: Promise<void> = Promise.resolve();
  /** Why the run ends; null while all goes well. */
  #fault: { readonly error: unknown } | null = null;

  constructor(plan: RunBatchPlan<Request>) {
    const { job, requests, onProgress } = plan;
    const { runtime, dispatcher, enqueuer } = createDispatcherParts(plan.dispatcher);
    this.#plan = plan;
    this.#places = new JobPlaces(job, requests);
    this.#runtime = runtime;
    this.#dispatcher = dispatcher;
    this.#producer = new Producer({ runtime, enqueuer, job, requests });
    this.#progress = new ProgressTeller({ runtime, job, produced: this.#producer, onProgress });
    const [onOpen, onStuck] = [() => dispatcher.start(), (error: DispatchError) => this.#end(error)];
    this.#guard = new JobGuard({ runtime, job, produced: this.#producer, onOpen, onStuck });
    plan.signal?.addEventListener("abort", this.#onAbort);
  }

  async *outcomes(): AsyncGenerator<JobOutcome<Request>, void, undefined> {
    const { job, signal } = this.#plan;
    await this.#keepDefaults();
    this.#progress.start();
    this.#beginning = this.#guard.start();
    const untilIdle = this.#produce();
    if (Array.isArray(this.#plan.requests)) await this.#stored(untilIdle);
    let [after, failures] = [0, 0];
    for (let isOver = false; !isOver; ) {
      try {
        for await (const outcome of this.#dispatcher.outcomes({ job, after, untilIdle })) {
          signal?.throwIfAborted();
          [after, failures] = [outcome.cursor, 0];
          this.#progress.add(outcome);
          yield this.#inTypes(outcome);
        }
        isOver = true;
      } catch (error) {
        // No wait mends it, not even where it is a store's error: the producer has waited, or it is
        // of the iterable.
        if (this.#fault !== null && !signal?.aborted) throw this.#fault.error;
        failures += 1;
        await waitOut(this.#runtime, signal?.aborted ? signal.reason : error, failures);
      }
    }
    signal?.throwIfAborted();
    if (this.#fault !== null) throw this.#fault.error;
  }

  async #keepDefaults(): Promise<void> {
    const { job, onChange, dispatcher, signal } = this.#plan;
    const { store, clock } = this.#runtime;
    const given = { job, requestDefaults: dispatcher.requestDefaults, onChange };
    for (let failures = 1; ; failures += 1) {
      try {
        await keepJobDefaults(store, given, clock.now());
        return;
      } catch (error) {
        await waitOut(this.#runtime, signal?.aborted ? signal.reason : error, failures);
      }
    }
  }

  /** Resolves when nothing of this run goes on. */
  async end(): Promise<void> {
    this.#plan.signal?.removeEventListener("abort", this.#onAbort);
    await Promise.all([this.#producer.stop(), this.#guard.stop(), this.#dispatcher.stop(), this.#beginning]);
    await this.#progress.end();
  }

  readonly #onAbort = (): void => {
    // Awaited, with its errors, at the end.
    this.#dispatcher.stop().catch(() => {});
  };

  /** Ends the iteration with this error, once it has given what is recorded. */
  #end(error: unknown): void {
    this.#fault ??= { error };
    this.#onAbort();
  }

  #produce(): Promise<void> {
    const produced = this.#producer.run().then(() => {
      // The job has all of its requests: no batch waits for more.
      if (!this.#runtime.isStopping) this.#dispatcher.flush();
    });
    // The iteration, which may not look at it any more, has the errors.
    produced.catch((error: unknown) => {
      this.#fault = { error };
    });
    return produced;
  }

  /**
   * All of an array is stored before the first outcome is given: a wrong request rejects before
   * any.
   */
  async #stored(produced: Promise<void>): Promise<void> {
    const { signal } = this.#runtime.stopping;
    if (signal.aborted) return;
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    await Promise.race([produced.catch(() => {}), stopped]);
    if (this.#fault !== null && !this.#runtime.isStopping) throw this.#fault.error;
  }

  #inTypes(outcome: LoggedOutcome): JobOutcome<Request> {
    // The types are the caller's word for what these requests have.
    return { ...outcome, ...this.#places.placeOf(outcome.id) } as JobOutcome<Request>;
  }
}
