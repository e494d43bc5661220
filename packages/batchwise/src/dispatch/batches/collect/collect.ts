// Fetches the results of an ended batch, settles its members in chunks, then those without a line.
// Always streams from the start: members that an earlier owner settled are ignored. If a stream
// breaks off, or the provider counts more lines than it gave, only lines that were read are
// settled: a member without one may have it in the unread part.

import { Timer } from "../../../core/time/clock.ts";
import { noteBadHour, noteSuccess, noteWithoutSuccess } from "../../accounts/record-lane-health.ts";
import { tellOfPause } from "../../accounts/tell-of-pause.ts";
import type { ProviderBatch, ProviderState, ResultLine } from "../../contract/account.ts";
import { DispatchError, UnnamedResults } from "../../contract/errors.ts";
import { laneProper } from "../../contract/store/lanes.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import { accountBlameOf } from "../../format/account-blame.ts";
import { readable } from "../../format/client-error.ts";
import { batchName, keyPrefix, parseCustomId } from "../../format/encode.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { CallTimeout, HELD_MS, onAbort, readFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { undoAdoption } from "../find/undo-adoption.ts";
import { eachOpen } from "../open-members.ts";
import { PAUSE_MS } from "../submit/after-failure.ts";
import { causeOf, type FailureCause, type LineTally } from "./bad-hour.ts";
import { checkLines, isChecked, keepAsked, leftToOthers } from "./checked-answers.ts";
import {
  absentLine,
  classifyChecked,
  classifyFailure,
  classifySuccess,
  classifyWords,
  hasRun,
  isSuccess,
  type Member,
  type RetryRules,
  uncharged,
  wordsOf,
} from "./classify-results.ts";
import { endedBatch } from "./ended-batch.ts";
import { HeldFailures } from "./held-failures.ts";
import { collectFailed } from "./put-off.ts";
import { readAgain, shortReadsOf, stillMissing, UnreadResults } from "./read-again.ts";
import { reported } from "./reported.ts";
import { sendAsFile } from "./send-as-file.ts";
import { afterReading, linesDue } from "./unread-results.ts";
import { UselessCount } from "./useless-lines.ts";

/** Results per transaction, held until there are as many. Smaller chunks need more writes. */
const CHUNK_LINES = 1_000;
const CHUNK_CHARS = 1_000_000;
/** Answers that are checked are held with their requests. */
const CHECKED_LINES = 200;
const BUSY_MS = 5_000;
/** Longest time in ms that a line is held, checked when another line comes. */
const LONGEST_HELD_MS = 5_000;

/** The results of an unverified adoption carry custom ids of another batch. */
class ForeignResults extends Error {}

export async function collect(runtime: Runtime, lease: Lease): Promise<void> {
  const begunAt = runtime.clock.monotonic();
  try {
    if (await leftToOthers(runtime, lease)) return;
    if (lease.batch.remaining > 0) {
      const seen = await endedBatch(runtime, lease);
      if (seen === null) return;
      await new Collection(runtime, lease).run(seen);
    }
  } catch (error) {
    if (lease.isOver) throw error;
    if (error instanceof ForeignResults) await undoAdoption(runtime, lease);
    else if (error instanceof UnnamedResults) await sendAsFile(runtime, lease, error);
    else if (error instanceof UnreadResults) await readAgain(runtime, lease, error);
    else await collectFailed(runtime, lease, error, runtime.clock.monotonic() - begunAt);
    return;
  }
  await leaveOpen(lease);
}

/** Leaves members open although all lines were requested: looks again later. */
export async function leaveOpen(lease: Lease): Promise<void> {
  if (lease.batch.remaining > 0) await lease.end((now) => ({ nextAt: now + BUSY_MS }));
}

/** One pass over the results of one batch. */
class Collection {
  readonly #runtime: Runtime;
  readonly #lease: Lease;
  readonly #prefix: string;
  readonly #rules: RetryRules;
  readonly #isChecked: boolean;
  #members: Map<number, Member> | null = null;
  /** Places of members whose line says that they have run. */
  readonly #ran: Set<number> = new Set();
  readonly #failures = new HeldFailures();
  #items: Settlement[] = [];
  /** When the first of the items was added. */
  #heldSince = 0;
  #chars = 0;
  #settling: Promise<void> = Promise.resolve();
  #isPaused = false;
  #lines = 0;
  /** Places of members that have had a line. */
  readonly #found: Set<number> = new Set();
  readonly #useless: UselessCount;
  /** Successes whose answers are to be checked. */
  #unchecked: (readonly [ord: number, line: ResultLine])[] = [];
  #isChecking = false;
  /** The first check that failed: its request stays open. */
  #checkFailed: DispatchError | null = null;
  #countedSuccesses = 0;
  #isBadHour = false;

