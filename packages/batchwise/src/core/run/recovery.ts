// What is left to try of a batch that failed as a whole: further calls for the same entries
// (`retry`), and a call for each half of them (`isolateFailures`). It decides and remembers; the
// run makes the calls. A run makes it with its first failure, for most have none.

import { nameError } from "../contract/errors.ts";
import { type Entry, liveOf } from "../queue/entry.ts";
import { Timeout } from "../time/deadlines.ts";
import { askedPause, backoffOf, isWorthRetrying } from "./retry-policy.ts";
import type { BatchSurroundings } from "./surroundings.ts";

/**
 * What follows a call that failed: another one, a call for each half, or the error. `pauseMs`:
 * before the next call.
 */
export interface NextStep {
  readonly step: "retry" | "halves" | "error";
  readonly pauseMs: number;
}

/** What it needs of the batcher. */
export type RecoveryEnvironment = Pick<BatchSurroundings<never>, "services" | "options">;

export class Recovery {
  readonly #environment: RecoveryEnvironment;
  /** Halves that have not been tried yet, the next one last. */
  #halves: (readonly Entry[])[] = [];
  /** How many calls have failed for the present entries. */
  #attempt = 0;
  #isOver = false;
  /** True once a call has been followed by one for each half. */
  isSplit = false;
  /** Before another call. */
  readonly pause: Timeout;

  constructor(environment: RecoveryEnvironment) {
    this.#environment = environment;
    this.pause = new Timeout(environment.services.deadlines);
  }

  /** The entries of all halves that have not been tried yet. */
  get untried(): readonly Entry[] {
    return this.#halves.flat();
  }

  /**
   * Decides what follows a call for these entries; `mayHalve`: false where the handler did not
   * open.
   */
  afterFailure(called: readonly Entry[], error: unknown, mayHalve: boolean): NextStep {
    const { options, services } = this.#environment;
    const { retry } = options;
    this.#attempt += 1;
    nameError(error, services.name);
    const askedMs = askedPause(options, error, services);
    const entries = liveOf(called);
    const failed: NextStep = { step: "error", pauseMs: askedMs };
    if (entries.length === 0) return failed;
    if (isWorthRetrying(retry, this.#attempt, error, services.events)) {
      if (this.#isEnded(called)) return failed;
      const pauseMs = Math.max(backoffOf(retry?.backoffMs ?? 0, this.#attempt, error, services), askedMs);
      return this.#isEnded(called) ? failed : { step: "retry", pauseMs };
    }
    if (!mayHalve || !options.isolateFailures || entries.length === 1) return failed;
    this.isSplit = true;
    const middle = entries.length >> 1;
    this.#halves.push(entries.slice(middle), entries.slice(0, middle));
    return { step: "halves", pauseMs: askedMs };
  }

  /** The functions of `retry` are the user's: they may end the run, or send all callers away. */
  #isEnded(called: readonly Entry[]): boolean {
    return this.#isOver || liveOf(called).length === 0;
  }

  /**
   * Those who are left of the next half that has callers; undefined where there is none. Its calls
   * are counted anew.
   */
  nextHalf(): readonly Entry[] | undefined {
    this.#attempt = 0;
    const half = this.#halves.pop();
    if (half === undefined) return undefined;
    const live = liveOf(half);
    return live.length > 0 ? live : this.nextHalf();
  }

  /** The run is over. */
  end(): void {
    this.#isOver = true;
    this.#halves = [];
    this.pause.clear();
  }
}
