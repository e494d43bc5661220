// `runDue`: runs the loops for a limited time, for platforms without lasting processes. Each run
// has its own runtime over the dispatcher's store and acts like a process that starts, works until
// nothing is due, and stops. So runs may overlap, and a killed run equals a crashed process. It
// ends its calls in time and gives every lease back.

import { DispatchError } from "../contract/errors.ts";
import type { DueReport } from "../contract/operations.ts";
import { SWEEP_EVERY_MS } from "../decide/times/sweep-schedule.ts";
import { storedCode } from "../format/stored-code.ts";
import type { RunDuePlan } from "../options/call-options.ts";
import { Budget } from "../runtime/budget.ts";
import { takeDuty } from "../runtime/duty.ts";
import { CallTimeout, onAbort } from "../runtime/provider-calls.ts";
import { refuseBrokenStore } from "../runtime/refuse-broken-store.ts";
import { Runtime } from "../runtime/runtime.ts";
import type { Flushes } from "../scheduler/flushes.ts";
import { Sealer } from "../scheduler/sealer.ts";
import { Workers } from "../scheduler/workers.ts";
import { sweeper } from "../steps/sweep/sweep.ts";
import { dueReport } from "./due-report.ts";
import { Loops } from "./loops.ts";

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
    const open = run.catch(() => {}).finally(() => this.#open.delete(open));
    this.#open.add(open);
    return run;
  }

  /** Resolves when no run is active. The parent's stop has aborted them. */
  async idle(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #run({ maxMs, signal }: RunDuePlan): Promise<DueReport> {
    signal?.throwIfAborted();
    const { options, clock } = this.#parent;
    clock.believe();
    this.#count += 1;
    const budget = new Budget(clock, maxMs);
    const owner = storedCode(`${options.owner} ${this.#count}`);
    const run = new DueRun(new Runtime({ ...options, owner }, { parent: this.#parent, budget }), this.#flushes);
    const cuts = { soft: [this.#parent.stopping.signal], hard: signal === undefined ? [] : [signal] };
    try {
      if (!this.#isStoreChecked) await refuseBrokenStore(run.runtime);
      this.#isStoreChecked = true;
      await run.work(budget, cuts);
    } finally {
      await run.end();
    }
    for (const cut of [...cuts.hard, ...cuts.soft]) cut.throwIfAborted();
    return dueReport(this.#parent, run.sealer, run.isDone);
  }
}

/** Signals that end a run early. A soft one lets creates be answered. */
interface Cuts {
  readonly soft: readonly AbortSignal[];
  readonly hard: readonly AbortSignal[];
}

class DueRun {
  readonly runtime: Runtime;
  readonly sealer: Sealer;
  /** Nothing was due any more at its end. */
  isDone = false;
  readonly #workers: Workers;
  readonly #loops: Loops;

  constructor(runtime: Runtime, flushes: Flushes) {
    this.runtime = runtime;
    this.#workers = new Workers(runtime);
    this.sealer = new Sealer(runtime, this.#workers, flushes);
    this.#loops = new Loops({ runtime, workers: this.#workers, sealer: this.sealer });
  }

  /** Resolves when nothing is due, the time has passed, or a signal is aborted. */
  async work(budget: Budget, cuts: Cuts): Promise<void> {
    const { clock } = this.runtime;
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const timer = clock.setTimeout(end, budget.leftMs);
    const forgetSoft = onAbort(cuts.soft, end);
    const forgetHard = onAbort(cuts.hard, () => {
      // A later run finds out the results of creates.
      budget.cut(new CallTimeout("The run was aborted."));
      end();
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
        end();
      }
    };
    this.#loops.start(this.#sweepInTurn());
    await ended;
    clock.clearTimeout(timer);
    forgetSoft();
    forgetHard();
  }

  /** Gives back all of its leases. */
  async end(): Promise<void> {
    const { calls, stopping } = this.runtime;
    calls.beginStop();
    stopping.abort(new DispatchError("CLOSED", "The run is over."));
    await this.#loops.stop();
    await this.#workers.idle();
    await this.#loops.flush();
    calls.endStop();
  }

  /** Runs may follow each other within seconds, so only one of them sweeps in ten minutes. */
  #sweepInTurn(): () => Promise<number> {
    const sweep = sweeper(this.runtime);
    return async () => {
      if (await takeDuty(this.runtime, "sweep in runs", SWEEP_EVERY_MS)) await sweep();
      return Number.POSITIVE_INFINITY;
    };
  }
}
