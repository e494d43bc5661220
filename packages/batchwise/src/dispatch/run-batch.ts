// Runs a whole job: enqueues its requests, runs a dispatcher, yields all outcomes, and stops the
// dispatcher however the iteration ends. The store has the whole state of a job, so the same call
// again resumes it.

import { attempt } from "../core/contract/thenable.ts";
import { UnheardWarnings } from "../core/contract/unheard-warnings.ts";
import type { OutputSchema } from "./contract/checks.ts";
import type { Dispatcher } from "./contract/dispatcher.ts";
import { DispatchError } from "./contract/errors.ts";
import type { JobOutcome, JobRequest } from "./contract/jobs.ts";
import type { JsonObject, LoggedOutcome } from "./contract/types.ts";
import { createDispatcherParts } from "./dispatcher.ts";
import { keepJobDefaults } from "./jobs/job-defaults.ts";
import { JobGuard } from "./jobs/job-guard.ts";
import { JobPlaces } from "./jobs/job-places.ts";
import { ProgressTeller } from "./jobs/job-progress.ts";
import { parsedValue } from "./jobs/output-check.ts";
import { PriceGuard } from "./jobs/price-guard.ts";
import { Producer } from "./jobs/producer.ts";
import { type RunBatchOptions, type RunBatchPlan, runBatchOptions } from "./jobs/run-batch-options.ts";
import { refuseForgottenLimit } from "./prices/price-limits.ts";
import { bounded } from "./runtime/provider-calls.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { waitOut } from "./runtime/wait-out.ts";

/** Maximum time in which a schema parses one value. */
const VALUE_MS = 60_000;

