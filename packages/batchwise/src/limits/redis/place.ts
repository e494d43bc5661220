// The place of this process in the line that Redis keeps: since when it waits there, and how far it
// is behind because it came late. Durations by this process's clock; it knows nothing of the
// server's.

/** A process that comes later than this to its turn is late. Timers are, by some milliseconds. */
const TOLERANCE_MS = 50;
/** A process catches up with at most this much of what it missed. */
const MOST_BEHIND_MS = 1_000;

export class Place {
  /** When it began to wait; null where it does not. */
  #since: number | null = null;
  /** When it was told to come back; null where it was not. */
  #dueAt: number | null = null;
  /** How much earlier it would have asked for what it waits for, had it never been late. */
  #behindMs = 0;
  /** How much it has been late in this wait. */
  #lateMs = 0;

  /** It asks now. Returns for how long it has waited, what it is behind included. */
  ask(now: number): number {
    this.#since ??= now;
    if (this.#dueAt !== null) this.#lateMs += Math.max(0, now - this.#dueAt - TOLERANCE_MS);
    this.#dueAt = null;
    const waitedMs = now - this.#since + this.#behindMs;
    // By a clock that goes back or is no number, it begins to wait now.
    return waitedMs > 0 && waitedMs < Number.POSITIVE_INFINITY ? waitedMs : 0;
  }

  /** It was told, when it asked at `askedAt`, to wait for so long. */
  wait(askedAt: number, waitMs: number): void {
    this.#dueAt = askedAt + waitMs;
  }

  /** It has what it asked for. `othersWaitMs`: for how long the first of the others waits. */
  granted(now: number, othersWaitMs: number): void {
    // Others wait for `othersWaitMs` until they are granted as much: this one has gained what it
    // waited less.
    const gainedMs = Math.max(0, othersWaitMs - (now - (this.#since ?? now)));
    const behindMs = Math.max(0, this.#behindMs - gainedMs) + this.#lateMs;
    this.leave();
    if (othersWaitMs > 0 && behindMs > 0) this.#behindMs = Math.min(MOST_BEHIND_MS, behindMs);
  }

  /** It waits no longer, and is behind nobody. */
  leave(): void {
    this.#since = null;
    this.#dueAt = null;
    this.#behindMs = 0;
    this.#lateMs = 0;
  }
}
