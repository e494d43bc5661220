// The place of this process in the queue that Redis keeps: how long it has waited, and how much it
// lost because it came late. Durations by this process's clock; the server's clock is not used.

/** Lateness in ms that does not count: timers are late by some milliseconds. */
const TOLERANCE_MS = 50;
/** Most of the lost time, in ms, that a process can make up. */
const MOST_BEHIND_MS = 1_000;

export class Place {
  /** Start of its wait; null if it does not wait. */
  #since: number | null = null;
  /** The time at which it should come back; null if none is set. */
  #dueAt: number | null = null;
  /** How much earlier it would have made its request if it had never been late. */
  #behindMs = 0;
  /** Its total lateness in this wait. */
  #lateMs = 0;

  /**
   * Call at each request. Returns the ms that it has waited, including the time lost by being late.
   */
  ask(now: number): number {
    this.#since ??= now;
    if (this.#dueAt !== null) this.#lateMs += Math.max(0, now - this.#dueAt - TOLERANCE_MS);
    this.#dueAt = null;
    const waitedMs = now - this.#since + this.#behindMs;
    // If the clock goes back or is not a number, its wait starts now.
    return waitedMs > 0 && waitedMs < Number.POSITIVE_INFINITY ? waitedMs : 0;
  }

  /** Call when Redis answers a question of `askedAt` with a wait of this many ms. */
  wait(askedAt: number, waitMs: number): void {
    this.#dueAt = askedAt + waitMs;
  }

  /** Call when it has its grant. `othersWaitMs`: how long the first of the others waits. */
  granted(now: number, othersWaitMs: number): void {
    // The others wait `othersWaitMs` for as much, so this process has gained the difference.
    const gainedMs = Math.max(0, othersWaitMs - (now - (this.#since ?? now)));
    const behindMs = Math.max(0, this.#behindMs - gainedMs) + this.#lateMs;
    this.leave();
    if (othersWaitMs > 0 && behindMs > 0) this.#behindMs = Math.min(MOST_BEHIND_MS, behindMs);
  }

  /** Ends the wait and forgets lost time. */
  leave(): void {
    this.#since = null;
    this.#dueAt = null;
    this.#behindMs = 0;
    this.#lateMs = 0;
  }
}
