// `runDue`: runs the loops for a limited time, for platforms without lasting processes. Each run
// has its own runtime over the dispatcher's store and acts like a process that starts, works until
// nothing is due, and stops. So runs may overlap, and a killed run equals a crashed process. It
// ends its calls in time and gives every lease back.

import type { Flushes } from "../../batches/seal/flushes.ts";
import { Sealer } from "../../batches/seal/sealer.ts";
import { sweeper } from "../../batches/sweep/sweep.ts";
import { sweepPlaces } from "../../batches/sweep/sweep-place.ts";
import { SWEEP_EVERY_MS } from "../../batches/sweep/sweep-schedule.ts";
import { Workers } from "../../batches/workers.ts";
import { DispatchError, isPermanentFault } from "../../contract/errors.ts";
import type { DueReport } from "../../contract/operations.ts";
import { storedCode } from "../../format/stored-code.ts";
import type { RunDuePlan } from "../../options/call-options.ts";
import { Budget } from "../../runtime/budget.ts";
import { giveDutyBack, takeDuty } from "../../runtime/duty.ts";
import { CallTimeout, onAbort } from "../../runtime/provider-calls.ts";
import { refuseBrokenStore } from "../../runtime/refuse-broken-store.ts";
import { Runtime } from "../../runtime/runtime.ts";
import { dueReport } from "./due-report.ts";
import { Loops } from "./loops.ts";

const DUTY = "sweep in runs";
const REPORT_AGAIN_MS = 500;
/** Minimum time of the last writes, and of the report. */
const LEAST_MS = 250;

export class DueRuns {
  readonly #parent: Runtime;
  readonly #flushes: Flushes;
  readonly #open: Set<Promise<unknown>> = new Set();
  #count = 0;
  #isStoreChecked = false;

  constructor(parent: Runtime, flushes: Flushes) {
    this.#parent = parent;
    this.#flushes = flushes;
  }

  run(plan: RunDuePlan): Promise<DueReport> {
    const run = this.#run(plan);
    this.#keep(run);
    return run;
  }

