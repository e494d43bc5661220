// Decides how long a batch that is not full gathers without `maxWaitMs`: to the end of the turn, or
// of the event loop's current pass. If the handler answers in the turn of its call, the next batch
// has no time to grow, so "auto" then waits for the end of the pass.

import type { ResolvedOptions } from "../contract/options.ts";
import type { Gate } from "../policy/decide.ts";
import type { Batch } from "../run/batch.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import { endOfPass, endOfTurn } from "../time/turn.ts";

/**
 * After a quick batch, this many more count as quick without a check, which costs as much as a
 * small batch.
 */
const TAKEN_FOR_QUICK = 7;

/** The scheduler, which looks at the queue. */
export interface PassListener {
  /** Called at the end of a pass that was waited for. Returns whether entries still wait. */
  passEnded(): boolean;
}

export class Gathering {
  readonly #clock: Clock;
  readonly #listener: PassListener;
  #isWaiting = false;
  /** Identity of the turn in which a batch last began; null when it has ended. */
  #turn: object | null = null;
  /** The last batch settled in the turn in which it began. */
  #wasQuick = false;
  /** How many more batches count as quick. */
  #taken = 0;
  /** End of the last pass that left entries waiting. */
  passedAt: number = -Infinity;

  constructor(clock: Clock, listener: PassListener) {
    this.#clock = clock;
    this.#listener = listener;
  }

  /** The gate of an event that may come within a turn. */
  gateBefore(options: ResolvedOptions): Gate {
    return this.#isByPass(options) ? "pass" : "turn";
  }

  /** The gate at the end of a turn. */
  gateAfter(options: ResolvedOptions): Gate {
    return this.#isByPass(options) ? "pass" : "open";
  }

  #isByPass({ gather, maxWaitMs, clock }: ResolvedOptions): boolean {
    if (maxWaitMs > 0 || gather === "turn") return false;
    return gather === "tick" || (this.#wasQuick && clock === systemClock);
  }

  waitForPass({ clock }: ResolvedOptions): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const ended = (): void => {
      this.#isWaiting = false;
      if (this.#listener.passEnded()) this.passedAt = this.#clock.now();
    };
    if (clock === systemClock) endOfPass(ended);
    else clock.setImmediate?.(ended);
  }

  /** Call when a batch has begun and continues to run. */
  began(batch: Batch, { gather, clock }: ResolvedOptions): void {
    if (gather !== "auto" || clock !== systemClock) return;
    if (this.#taken > 0) {
      this.#taken -= 1;
      return;
    }
    if (this.#turn === null) {
      const turn = {};
      this.#turn = turn;
      endOfTurn(() => {
        if (this.#turn === turn) this.turnEnded();
      });
    }
    batch.turn = this.#turn;
  }

  turnEnded(): void {
    this.#turn = null;
  }

  ended({ turn }: Batch): void {
    this.#wasQuick = turn === null || turn === this.#turn;
    if (turn !== null) this.#taken = this.#wasQuick ? TAKEN_FOR_QUICK : 0;
  }
}
