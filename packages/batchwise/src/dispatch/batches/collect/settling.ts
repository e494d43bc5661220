// Settles in chunks what the result lines of one batch say: successes as they come, failures once
// no success can follow. An account or a lane that is to blame is paused first, because uncharged
// requests must not return to it at once. collect.ts reads the lines.

import { closedByAnswer } from "../../accounts/pause-changes.ts";
import { noteBadHour, noteSuccess, noteWithoutSuccess } from "../../accounts/record-lane-health.ts";
import { tellOfPause } from "../../accounts/tell-of-pause.ts";
import type { ProviderState, ResultLine } from "../../contract/account.ts";
import type { DispatchError } from "../../contract/errors.ts";
import { laneProper } from "../../contract/store/lanes.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import { accountBlameOf } from "../../format/account-blame.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { type OpenMember, openMembers } from "../../runtime/store/pages.ts";
import { PAUSE_MS } from "../submit/after-failure.ts";
import { causeOf, type FailureCause, type LineTally } from "./bad-hour.ts";
import { checkLines, isChecked, keepAsked } from "./checked-answers.ts";
import {
  absentLine,
  classifyChecked,
  classifyFailure,
  classifySuccess,
  classifyWords,
  isSuccess,
  type Member,
  type RetryRules,
  uncharged,
  wordsOf,
} from "./classify-results.ts";
import { HeldFailures } from "./held-failures.ts";

/** Results per transaction, held until there are as many. Smaller chunks need more writes. */
const CHUNK_LINES = 1_000;
const CHUNK_CHARS = 1_000_000;
/** Answers that are checked are held with their requests. */
const CHECKED_LINES = 200;
/** Longest time in ms that a line is held, checked when another line comes. */
const LONGEST_HELD_MS = 5_000;

/** One pass over the results of one batch. */
export class Settling {
  readonly #runtime: Runtime;
  readonly #lease: Lease;
  readonly #unread: (succeeded: number) => number;
  readonly #rules: RetryRules;
  readonly #isChecked: boolean;
  #members: Map<number, Member> | null = null;
  readonly #failures = new HeldFailures();
  #items: Settlement[] = [];
  /** When the first of the items was added. */
  #heldSince = 0;
  #chars = 0;
  #current: Promise<void> = Promise.resolve();
  #isPaused = false;
  /** Successes whose answers are to be checked. */
  #unchecked: (readonly [ord: number, line: ResultLine])[] = [];
  #isChecking = false;
  #checkFailed: DispatchError | null = null;
  #isBadHour = false;

  /**
   * `unread`: given the number of successes read, returns the number of successes in lines that are
   * not read.
   */
  constructor(runtime: Runtime, lease: Lease, unread: (succeeded: number) => number) {
    this.#runtime = runtime;
    this.#lease = lease;
    this.#unread = unread;
    this.#isChecked = isChecked(lease);
    // Single retries leave the group of a split batch for the lane itself.
    this.#rules = { ...runtime.options.retry, lane: laneProper(lease.batch.lane) };
  }

  /** Resolves when the chunk that is being settled, if any, is settled. */
  get current(): Promise<void> {
    return this.#current;
  }

  get isChecking(): boolean {
    return this.#isChecking;
  }

  /** The first check that failed: its request stays open. */
  get checkFailed(): DispatchError | null {
    return this.#checkFailed;
  }

  /** True if a chunk is full, or its first line has waited long. */
  get isDue(): boolean {
    return this.#isFull || this.#isHeldLong();
  }