  /** Resolves when no run is active. The parent's stop has aborted them. */
  async idle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  async #run({ maxMs, signal }: RunDuePlan): Promise<DueReport> {
    signal?.throwIfAborted();
    const { options, clock } = this.#parent;
    clock.believe();
    this.#count += 1;
    const budget = new Budget(clock, maxMs);
    const owner = storedCode(`${options.owner} ${this.#count}`);
    const run = new DueRun(new Runtime({ ...options, owner }, { parent: this.#parent, budget }), this.#flushes);
    // The one timer of the run: a call that it cuts off is never taken for a failed one.
    const timer = clock.setTimeout(() => run.stop("The time of the run is over."), budget.leftMs);
    const stopped = [this.#parent.stopping.signal];
    const aborted = signal === undefined ? [] : [signal];
    // A stop lets creates be answered. After an abort, a later run finds out their results.
    const forgetStop = onAbort(stopped, () => run.stop(null));
    const forgetAbort = onAbort(aborted, () => run.stop("The run was aborted."));
    const cuts = [...aborted, ...stopped];
    const ending = async (): Promise<void> => {
      await run.end();
      clock.clearTimeout(timer);
      forgetStop();
      forgetAbort();
    };
    try {
      await this.#refuseBrokenStore(run);
      await run.work();
    } finally {
      // A store that hangs does not hold the caller.
      await this.#inTime(ending(), budget, []);
    }
    for (const cut of cuts) cut.throwIfAborted();
    return this.#inTime(this.#report(run, budget), budget, cuts).then((report) => report ?? refuseReport());
  }

  async #refuseBrokenStore({ runtime }: DueRun): Promise<void> {
    if (this.#isStoreChecked) return;
    await refuseBrokenStore(runtime);
    this.#isStoreChecked = !runtime.isStopping;
  }

  /** Reads the report, and again after errors of the store, while there is time. */
  async #report(run: DueRun, budget: Budget): Promise<DueReport> {
    for (;;) {
      try {
        return await dueReport(this.#parent, run);
      } catch (error) {
        if (isPermanentFault(error) || this.#parent.isStopping || budget.endsInMs <= REPORT_AGAIN_MS) throw error;
        await this.#parent.sleep(REPORT_AGAIN_MS);
      }
    }
  }

  /**
   * Resolves with the result, or with null when the time of the run has ended. Rejects with the
   * reason of a signal.
   */
  async #inTime<T>(work: Promise<T>, { endsInMs }: Budget, cuts: readonly AbortSignal[]): Promise<T | null> {
    const { clock } = this.#parent;
    this.#keep(work);
    return new Promise<T | null>((resolve, reject) => {
      const timer = clock.setTimeout(() => resolve(null), Math.max(LEAST_MS, endsInMs));
      const forget = onAbort(cuts, reject);
      work.then(resolve, reject).finally(() => {
        clock.clearTimeout(timer);
        forget();
      });
    });
  }

  #keep(work: Promise<unknown>): void {
    const open = work.then(
      () => {},
      () => {},
    );
    this.#open.add(open);
    open.finally(() => this.#open.delete(open));
  }
}

function refuseReport(): never {
  const message = "The store did not answer in the time of the run. Its work is kept; a later run continues.";
  throw new DispatchError("STORE_UNAVAILABLE", message);
}

class DueRun {
  readonly runtime: Runtime;
  readonly sealer: Sealer;
  /** True if nothing was due at its end. */
  isDone = false;
  readonly #workers: Workers;
  readonly #loops: Loops;
  #end: () => void = () => {};

  constructor(runtime: Runtime, flushes: Flushes) {
    this.runtime = runtime;
    this.#workers = new Workers(runtime);
    this.sealer = new Sealer(runtime, this.#workers, flushes);
    this.#loops = new Loops({ runtime, workers: this.#workers, sealer: this.sealer });
  }

  /** The next delivery of the run's sinks. */
  get deliveryAt(): number {
    return Math.min(this.runtime.calling.nextAt, this.runtime.posting.nextAt);
  }

  /** Resolves when nothing is due, or after `stop`. */
  async work(): Promise<void> {
    if (this.runtime.isStopping) return;
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    let seen = 0;
    this.runtime.onRest = () => {
      if (!this.#loops.isResting) return;
      // Requests that returned to their lane are sealed again.
      const isLast = seen === this.#workers.ended;
      seen = this.#workers.ended;
      if (!isLast) this.runtime.sealing.wake();
      else if (!this.isDone) {
        this.isDone = true;
        this.#end();
      }
    };
    this.#loops.start(this.#sweepInTurn());
    await ended;
  }

  /** Begins nothing more. With `why` it ends all calls, creates too. */
  stop(why: string | null): void {
    const { calls, stopping, budget } = this.runtime;
    if (!this.runtime.isStopping) {
      calls.beginStop();
      stopping.abort(new DispatchError("CLOSED", "The run is over."));
    }
    // Second, so that a call that ends by this finds the run stopping.
    if (why !== null) budget?.cut(new CallTimeout(why));
    this.#end();
  }

  /** Gives back all of its leases. */
  async end(): Promise<void> {
    this.stop(null);
    await this.#loops.stop();
    await this.#workers.idle();
    await this.#loops.flush();
    this.runtime.calls.endStop();
  }

  /** Runs may follow each other within seconds, so only one of them sweeps in ten minutes. */
  #sweepInTurn(): () => Promise<number> {
    const { runtime } = this;
    const sweep = sweeper(runtime);
    return async () => {
      if (!(await takeDuty(runtime, DUTY, SWEEP_EVERY_MS))) return Number.POSITIVE_INFINITY;
      const begunAt = runtime.clock.monotonic();
      const before = await sweepPlaces(runtime);
      await sweep();
      if (!runtime.isStopping) return Number.POSITIVE_INFINITY;
      const isWhole = runtime.budget?.isWhole(runtime.clock.monotonic() - begunAt) === true;
      // A sweep that had a whole run and made no progress will make none in the next: the process
      // keeps the duty.
      if (isWhole && (await sweepPlaces(runtime)) === before) tellOfSweep(runtime);
      else await giveDutyBack(runtime, DUTY);
      return Number.POSITIVE_INFINITY;
    };
  }
}

function tellOfSweep(runtime: Runtime): void {
  const message = "The sweep got no further in the time of a run: give one run an hour a longer `maxMs`.";
  runtime.reportOnce(message, new DispatchError("RUN_TOO_SHORT", message), { operation: "list" });
}
