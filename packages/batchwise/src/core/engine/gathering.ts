// Decides how long a batch that is not full gathers without `maxWaitMs`: to the end of the turn, or
// of the event loop's current pass. If the handler answers in the turn of its call, the next batch
// has no time to grow, so "auto" then waits for the end of the pass. That costs some microseconds:
// while runs are short, too, and passes bring no items of other turns, most batches do not wait.

import type { ResolvedOptions } from "../contract/options.ts";
import type { Gate } from "../policy/decide.ts";
import type { Batch } from "../run/batch.ts";
import { systemClock } from "../time/clock.ts";
import { endOfTurn } from "../time/turn.ts";

/**
 * After a quick batch, this many more count as quick without a check, which costs as much as a
 * small batch.
 */
const TAKEN_FOR_QUICK = 7;

/** A run of at least this, in ms, takes so much longer than a pass that it is worth a wait. */
const SHORT_RUN_MS = 0.1;

/** Short single-turn runs in a row after which most batches stop waiting. */
const ENOUGH = 16;

/**
 * Of every CHECK_EVERY further runs, which take some milliseconds, STILL_WAIT in a row still wait,
 * to detect passes that bring items of several turns. One is not enough: it may begin too late in
 * its pass.
 */
const CHECK_EVERY = 64;
const STILL_WAIT = 2;

export class Gathering {
  /** Identity of the turn in which a batch last began; null when it has ended. */
  #turn: object | null = null;
  /** The last batch settled in the turn in which it began. */
  #wasQuick = false;
  /** How many more batches count as quick; below 0 if the last ones were watched. */
  #taken = 0;
  /** Number of short runs in a row with items of one turn; below 0 while they are not enough. */
  #alone = -ENOUGH;

  /** "pass" while batches gather by pass, else `byTurn`: "open" at the end of a turn. */
  gate({ gather, maxWaitMs, clock }: ResolvedOptions, byTurn: "turn" | "open"): Gate {
    if (maxWaitMs > 0 || gather === "turn") return byTurn;
    if (gather === "tick") return "pass";
    const isWorthIt = this.#alone % CHECK_EVERY < STILL_WAIT;
    return this.#wasQuick && isWorthIt && clock === systemClock ? "pass" : byTurn;
  }

  /** Call when a batch has begun and continues to run. */
  began(batch: Batch, { gather, clock }: ResolvedOptions): void {
    if (gather !== "auto" || clock !== systemClock) return;
    this.#taken -= 1;
    if (this.#taken >= 0) return;
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

  ended({ turn, reason, entries }: Batch, runMs: number): void {
    this.#wasQuick = turn === null || turn === this.#turn;
    if (turn !== null) this.#taken = this.#wasQuick ? TAKEN_FOR_QUICK : 0;
    // Others are full, flushed or drained: they wait for no pass.
    if (reason !== "idle") return;
    const isAlone = runMs < SHORT_RUN_MS && entries.every(({ moment }) => moment === entries[0]?.moment);
    this.#alone = this.#wasQuick && isAlone ? this.#alone + 1 : -ENOUGH;
  }
}