  /** Takes the line of a member. Lines may come in any order. */
  async take(ord: number, line: ResultLine): Promise<void> {
    if (isSuccess(line)) {
      this.#failures.succeeded(ord);
      if (this.#isChecked) this.#unchecked.push([ord, line]);
      else this.#add(classifySuccess(ord, line));
      return;
    }
    const blame = accountBlameOf(line);
    if (blame === "code") await this.#pauseAccount(wordsOf(line));
    const member = (await this.#open()).get(ord);
    if (member === undefined) this.#runtime.ignoredResults += 1;
    else this.#hold(member, line, blame === null ? causeOf(line) : null, blame === "words");
    if (this.#failures.isFull) await this.settleFailures();
  }

  /** Settles the members without a line; records what the results say of account and lane. */
  async end(state: ProviderState): Promise<void> {
    await this.#settleAbsent(state);
    const hasWorked = this.#failures.tally.succeeded > 0 && !this.#isPaused;
    if (hasWorked) this.#runtime.troubles.worked(this.#lease.account.name, "results");
    await this.#noteEnd(state);
  }

  /** Records what the results say about the lane, except a batch that the user cancelled. */
  async #noteEnd(state: ProviderState): Promise<void> {
    const { batch } = this.#lease;
    const { mostWords } = this.#failures;
    if (this.#isBadHour) return;
    if (this.#tally.succeeded > 0) await noteSuccess(this.#runtime, batch);
    else if (mostWords !== null && state !== "cancelled") await noteWithoutSuccess(this.#runtime, batch, mostWords);
  }

  get #tally(): LineTally {
    const { tally } = this.#failures;
    return { ...tally, succeeded: tally.succeeded + this.#unread(tally.succeeded) };
  }

  #hold(member: Member, line: ResultLine, cause: FailureCause | null, blamesByWords = false): void {
    const settlement = classifyFailure(member, line, this.#rules, this.#runtime.clock.now());
    this.#failures.hold({ settlement, cause, blamesByWords, member, words: wordsOf(line) });
  }

  /** Call when no success can follow. Pauses first: uncharged requests must not return at once. */
  async settleFailures(): Promise<void> {
    const { clock } = this.#runtime;
    const { mostWords } = this.#failures;
    const isBad = mostWords !== null && (await noteBadHour(this.#runtime, this.#lease.batch, this.#tally, mostWords));
    this.#isBadHour ||= isBad;
    const again = await this.#blamedAgain();
    const wordsUntil = clock.now() + (this.#isPaused ? 0 : PAUSE_MS);
    for (const failed of await keepAsked(this.#runtime, this.#lease, this.#failures.take())) {
      const { settlement, cause, member } = failed;
      const isProviders = isBad && (cause === "overload" || cause === "fault");
      if (failed.blamesByWords) {
        this.#add(classifyWords(settlement, member, again.has(member.ord), this.#rules, wordsUntil));
      } else this.#add(isProviders ? uncharged(settlement, this.#rules.lane, clock.now()) : settlement);
      if (this.#isFull) await this.flush();
    }
    await this.flush();
  }

  /**
   * Places of requests that blame the account, not for the first time. Pauses the account if it is
   * the first time for one of them and no request of the batch has succeeded.
   */
  async #blamedAgain(): Promise<ReadonlySet<number>> {
    const again = new Set<number>();
    const blames = this.#failures.blamesByWords;
    if (blames.size === 0) return again;
    for await (const page of openMembers(this.#runtime.store, this.#lease.batch.key, true)) {
      for (const { ord, history } of page) {
        if (history?.some(({ code }) => code === blames.get(ord)?.code)) again.add(ord);
      }
    }
    const [, first] = [...blames].find(([ord]) => !again.has(ord)) ?? [];
    if (first !== undefined && this.#tally.succeeded === 0) await this.#pauseAccount(first);
    return again;
  }

  /** Pauses the account before the line is settled: uncharged requests must not return at once. */
  async #pauseAccount(error: OutcomeError): Promise<void> {
    if (this.#isPaused) return;
    this.#isPaused = true;
    const { account } = this.#lease;
    const blockedUntil = this.#runtime.clock.now() + PAUSE_MS;
    await this.#lease.write({ ledgers: [closedByAnswer(account.name, blockedUntil, error.code)] });
    tellOfPause(this.#runtime, error, blockedUntil, "results", this.#lease.context("results"));
  }

  get #isFull(): boolean {
    return this.#items.length >= CHUNK_LINES || this.#chars >= CHUNK_CHARS || this.#unchecked.length >= CHECKED_LINES;
  }

  #isHeldLong(): boolean {
    return this.#items.length > 0 && this.#runtime.clock.now() - this.#heldSince >= LONGEST_HELD_MS;
  }

  #add(item: Settlement): void {
    if (this.#items.length === 0) this.#heldSince = this.#runtime.clock.now();
    this.#items.push(item);
    this.#chars += item.kind === "final" ? item.payload.length : 0;
  }

  async flush(): Promise<void> {
    const unchecked = this.#unchecked;
    this.#unchecked = [];
    if (unchecked.length > 0) await this.#check(unchecked);
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#chars = 0;
    this.#current = this.#lease.settle(items);
    await this.#current;
    await this.#runtime.options.failpoint("after-result-txn");
  }

  async #check(unchecked: readonly (readonly [ord: number, line: ResultLine])[]): Promise<void> {
    const { clock } = this.#runtime;
    this.#isChecking = true;
    try {
      const failed = await checkLines(this.#runtime, this.#lease, unchecked, (one) =>
        this.#add(classifyChecked(one, this.#rules, clock.now())),
      );
      this.#checkFailed ??= failed;
    } finally {
      this.#isChecking = false;
    }
  }

  /** Members with their tries, read once, and only when a line needs them. */
  async #open(): Promise<Map<number, Member>> {
    if (this.#members !== null) return this.#members;
    const members = new Map<number, Member>();
    for await (const page of openMembers(this.#runtime.store, this.#lease.batch.key)) {
      for (const row of page) members.set(row.ord, memberOf(row));
    }
    this.#members = members;
    return members;
  }

  /** Called after the last byte: members that are still open got no line. */
  async #settleAbsent(state: ProviderState): Promise<void> {
    const line = absentLine(state);
    for await (const page of openMembers(this.#runtime.store, this.#lease.batch.key)) {
      for (const row of page) this.#hold(memberOf(row), line, "other");
    }
    await this.settleFailures();
  }
}

/** What is kept of each member of a batch. */
function memberOf({ ord, attempts, generation, cancelRequested }: OpenMember): Member {
  return { ord, attempts, generation, cancelRequested };
}
