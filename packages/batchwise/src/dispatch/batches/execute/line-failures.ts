// Failures in one pass of an account that runs lines itself. A failure that may be the server's is
// held until enough lines have ended: if nearly all have failed so, nothing is charged, the lane
// pauses, and the pass ends. A held failure that is lost in a crash costs nothing: its line runs
// again.

import { noteBadHour, noteSuccess, noteWithoutSuccess } from "../../accounts/record-lane-health.ts";
import type { ResultLine } from "../../contract/account.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { OutcomeError, OutcomeStatus } from "../../contract/types.ts";
import { accountBlameOf } from "../../format/account-blame.ts";
import { loggedOutcome } from "../../format/payload.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { matching } from "../../runtime/store/pages.ts";
import { causeOf, type LineTally } from "../collect/bad-hour.ts";
import { classifyFailure, type Member, type RetryRules, uncharged, wordsOf } from "../collect/classify-results.ts";
import { CommonWords } from "../collect/held-failures.ts";

/** Number of lines before a decision. */
const WINDOW_LINES = 100;

const NO_LINES: LineTally = { succeeded: 0, overload: 0, fault: 0, faultAgain: 0, other: 0 };

export class LineFailures {
  readonly #runtime: Runtime;
  readonly #lease: Lease;
  readonly #rules: RetryRules;
  readonly #isWhole: boolean;
  /** Lines since the last decision, and since the one before it. */
  #tally: LineTally = NO_LINES;
  #longer: LineTally = NO_LINES;
  #held: Settlement[] = [];
  #words = new CommonWords();
  readonly #allWords = new CommonWords();
  #hasSucceeded = false;
  /** The lane pauses for lack of capacity: no line may start. */
  isBadHour = false;

  constructor(runtime: Runtime, lease: Lease, rules: RetryRules) {
    this.#runtime = runtime;
    this.#lease = lease;
    this.#rules = rules;
    this.#isWhole = lease.batch.remaining === lease.batch.requests;
  }

  succeeded(): void {
    this.#hasSucceeded = true;
    this.#count("succeeded");
  }

  /** Decides about a failed line; null while it is held. */
  failed(member: Member, line: ResultLine): Settlement | null {
    const settlement = classifyFailure(member, line, this.#rules, this.#runtime.clock.now());
    if (accountBlameOf(line) === "code") return settlement;
    const words = wordsOf(line);
    this.#allWords.count(words);
    const cause = causeOf(line);
    if (cause !== "overload" && cause !== "fault") {
      if (cause === "other") this.#count("other");
      return settlement;
    }
    this.#count(cause === "fault" && member.attempts > 0 ? "faultAgain" : cause);
    this.#words.count(words);
    this.#held.push(settlement);
    return null;
  }

  #count(kind: keyof LineTally): void {
    this.#tally = { ...this.#tally, [kind]: this.#tally[kind] + 1 };
    this.#longer = { ...this.#longer, [kind]: this.#longer[kind] + 1 };
  }

  /** True if enough lines have ended for a decision. */
  get isDue(): boolean {
    return linesOf(this.#tally) >= WINDOW_LINES;
  }

  /**
   * Decides about the held failures. The last lines of a pass are too few, so earlier ones count
   * too.
   */
  async decide(): Promise<readonly Settlement[]> {
    const tally = this.isDue ? this.#tally : this.#longer;
    const words = this.#words.most;
    const held = this.#held;
    this.#longer = this.#tally;
    this.#tally = NO_LINES;
    this.#words = new CommonWords();
    this.#held = [];
    const { batch } = this.#lease;
    const isBad = words !== null && (await noteBadHour(this.#runtime, batch, tally, words));
    this.isBadHour ||= isBad;
    if (!isBad && tally.succeeded > 0) await noteSuccess(this.#runtime, batch);
    return isBad ? held.map((each) => uncharged(each, this.#rules.lane, this.#runtime.clock.now())) : held;
  }

  /**
   * Reports a batch that has ended without a success, in one pass or several. Reads earlier
   * results, also of other processes, from the store.
   */
  async noteEnd(): Promise<void> {
    if (this.#hasSucceeded || this.isBadHour) return;
    const { batch } = this.#lease;
    if (!this.#isWhole && (await endedSo(this.#runtime, batch.key, "succeeded")) !== null) return;
    const words = this.#allWords.most ?? (this.#isWhole ? null : await this.#earlierWords());
    if (words !== null) await noteWithoutSuccess(this.#runtime, batch, words);
  }

  async #earlierWords(): Promise<OutcomeError | null> {
    const id = await endedSo(this.#runtime, this.#lease.batch.key, "failed");
    if (id === null) return null;
    const [row] = await this.#runtime.store.outcomes({ ids: [id] });
    return row === undefined ? null : loggedOutcome(row).error;
  }
}

/** The id of a request that ended with this status in the batch; null if there is none. */
async function endedSo({ store }: Runtime, batchKey: string, status: OutcomeStatus): Promise<string | null> {
  for await (const [found] of matching(store, { batchKey, states: [status] }, { limit: 1 })) return found?.id ?? null;
  return null;
}

function linesOf(tally: LineTally): number {
  return Object.values(tally).reduce<number>((sum, lines) => sum + lines, 0);
}
