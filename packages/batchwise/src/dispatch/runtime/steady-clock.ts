// The dispatcher's clock: the user's, without steps of its wall time that have not lasted yet.
// Guarantees that a wall clock that is wrong for less than ten minutes has no effect; a process
// that starts meanwhile cannot know. runtime/wall-clock.ts decides.

import type { DispatchClock } from "../contract/dispatcher-options.ts";
import { BELIEVED_AFTER_MS, lookAtClock, STEP_MS, type WallClock } from "./wall-clock.ts";

type OnStep = (message: string, isBelieved: boolean, steppedMs: number) => void;

export class SteadyClock implements DispatchClock {
  readonly #clock: DispatchClock;
  readonly #onStep: OnStep;
  #known: WallClock;

  /** `onStep` is called for each step when it is first seen, and again when it is accepted. */
  constructor(clock: DispatchClock, onStep: OnStep) {
    this.#clock = clock;
    this.#onStep = onStep;
    this.#known = { offset: clock.now() - clock.monotonic(), doubt: null };
  }

  now(): number {
    const monotonic = this.#clock.monotonic();
    const wall = this.#clock.now();
    const before = this.#known;
    this.#known = lookAtClock(before, wall - monotonic, monotonic);
    if (this.#known.doubt !== before.doubt) this.#tell(before);
    return this.#known.doubt === null ? wall : Math.round(monotonic + this.#known.offset);
  }

  /** True while the wall clock differs from the accepted time: one of the two is wrong. */
  isInDoubt(): boolean {
    this.now();
    return this.#known.doubt !== null;
  }

  /**
   * Accepts the wall clock as it is now, like a process that starts. A platform that freezes a
   * process between two calls stops its monotonic clock, but not the wall clock.
   */
  believe(): void {
    this.#known = { offset: this.#clock.now() - this.#clock.monotonic(), doubt: null };
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  setTimeout(callback: () => void, delayMs: number): unknown {
    return this.#clock.setTimeout(callback, delayMs);
  }

  clearTimeout(handle: unknown): void {
    this.#clock.clearTimeout(handle);
  }

  hold<Value>(work: Promise<Value>, atMostMs?: number): Promise<Value> {
    return this.#clock.hold(work, atMostMs);
  }

  #tell(before: WallClock): void {
    const { offset, doubt } = this.#known;
    if (doubt !== null && doubt.since !== before.doubt?.since) {
      const rest = `Until it has lasted ${BELIEVED_AFTER_MS / 60_000} minutes, the old time continues and no batch is sent.`;
      this.#onStep(
        `The wall clock stepped by ${seconds(doubt.offset - offset)} s. ${rest}`,
        false,
        doubt.offset - offset,
      );
    }
    const steppedMs = offset - before.offset;
    if (doubt === null && Math.abs(steppedMs) > STEP_MS) {
      this.#onStep(`The wall clock's step by ${seconds(steppedMs)} s has lasted, and is believed.`, true, steppedMs);
    }
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
