// The life of a dispatcher in its process: its loops from `start` to `stop`, or the runs of
// `runDue` in place of loops. A start that fails may be tried again; a stop is final.

import { DispatchError } from "../../contract/errors.ts";
import type { DueReport } from "../../contract/operations.ts";
import type { RunDuePlan } from "../../options/call-options.ts";
import type { OutcomeReader } from "../../requests/outcomes/outcome-reader.ts";
import { refuseBrokenStore } from "../../runtime/refuse-broken-store.ts";
import { DueRuns } from "./due-runs.ts";
import { type LoopParts, Loops } from "./loops.ts";

export class Life {
  readonly #parts: LoopParts;
  readonly #reader: OutcomeReader;
  readonly #loops: Loops;
  readonly #dueRuns: DueRuns;
  #isStarted = false;
  #starting: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;

  constructor(parts: LoopParts, reader: OutcomeReader) {
    const { runtime, sealer } = parts;
    this.#parts = parts;
    this.#reader = reader;
    runtime.watching.start(reader.turn);
    this.#loops = new Loops(parts);
    this.#dueRuns = new DueRuns(runtime, sealer.flushes);
  }

  /** True once the loops run, also after a stop. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  start(): Promise<void> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = null;
      throw error;
    });
    return this.#starting;
  }

  async #start(): Promise<void> {
    const { runtime } = this.#parts;
    await refuseBrokenStore(runtime);
    if (runtime.isStopping) return;
    runtime.events.emit("loops", () => ({ running: true }));
    this.#isStarted = true;
    this.#loops.start();
  }

  stop(): Promise<void> {
    const { calls } = this.#parts.runtime;
    this.#stopped ??= this.#stop().finally(() => calls.endStop());
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { runtime, workers } = this.#parts;
    const { stopping, watching, events, calls } = runtime;
    calls.beginStop();
    stopping.abort(new DispatchError("CLOSED", "The dispatcher is stopped."));
    await Promise.all([this.#loops.stop(), this.#dueRuns.idle()]);
    if (this.#isStarted) events.emit("loops", () => ({ running: false }));
    await workers.idle();
    await watching.stop();
    this.#reader.close();
    await this.#loops.flush();
  }

  async runDue(plan: RunDuePlan): Promise<DueReport> {
    if (this.#starting === null) return this.#dueRuns.run(plan);
    const words = "`runDue` is for a dispatcher whose loops do not run: `start` did that.";
    throw new DispatchError("ALREADY_STARTED", words);
  }
}
