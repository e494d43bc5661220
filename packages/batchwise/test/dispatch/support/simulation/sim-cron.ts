// Cron in place of a process that stays: calls `runDue` again and again, for as long as the process
// lives. Runs may overlap, and some are aborted in the middle.

import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import type { VirtualClock } from "../../../../src/testing/index.ts";
import type { SimProcess } from "../world.ts";

export interface Cron {
  readonly time: VirtualClock;
  readonly process: SimProcess;
  readonly dispatcher: Dispatcher;
  readonly random: () => number;
  /** The longest time from the begin of one run to the next. */
  readonly everyMs: () => number;
  readonly mayAbort: () => boolean;
}

export function cron({ time, process, dispatcher, random, everyMs, mayAbort }: Cron): void {
  const below = (most: number): number => Math.floor(random() * most);
  const tick = (): void => {
    if (process.isDead) return;
    const maxMs = 1_000 + below(60_000);
    const abort = new AbortController();
    if (mayAbort()) time.setTimeout(() => abort.abort(new Error("The platform ends the call.")), below(maxMs));
    // A store that is away, and an abort, are for the next run.
    dispatcher.runDue({ maxMs, signal: abort.signal }).catch(() => {});
    time.setTimeout(tick, 1_000 + below(everyMs()));
  };
  tick();
}