  constructor(runtime: Runtime, lease: Lease) {
    this.#runtime = runtime;
    this.#lease = lease;
    this.#isChecked = isChecked(lease);
    this.#prefix = keyPrefix(lease.batch.key);
    this.#useless = new UselessCount(lease.batch.requests);
    // Single retries leave the group of a split batch for the lane itself.
    const lane = laneProper(lease.batch.lane);
    this.#rules = { ...runtime.options.retry, lane };
  }

  async run(seen: ProviderBatch): Promise<void> {
    this.#countedSuccesses = seen.counts?.succeeded ?? 0;
    if (seen.resultRefs.length > 0)
      await reported(
        this.#runtime,
        this.#lease,
        () => this.#lines,
        () => this.#stream(seen),
      );
    if (this.#runtime.isStopping && this.#lease.batch.remaining > 0) throw new Error("The dispatcher is stopping.");
    this.#checkRead(seen, await this.#counted(seen));
    // Without any line the adoption stays unverified, and members are not charged.
    if (!this.#lease.batch.verified) throw new ForeignResults();
    await this.#settleAbsent(seen.state);
    const hasWorked = this.#failures.tally.succeeded > 0 && !this.#isPaused;
    if (hasWorked) this.#runtime.troubles.worked(this.#lease.account.name, "results");
    await this.#noteEnd(seen.state);
  }

  /** Records what the results say about the lane, except a batch that the user cancelled. */
  async #noteEnd(state: ProviderState): Promise<void> {
    const { batch } = this.#lease;
    const { mostWords } = this.#failures;
    if (this.#isBadHour) return;
    if (this.#tally.succeeded > 0) await noteSuccess(this.#runtime, batch);
    else if (mostWords !== null && state !== "cancelled") await noteWithoutSuccess(this.#runtime, batch, mostWords);
  }

  /** Includes successes that the provider counts and that may be among the unread lines. */
  get #tally(): LineTally {
    const { tally } = this.#failures;
    const unread = Math.min(this.#countedSuccesses - tally.succeeded, this.#lease.batch.requests - this.#found.size);
    return { ...tally, succeeded: tally.succeeded + Math.max(0, unread) };
  }

  /** Requests that have run, by the provider's count; counted again only if lines are missing. */
  async #counted(seen: ProviderBatch): Promise<number | null> {
    const { account, batch } = this.#lease;
    const ran = seen.ran ?? null;
    const { countRan } = account;
    if (countRan === undefined || batch.remaining === 0 || seen.resultRefs.length === 0) return ran;
    const more = await readFor(this.#runtime, this.#lease, (call) => countRan.call(account, seen, call));
    return ran === null || more === null ? (ran ?? more) : Math.max(ran, more);
  }

  /** Throws UnreadResults if members without a line may have one that is not shown yet. */
  #checkRead(seen: ProviderBatch, counted: number | null): void {
    const { batch } = this.#lease;
    const due = linesDue(seen, counted, this.#found.size, batch);
    const read = { counted, due, lines: this.#ran.size, remaining: batch.remaining };
    const reading = afterReading(read, shortReadsOf(batch), this.#runtime.clock.now());
    if (reading.kind === "unread") throw new UnreadResults(reading, batch, read);
    if (reading.kind === "agreed") this.#runtime.report(stillMissing(batch, read), this.#lease.context("results"));
  }

  /**
   * Reads all lines. Returns when the stream stalls or the lease is lost, even if the client
   * ignores its signal. Before an error is thrown, lines read so far are settled; a stop drops
   * them.
   */
  #stream(seen: ProviderBatch): Promise<void> {
    const { clock, stopping, budget } = this.#runtime;
    const { signal, account, batch } = this.#lease;
    const timeoutMs = budget?.endsInMs ?? account.requestTimeoutMs;
    return new Promise<void>((resolve, reject) => {
      const cut = new AbortController();
      const end = (reason: unknown, last: Promise<void>): void => {
        cut.abort(reason);
        last.then(() => reject(reason), reject);
      };
      const broken = (reason: unknown): void => {
        if (!cut.signal.aborted) end(reason, this.#settleRead(reason));
      };
      // While answers are checked no line is read.
      const stall = new Timer(clock, () =>
        this.#isChecking ? moved() : broken(new CallTimeout(`No result line within ${timeoutMs} ms.`)),
      );
      const moved = (): void => {
        const now = clock.now();
        // The end of a run cuts by itself.
        if (budget === null) stall.set(now + timeoutMs, now);
      };
      moved();
      const forgetLease = onAbort([signal], (reason) => end(reason, Promise.resolve()));
      // Waits for the chunk that is being settled: after the stop the store may be closed.
      const stopped = (reason: unknown): void => (budget !== null ? broken(reason) : end(reason, this.#settling));
      const forgetStop = onAbort([stopping.signal], stopped);
      const open = () => account.results(seen, { signal: cut.signal, timeoutMs }, batchName(batch));
      clock
        .hold(this.#read(open, cut.signal, moved), HELD_MS)
        .then(resolve, (error: unknown) => broken(readable(error)))
        .finally(() => {
          stall.clear();
          forgetLease();
          forgetStop();
        });
    });
  }

  /**
   * Settles the lines read so far, after the running chunk. Failures only if all readable lines
   * were read: otherwise they come again, perhaps with a success behind them.
   */
  async #settleRead(reason: unknown): Promise<void> {
    await this.#settling;
    await (isUnreadable(reason) ? this.#settleFailures() : this.#flush());
  }

  async #read(open: () => AsyncIterable<ResultLine>, cut: AbortSignal, moved: () => void): Promise<void> {
    for await (const line of open()) {
      cut.throwIfAborted();
      const isProgress = await this.#take(line);
      if (isProgress) moved();
      if (!this.#isFull && !this.#isHeldLong()) continue;
      await this.#flush();
      await this.#runtime.options.failpoint("mid-results");
      if (this.#runtime.isStopping) throw new Error("The dispatcher is stopping.");
      if (isProgress) moved();
    }
    cut.throwIfAborted();
    // Some providers count bad lines as done.
    this.#countedSuccesses = 0;
    await this.#settleFailures();
    if (this.#checkFailed !== null) throw this.#checkFailed;
  }

  /** True for the first line of a member in this download: only these show progress. */
  async #take(line: ResultLine): Promise<boolean> {
    this.#lines += 1;
    const { verified, requests } = this.#lease.batch;
    const name = parseCustomId(line.customId);
    const isForeign = name === null || name.prefix !== this.#prefix;
    if (isForeign && !verified) throw new ForeignResults();
    // A number beyond the batch's requests must not count for a member whose line is missing.
    if (isForeign || name.ord >= requests) {
      this.#runtime.ignoredResults += 1;
      this.#useless.add();
      return false;
    }
    const isFirst = !this.#found.has(name.ord);
    if (isFirst) this.#found.add(name.ord);
    else this.#useless.add();
    if (!verified) await this.#lease.write({ verified: true });
    await this.#takeOf(name.ord, line);
    return isFirst;
  }

  async #takeOf(ord: number, line: ResultLine): Promise<void> {
    if (hasRun(line)) this.#ran.add(ord);
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
    if (this.#failures.isFull) await this.#settleFailures();
  }

  #hold(member: Member, line: ResultLine, cause: FailureCause | null, blamesByWords = false): void {
    const settlement = classifyFailure(member, line, this.#rules, this.#runtime.clock.now());
    this.#failures.hold({ settlement, cause, blamesByWords, member, words: wordsOf(line) });
  }

  /** Call when no success can follow. Pauses first: uncharged requests must not return at once. */
  async #settleFailures(): Promise<void> {
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
      if (this.#isFull) await this.#flush();
    }
    await this.#flush();
  }

  /**
   * Places of requests that blame the account, not for the first time. Pauses the account if it is
   * the first time for one of them and no request of the batch has succeeded.
   */
  async #blamedAgain(): Promise<ReadonlySet<number>> {
    const again = new Set<number>();
    const blames = this.#failures.blamesByWords;
    if (blames.size === 0) return again;
    const visit = ({ ord, history }: { ord: number; history: readonly { readonly code: string }[] | null }): void => {
      if (history?.some(({ code }) => code === blames.get(ord)?.code)) again.add(ord);
    };
    await eachOpen(this.#runtime, this.#lease, visit, { history: true });
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
    await this.#lease.write({ ledgers: [{ name: account.name, blockedUntil, note: error.code }] });
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

  async #flush(): Promise<void> {
    const unchecked = this.#unchecked;
    this.#unchecked = [];
    if (unchecked.length > 0) await this.#check(unchecked);
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#chars = 0;
    this.#settling = this.#lease.settle(items);
    await this.#settling;
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
    await eachOpen(this.#runtime, this.#lease, (member) => {
      members.set(member.ord, member);
    });
    this.#members = members;
    return members;
  }

  /** Called after the last byte: members that are still open got no line. */
  async #settleAbsent(state: ProviderState): Promise<void> {
    const line = absentLine(state);
    await eachOpen(this.#runtime, this.#lease, (member) => this.#hold(member, line, "other"));
    await this.#settleFailures();
  }
}

/** Thrown by accounts after the last line, for lines that they cannot read. */
function isUnreadable(reason: unknown): boolean {
  return reason instanceof DispatchError && reason.code === "RESULTS_UNREADABLE";
}