/**
 * Runs requests as one job and yields their outcomes, including those of earlier runs, in the order
 * of recording. Begins when the first outcome is read and ends when each request of the job has
 * one. After any stop (`break`, the signal, an error, a crash) all enqueued requests are durable,
 * and the same call again resumes the job: stored requests are not enqueued or paid for twice. The
 * last batches do not wait to fill. The store stays open.
 *
 * Several processes may run the same job on one store: each yields all outcomes, and they share the
 * work.
 *
 * The iteration rejects, once its dispatcher has stopped, with
 * - the signal's reason, or an error of `requests`;
 * - a DispatchError that names the request (`requests[17]: ...`) if no account takes it, or
 *   DUPLICATE_ID if an earlier run had another one; earlier requests stay enqueued. With an array,
 *   before the first outcome; else outcomes of earlier requests may come first;
 * - DEFAULTS_CHANGED, before anything is sent, if an earlier run of the job had other
 *   `requestDefaults` or another `schema`: see `onChange`;
 * - ACCOUNT_REFUSED, which names account and status, if the keys of all accounts that could
 *   continue are refused. Each account is checked once before the first upload; a 403 there is only
 *   reported. Any other reason to wait (no network, a reached limit) is reported once to `onError`
 *   and shown in the progress as `paused`;
 * - MODEL_REFUSED, which names it, if the providers of all accounts that could continue refuse the
 *   model, also of a request sent alone. Stored bodies keep their model: run corrected ones as
 *   another job;
 * - a PriceLimitError, with the figures, if `maxPrice` allows no further request and no batch is
 *   open that could release money; PRICE_LIMIT in words, before anything is sent, for a limit that
 *   an earlier run gave and this one does not;
 * - a QuarantinedError with the `keys`, if all remaining requests need an operator; all outcomes
 *   come first;
 * - the store's error. A store that does not answer for a while is waited for and reported to
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
export function runBatch<Request extends JobRequest, Output = undefined>(
  options: RunBatchOptions<Request, Output>,
): AsyncIterableIterator<JobOutcome<Request, Output>> {
  const plan = runBatchOptions(options);
  // The type of values is the schema's.
  return outcomesOf(plan, expectReader(options)) as AsyncIterableIterator<JobOutcome<Request, Output>>;
}

/**
 * Reports a job whose outcomes are not read within a second. Returns a function to call when they
 * are.
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
  // A caller's clock, as in tests, does not advance by itself, so there is no timer for the
  // warning.
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
  readonly #priceGuard: PriceGuard;
  /** Settles once the accounts were checked. Never rejects. */
  #beginning: Promise<void> = Promise.resolve();
  /** The error that ends the run; null while there is none. */
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
    this.#priceGuard = new PriceGuard({ runtime, job, produced: this.#producer, onStuck });
    plan.signal?.addEventListener("abort", this.#onAbort);
  }

  async *outcomes(): AsyncGenerator<JobOutcome<Request>, void, undefined> {
    const { job, signal } = this.#plan;
    await this.#keepDefaults();
    this.#progress.start();
    this.#priceGuard.start();
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
          yield await this.#inTypes(outcome);
        }
        isOver = true;
      } catch (error) {
        // A wait would not help, even for a store's error: the producer has already waited, or the
        // iterable threw it.
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
    const { store, clock, limits, accounts } = this.#runtime;
    const isSent = accounts.some(({ capabilities }) => capabilities.jsonSchemas !== undefined);
    const schema = isSent ? (dispatcher.check?.jsonSchema ?? null) : null;
    const given = {
      job,
      requestDefaults: dispatcher.requestDefaults,
      onChange,
      ...(schema === null ? {} : { schema }),
    };
    for (let failures = 1; ; failures += 1) {
      try {
        await keepJobDefaults(store, given, clock.now());
        await refuseForgottenLimit(store, job, dispatcher);
        await limits.keep();
        return;
      } catch (error) {
        await waitOut(this.#runtime, signal?.aborted ? signal.reason : error, failures);
      }
    }
  }

  /** Resolves when nothing of this run is active. */
  async end(): Promise<void> {
    this.#plan.signal?.removeEventListener("abort", this.#onAbort);
    await Promise.all([
      this.#producer.stop(),
      this.#guard.stop(),
      this.#priceGuard.stop(),
      this.#dispatcher.stop(),
      this.#beginning,
    ]);
    await this.#progress.end();
  }

  readonly #onAbort = (): void => {
    // Awaited, with its errors, at the end.
    this.#dispatcher.stop().catch(() => {});
  };

  /** Ends the iteration with this error, after it has yielded all recorded outcomes. */
  #end(error: unknown): void {
    this.#fault ??= { error };
    this.#onAbort();
  }

  #produce(): Promise<void> {
    const produced = this.#producer.run().then(() => {
      // The job has all of its requests, so no batch needs to wait.
      if (!this.#runtime.isStopping) this.#dispatcher.flush();
    });
    // The iteration throws the errors, unless it has already ended.
    produced.catch((error: unknown) => {
      this.#fault = { error };
    });
    return produced;
  }

  /** Waits until an array is stored, so that a wrong request rejects before the first outcome. */
  async #stored(produced: Promise<void>): Promise<void> {
    const { signal } = this.#runtime.stopping;
    if (signal.aborted) return;
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    await Promise.race([produced.catch(() => {}), stopped]);
    if (this.#fault !== null && !this.#runtime.isStopping) throw this.#fault.error;
  }

  async #inTypes(outcome: LoggedOutcome): Promise<JobOutcome<Request>> {
    const { schema } = this.#plan;
    const { status, response } = outcome;
    const isParsed = schema !== null && status === "succeeded" && response !== null;
    const value = isParsed ? { value: await this.#valueOf(schema, outcome.id, response.body) } : {};
    // The caller's types describe these requests.
    return { ...outcome, ...this.#places.placeOf(outcome.id), ...value } as JobOutcome<Request>;
  }

  /** undefined if the schema now rejects the answer, throws, or does not answer in time. */
  async #valueOf(schema: OutputSchema, id: string, body: JsonObject): Promise<unknown> {
    try {
      const { signal } = this.#runtime.stopping;
      return await bounded(this.#runtime, VALUE_MS, [signal], () => parsedValue(schema, body));
    } catch (error) {
      this.#plan.signal?.throwIfAborted();
      const message = `The value of "${id}" could not be parsed.`;
      this.#runtime.report(new DispatchError("CHECK_FAILED", message, error), { operation: "work" });
      return undefined;
    }
  }
}
