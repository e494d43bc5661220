// Decides how long a batch that is not full gathers without `maxWaitMs`: to the end of the turn, or
// of the event loop's current pass. If the handler answers in the turn of its call, the next batch
// has no time to grow, so "auto" then waits for the end of the pass, unless passes bring nothing.

import type { ResolvedOptions } from "../contract/options.ts";
import type { Gate } from "../policy/decide.ts";
import type { Entry } from "../queue/entry.ts";
import type { Batch } from "../run/batch.ts";
import { systemClock } from "../time/clock.ts";
import { endOfTurn } from "../time/turn.ts";

/**
 * After a quick batch, this many more count as quick without a check, which costs as much as a
 * small batch.
 */
const TAKEN_FOR_QUICK = 7;

/** After so many quick batches in a row, each of one turn, few others wait for a pass. */
const LONELY = 16;

/** Of as many, these: the first may begin at the end of a pass that brings more. */
const TRIED = 2;

export class Gathering {
  /** Identity of the turn in which a batch last began; null when it has ended. */
  #turn: object | null = null;
  /** The last batch settled in the turn in which it began. */
  #wasQuick = false;
  /** How many more batches count as quick. */
  #taken = 0;
  /** How many quick batches in a row had the items of only one turn. */
  #lonely = 0;

  /** "pass" while batches gather by pass, else `byTurn`: "open" at the end of a turn. */
  gate({ gather, maxWaitMs, clock }: ResolvedOptions, byTurn: "turn" | "open"): Gate {
    if (maxWaitMs > 0 || gather === "turn") return byTurn;
    if (gather === "tick") return "pass";
    const isWorthIt = this.#lonely < LONELY || this.#lonely % LONELY < TRIED;
    return this.#wasQuick && isWorthIt && clock === systemClock ? "pass" : byTurn;
  }

  /** Call with the entries of a batch before it begins. */
  closed(entries: readonly Entry[]): void {
    const isOfOneTurn = entries[0]?.moment === entries.at(-1)?.moment;
    this.#lonely = this.#wasQuick && isOfOneTurn ? this.#lonely + 1 : 0;
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
