// One run of a job: stores its requests, gives its outcomes while it does, and ends when the job is done. However the run
// ends, its dispatcher has stopped by then; the store stays open, and a later run goes on from what is in it.

import type { BatchOutcome } from "../contract/job.ts";
import type { LoggedOutcome } from "../contract/types.ts";
import { placeIn } from "../format/job-place.ts";
import type { JobOptions } from "../options/run-batch-options.ts";
import type { DispatcherParts, JobDispatcher } from "./parts.ts";
import { Patience } from "./patience.ts";
import { Producer } from "./producer.ts";
import { ProgressTeller } from "./progress.ts";

/** Makes the dispatcher when the first outcome is asked for. */
export async function* runJob(make: () => JobDispatcher, options: JobOptions): AsyncGenerator<BatchOutcome> {
  options.signal?.throwIfAborted();
  const run = new JobRun(make(), options);
  try {
    await run.start();
    for await (const outcome of run.outcomes()) {
      if (run.hasFailed) break;
      yield jobOutcome(outcome);
    }
  } catch (error) {
    run.fail(error);
  } finally {
    await run.stop();
  }
  run.throwFailure();
}

class JobRun {
  readonly #dispatcher: JobDispatcher;
  readonly #options: JobOptions;
  readonly #parts: DispatcherParts;
  readonly #producer: Producer;
  readonly #teller: ProgressTeller | null;
  #work: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;

  constructor(dispatcher: JobDispatcher, options: JobOptions) {
    this.#dispatcher = dispatcher;
    this.#options = options;
    this.#parts = dispatcher.parts;
    this.#producer = new Producer(this.#parts, options);
    const { job, onProgress } = options;
    this.#teller = onProgress === null ? null : new ProgressTeller(this.#parts, job, this.#producer, onProgress);
  }

  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  async start(): Promise<void> {
    this.#options.signal?.addEventListener("abort", this.#onAbort);
    await this.#dispatcher.start();
    this.#work = Promise.all([this.#produce().catch(this.fail), this.#teller?.run().catch(this.fail)]);
  }

  async #produce(): Promise<void> {
    await this.#producer.run();
    if (!this.#producer.isDone) return;
    // No batch waits for more, and the reader may find that nothing is left to wait for.
    this.#dispatcher.flush();
    this.#parts.runtime.watching.wake();
  }

  /** All of the job, from the first; waits until the job is done. Outlasts a store that is away for a while. */
  async *outcomes(): AsyncGenerator<LoggedOutcome> {
    const { runtime, reader } = this.#parts;
    const patience = new Patience(runtime, () => this.#producer.enqueued > 0);
    const { setBack } = runtime;
    const plan = { untilIdle: true, job: this.#options.job, isAllIn: () => this.#producer.isDone };
    for (let after = 0; ; ) {
      try {
        for await (const outcome of reader.outcomes({ ...plan, after })) {
          after = outcome.cursor;
          yield outcome;
        }
        return;
      } catch (error) {
        await patience.orThrow(error);
        if (runtime.setBack !== setBack) throw runtime.setBack;
      }
    }
  }

  /** Keeps the first error, and stops. */
  readonly fail = (error: unknown): void => {
    this.#failure ??= { error };
    void this.#dispatcher.stop();
  };

  async stop(): Promise<void> {
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    await this.#dispatcher.stop();
    await this.#work;
    try {
      await this.#teller?.tell();
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  readonly #onAbort = (): void => this.fail(this.#options.signal?.reason);
}

function jobOutcome(outcome: LoggedOutcome): BatchOutcome {
  return { ...outcome, ...placeIn(outcome.metadata) };
}
