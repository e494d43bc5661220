// The lines of one pass over a batch's results that say that a request failed. They are held until
// all lines are read: a provider that runs a request again by itself gives a line of each run, and
// the success counts wherever it stands; and all of them together show whose fault they are.

import type { Settlement } from "../../contract/outcome-rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import type { FailureCause, LineTally } from "../../decide/results/bad-hour.ts";
import type { Member } from "../../decide/results/classify-results.ts";

/** Characters of failures that are held; beyond these they are settled before all is read. */
const MOST_CHARS = 16_000_000;
/** Codes that are counted. */
const MOST_CODES = 100;

/** A line that says that a request failed, and what is decided where the request is to blame. */
export interface Failed {
  readonly settlement: Settlement;
  /** null for a line that only says that the account has no money: it is not counted. */
  readonly cause: FailureCause | null;
  /** Set where only words blame the account. */
  readonly blamesByWords: boolean;
  readonly member: Member;
  readonly words: OutcomeError;
}

/** Counts failures by code. */
export class CommonWords {
  readonly #codes: Map<string, { readonly words: OutcomeError; count: number }> = new Map();

  count(words: OutcomeError, by: 1 | -1 = 1): void {
    const known = this.#codes.get(words.code);
    if (known !== undefined) known.count += by;
    else if (this.#codes.size < MOST_CODES) this.#codes.set(words.code, { words, count: by });
  }

  /** The words of the most common code; null where nothing is counted. */
  get most(): OutcomeError | null {
    const [first] = [...this.#codes.values()].toSorted((a, b) => b.count - a.count);
    return first === undefined || first.count === 0 ? null : first.words;
  }
}

export class HeldFailures {
  /** By place. */
  readonly #held: Map<number, Failed> = new Map();
  readonly #succeeded: Set<number> = new Set();
  readonly #counts = { overload: 0, fault: 0, faultAgain: 0, notRun: 0, other: 0 };
  readonly #words = new CommonWords();
  #chars = 0;

  get isFull(): boolean {
    return this.#chars >= MOST_CHARS;
  }

  /** Of all lines so far, also of those that were taken. */
  get tally(): LineTally {
    return { ...this.#counts, succeeded: this.#succeeded.size };
  }

  /** The words of the most common code so far; null where no failure was counted. */
  get mostWords(): OutcomeError | null {
    return this.#words.most;
  }

  /** The request at this place has an answer: no failure of it counts. */
  succeeded(ord: number): void {
    this.#succeeded.add(ord);
    const held = this.#held.get(ord);
    if (held === undefined) return;
    this.#held.delete(ord);
    this.#count(held, -1);
  }

  /** The first failure of a request counts. */
  hold(failed: Failed): void {
    const { settlement } = failed;
    if (this.#succeeded.has(settlement.ord) || this.#held.has(settlement.ord)) return;
    this.#held.set(settlement.ord, failed);
    this.#count(failed, 1);
    this.#chars += settlement.kind === "final" ? settlement.payload.length : 0;
  }

  #count({ cause, member, words }: Failed, by: 1 | -1): void {
    if (cause === null) return;
    this.#counts[cause === "fault" && member.attempts > 0 ? "faultAgain" : cause] += by;
    this.#words.count(words, by);
  }

  /**
   * The words of each request, held by now, of which only the words blame the account, by place.
   */
  get blamesByWords(): ReadonlyMap<number, OutcomeError> {
    const blames = [...this.#held.values()].filter(({ blamesByWords }) => blamesByWords);
    return new Map(blames.map(({ member, words }) => [member.ord, words]));
  }

  /** Those held by now, which are not held any more. */
  take(): readonly Failed[] {
    const taken = [...this.#held.values()];
    this.#held.clear();
    this.#chars = 0;
    return taken;
  }
}
