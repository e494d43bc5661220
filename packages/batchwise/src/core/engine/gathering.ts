// How long a batch that is not full gathers where nobody is held back by `maxWaitMs`: to the end of
// the turn, or of the event loop's present pass. A handler that answers in the turn in which it is
// called leaves no time in which the next batch could grow, so there "auto" waits for the end of
// the pass.

import type { ResolvedOptions } from "../contract/options.ts";
import type { Gate } from "../policy/decide.ts";
import type { Batch } from "../run/batch.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import { endOfPass, endOfTurn } from "../time/turn.ts";

/**
 * After a quick batch so many more are taken for quick: to watch the turn of one costs as much as a
 * small batch.
 */
const TAKEN_FOR_QUICK = 7;

export class Gathering {
  readonly #clock: Clock;
  readonly #onPassEnd: () => boolean;
  #isWaiting = false;
  /** Stands for the turn in which a batch began last; null when it has ended. */
  #turn: object | null = null;
  /** The last batch settled in the turn in which it began. */
  #wasQuick = false;
  /** So many batches to come are taken for quick. */
  #taken = 0;
  /** When the last pass ended that left something waiting. */
  passedAt: number = -Infinity;

  /**
   * `onPassEnd` is called at the end of the pass in which `waitForPass` was called. It returns
   * whether anything waits on.
   */
  constructor(clock: Clock, onPassEnd: () => boolean) {
    this.#clock = clock;
    this.#onPassEnd = onPassEnd;
  }

  /** The gate of an event that may come in the middle of a turn. */
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
      if (this.#onPassEnd()) this.passedAt = this.#clock.now();
    };
    if (clock === systemClock) endOfPass(ended);
    else clock.setImmediate?.(ended);
  }

  /** To be called when a batch has begun and runs on. */
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
