// Failed lines of one pass over a batch's results. They are held until all lines are read: a
// provider that repeats a request itself gives a line of each run, and a success counts in any
// order; and all failures together show who is to blame.

import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import type { FailureCause, LineTally } from "./bad-hour.ts";
import type { Member } from "./classify-results.ts";

/** Maximum characters of held failures; beyond that they are settled early. */
const MOST_CHARS = 16_000_000;
/** Maximum number of counted codes. */
const MOST_CODES = 100;

/** A failed line, and the decision if the request is to blame. */
export interface Failed {
  readonly settlement: Settlement;
  /** null for a line that only says that the account has no credit: it is not counted. */
  readonly cause: FailureCause | null;
  /** Set if only the message blames the account. */
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

  /** The message of the most common code; null if nothing is counted. */
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

  /** The tally of all lines so far, including those taken. */
  get tally(): LineTally {
    return { ...this.#counts, succeeded: this.#succeeded.size };
  }

  /** The message of the most common code so far; null if no failure was counted. */
  get mostWords(): OutcomeError | null {
    return this.#words.most;
  }

  /** The request at this place has an answer: its failures do not count. */
  succeeded(ord: number): void {
    this.#succeeded.add(ord);
    const held = this.#held.get(ord);
    if (held === undefined) return;
    this.#held.delete(ord);
    this.#count(held, -1);
  }

  /** Holds a failure. The first one of a request counts. */
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

  /** Messages of held requests whose message blames the account, by place. */
  get blamesByWords(): ReadonlyMap<number, OutcomeError> {
    const blames = [...this.#held.values()].filter(({ blamesByWords }) => blamesByWords);
    return new Map(blames.map(({ member, words }) => [member.ord, words]));
  }

  /** Removes and returns the held failures. */
  take(): readonly Failed[] {
    const taken = [...this.#held.values()];
    this.#held.clear();
    this.#chars = 0;
    return taken;
  }
}
