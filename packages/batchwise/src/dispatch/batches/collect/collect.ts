// Reads the results of an ended batch, which settling.ts settles: line by line, then the members
// without a line. Always streams from the start: members that an earlier owner settled are ignored.
// If a stream breaks off, or the provider counts more lines than it gave, only lines that were read
// are settled: a member without one may have it in the unread part.

import { Timer } from "../../../core/time/clock.ts";
import type { ProviderBatch, ResultLine } from "../../contract/account.ts";
import { DispatchError, UnnamedResults } from "../../contract/errors.ts";
import { readable } from "../../format/client-error.ts";
import { batchName, keyPrefix, parseCustomId } from "../../format/encode.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { CallTimeout, HELD_MS, onAbort, readFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { undoAdoption } from "../find/undo-adoption.ts";
import { leftToOthers } from "./checked-answers.ts";
import { hasRun } from "./classify-results.ts";
import { endedBatch } from "./ended-batch.ts";
import { collectFailed, FOREIGN_LINES } from "./put-off.ts";
import { readAgain, shortReadsOf, stillMissing, UnreadResults } from "./read-again.ts";
import { reported } from "./reported.ts";
import { sendAsFile } from "./send-as-file.ts";
import { Settling } from "./settling.ts";
import { afterReading, linesDue } from "./unread-results.ts";

const BUSY_MS = 5_000;
/** Limit of lines per download that name no member, or one with a line; plus one per request. */
const USELESS_LINES = 10_000;
const USELESS_LINES_EACH = 10;

/** A download that could go on endlessly without a line for the batch. */
class UselessLines extends Error {
  readonly code = FOREIGN_LINES;
}

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
  readonly #settling: Settling;
  /** Places of members whose line says that they have run. */
  readonly #ran: Set<number> = new Set();
  #lines = 0;
  /** Places of members that have had a line. */
  readonly #found: Set<number> = new Set();
  /** Lines that are of no member, or of one that had a line. */
  #useless = 0;
  #countedSuccesses = 0;

  constructor(runtime: Runtime, lease: Lease) {
    this.#runtime = runtime;
    this.#lease = lease;
    this.#prefix = keyPrefix(lease.batch.key);
    this.#settling = new Settling(runtime, lease, (succeeded) => this.#unread(succeeded));
  }

  async run(seen: ProviderBatch): Promise<void> {
    this.#countedSuccesses = seen.counts?.succeeded ?? 0;
    if (seen.resultRefs.length > 0)
      await reported(
        this.#runtime,
        this.#lease,
        "results",
        () => this.#lines,
        () => this.#stream(seen),
      );
    if (this.#runtime.isStopping && this.#lease.batch.remaining > 0) throw new Error("The dispatcher is stopping.");
    this.#checkRead(seen, await this.#counted(seen));
    // Without any line the adoption stays unverified, and members are not charged.
    if (!this.#lease.batch.verified) throw new ForeignResults();
    await this.#settling.end(seen.state);
  }

  /** Successes that the provider counts and that may be among the unread lines. */
  #unread(succeeded: number): number {
    const unread = Math.min(this.#countedSuccesses - succeeded, this.#lease.batch.requests - this.#found.size);
    return Math.max(0, unread);
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
        this.#settling.isChecking ? moved() : broken(new CallTimeout(`No result line within ${timeoutMs} ms.`)),
      );
      const moved = (): void => {
        const now = clock.now();
        // In a run with a time limit the end of the run stops the read, so no stall timer is
        // needed.
        if (budget === null) stall.set(now + timeoutMs, now);
      };
      moved();
      const forgetLease = onAbort([signal], (reason) => end(reason, Promise.resolve()));
      // Waits for the chunk that is being settled: after the stop the store may be closed.
      const stopped = (reason: unknown): void =>
        budget !== null ? broken(reason) : end(reason, this.#settling.current);
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
    await this.#settling.current;
    await (isUnreadable(reason) ? this.#settling.settleFailures() : this.#settling.flush());
  }

  async #read(open: () => AsyncIterable<ResultLine>, cut: AbortSignal, moved: () => void): Promise<void> {
    for await (const line of open()) {
      cut.throwIfAborted();
      const isProgress = await this.#take(line);
      if (isProgress) moved();
      if (!this.#settling.isDue) continue;
      await this.#settling.flush();
      await this.#runtime.options.failpoint("mid-results");
      if (this.#runtime.isStopping) throw new Error("The dispatcher is stopping.");
      if (isProgress) moved();
    }
    cut.throwIfAborted();
    // Some providers count bad lines as done.
    this.#countedSuccesses = 0;
    await this.#settling.settleFailures();
    if (this.#settling.checkFailed !== null) throw this.#settling.checkFailed;
  }

  /** Throws for one too many. */
  #countUseless(): void {
    this.#useless += 1;
    if (this.#useless <= USELESS_LINES + USELESS_LINES_EACH * this.#lease.batch.requests) return;
    throw new UselessLines(`The results have ${this.#useless} lines that are of no member, or of one that had a line.`);
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
      this.#countUseless();
      return false;
    }
    const isFirst = !this.#found.has(name.ord);
    if (isFirst) this.#found.add(name.ord);
    else this.#countUseless();
    if (!verified) await this.#lease.write({ verified: true });
    if (hasRun(line)) this.#ran.add(name.ord);
    await this.#settling.take(name.ord, line);
    return isFirst;
  }
}

/** Thrown by accounts after the last line, for lines that they cannot read. */
function isUnreadable(reason: unknown): boolean {
  return reason instanceof DispatchError && reason.code === "RESULTS_UNREADABLE";
}
