// Runs a batch of an account that runs lines itself (`Account.execute`). Reads the lines from the
// store, page by page, and settles each result soon after it ends: the process that leases the
// batch next, after a kill, a stop or a lost lease, runs only open lines. So only the store's state
// says which lines have run, and no process can leave a batch "running". Lines that were running,
// or had ended but were not settled, run again.

import { healthOf, isKeptBack } from "../../accounts/lane-health.ts";
import { maySendAt } from "../../accounts/outage.ts";
import { closedByAnswer, pausedFor } from "../../accounts/pause-changes.ts";
import { placeOf } from "../../accounts/record-lane-health.ts";
import { tellOfPause } from "../../accounts/tell-of-pause.ts";
import type { Account, ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import { laneProper } from "../../contract/store/lanes.ts";
import type { LedgerChanges, LedgerRow } from "../../contract/store/ledger-rows.ts";
import type { RequestRow } from "../../contract/store/rows.ts";
import { atOnce } from "../../format/at-once.ts";
import { isMistake, isStoreError, readable } from "../../format/client-error.ts";
import { batchName, customId, parseCustomId } from "../../format/encode.ts";
import { type Disposal, EXPIRED } from "../../format/payload.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { failureOf, onAbort } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { withTurns } from "../collect/answer-turns.ts";
import { kept } from "../collect/ask-again.ts";
import { checkOne, isChecked, isCheckFailed, leftToOthers } from "../collect/checked-answers.ts";
import {
  type CheckedLine,
  classifyChecked,
  classifySuccess,
  isSuccess,
  type Member,
} from "../collect/classify-results.ts";
import { isUrgentAtFallback, mayChangeAccount } from "../submit/competing-batches.ts";
import { isPaused } from "../submit/gate.ts";
import { afterBreak } from "./after-break.ts";
import { LineFailures } from "./line-failures.ts";
import { SettleSoon } from "./settle-soon.ts";

/** Members read at once, and how long they may wait to be started before they are read again. */
const PAGE = 100;
const STALE_MS = 1_000;
const HELD_MS = 60_000;
const BUSY_MS = 5_000;
/**
 * Passes in a row that broke off without a result, or the pause after one, after which urgent
 * requests go elsewhere.
 */
const LEFT_AFTER = 2;
const LEFT_FOR_MS = 60_000;

type Execute = NonNullable<Account["execute"]>;

/** `onWaiting`: the pass waits for a store that refuses its results, or goes on. */
export async function execute(runtime: Runtime, lease: Lease, onWaiting: (waits: boolean) => void): Promise<void> {
  if (await leftToOthers(runtime, lease)) return;
  if (await waits(runtime, lease)) return;
  if (lease.batch.state === "submitted") await lease.write({ state: "running" });
  const run = new Execution(runtime, lease, onWaiting);
  let error: unknown = null;
  try {
    await run.all();
  } catch (reason) {
    error = reason;
  }
  if (lease.isOver) throw error;
  if (run.settled > 0) runtime.troubles.worked(lease.account.name, "execute");
  if (error !== null && !runtime.isStopping) await brokenOff(runtime, lease, error, run.settled);
  else if (lease.batch.remaining === 0) {
    await run.failures.noteEnd();
    await lease.write((now) => ({ state: "collecting", releaseAt: now, lastError: null }));
  } else if (run.failures.isBadHour) await sendBack(lease, "lane_paused");
  else await lease.end((now) => ({ nextAt: now + (run.isHeld ? HELD_MS : pause(runtime)) }));
}

/** Its open members go back to their lane, uncharged. */
async function sendBack(lease: Lease, code: string): Promise<void> {
  const disposal = JSON.stringify({ kind: "requeue", code } satisfies Disposal);
  await lease.write((now) => ({ state: "collecting", disposal, releaseAt: now }));
}

/** True for urgent requests that another account takes now. */
function maySendElsewhere(runtime: Runtime, { batch }: Lease, ledgers: ReadonlyMap<string, LedgerRow>): boolean {
  return isUrgentAtFallback(runtime, batch) && mayChangeAccount(runtime, batch, ledgers);
}

/** A stopped dispatcher leaves the batch to others at once. */
function pause(runtime: Runtime): number {
  return runtime.isStopping ? 0 : BUSY_MS;
}

/**
 * True while the account or the lane is paused. A lane that has no capacity gets its requests back.
 */
async function waits(runtime: Runtime, lease: Lease): Promise<boolean> {
  const ledgers = await runtime.ledgers();
  const until = maySendAt(lease.batch, ledgers.get(lease.account.name), runtime.clock.now());
  const waitsUntil = until > runtime.clock.now() ? until : null;
  if (waitsUntil === null && !(await isPaused(runtime, lease))) {
    const health = healthOf(runtime.lastPauses.healths, placeOf(lease.batch));
    if (!isKeptBack(health, lease.batch.key, runtime.clock.now())) return false;
    await sendBack(lease, "lane_paused");
  } else if (maySendElsewhere(runtime, lease, ledgers)) await sendBack(lease, "account_paused");
  else await lease.end((now) => ({ nextAt: waitsUntil ?? now + HELD_MS }));
  return true;
}

/** Writes why a pass ended before its end, and when the next begins. */
async function brokenOff(runtime: Runtime, lease: Lease, error: unknown, settled: number): Promise<void> {
  const { account, batch } = lease;
  if (isStoreError(error) || (isMistake(error) && settled === 0)) throw error;
  const failure = failureOf(account, error, "execute");
  runtime.troubles.add({ error, failure, context: lease.context("execute") });
  const breaks = settled > 0 ? 0 : batch.breaks;
  const { waitMs, pausesAccount } = afterBreak(failure, breaks);
  const { code, message } = failure;
  // What has a deadline does not wait for long where another account can take it; see `waits`.
  const isLong = breaks >= LEFT_AFTER || waitMs >= LEFT_FOR_MS;
  const ledgers = await runtime.ledgers();
  const isLeft = isLong && maySendElsewhere(runtime, lease, ledgers);
  const lastError = JSON.stringify({ code, message });
  const isClosed = failure.kind === "authOrBilling";
  const paused = (until: number): LedgerChanges[] => {
    if (isClosed) return [closedByAnswer(account.name, until, code)];
    return pausesAccount || isLeft ? pausedFor(ledgers.get(account.name), account.name, until, code) : [];
  };
  await lease.end((now) => {
    const until = now + waitMs;
    return { nextAt: isLeft ? now : until, lastError, breaks: breaks + 1, ledgers: paused(until) };
  });
  if (isClosed) {
    tellOfPause(runtime, failure, runtime.clock.now() + waitMs, "execute", lease.context("execute"));
  }
}

/** One pass over the open members of one batch. */
class Execution {
  readonly #runtime: Runtime;
  readonly #lease: Lease;
  readonly #isChecked: boolean;
  readonly #settling: SettleSoon;
  /** Where lines that are run again wait. */
  readonly #lane: string;
  readonly failures: LineFailures;
  /** Members whose lines were given out and that have not been settled. */
  readonly #running: Map<number, RequestRow> = new Map();
  readonly #cut: AbortController = new AbortController();
  /** An operator's pause ended the pass. */
  isHeld = false;
  #lines = 0;

  constructor(runtime: Runtime, lease: Lease, onWaiting: (waits: boolean) => void) {
    this.#runtime = runtime;
    this.#lease = lease;
    this.#isChecked = isChecked(lease);
    this.#settling = new SettleSoon(runtime, lease, onWaiting, (reason) => this.#cut.abort(reason));
    this.#lane = laneProper(lease.batch.lane);
    this.failures = new LineFailures(runtime, lease, { ...runtime.options.retry, lane: this.#lane });
  }

  /** Members settled in this pass. */
  get settled(): number {
    return this.#settling.settled;
  }

  /**
   * Runs the open members. Settles members that ended before an error or a stop; after a lost lease
   * it settles nothing.
   */
  async all(): Promise<void> {
    const { clock, stopping, events } = this.#runtime;
    const { account, batch, signal } = this.#lease;
    const begunAt = clock.monotonic();
    const forget = onAbort([signal, stopping.signal], (reason) => this.#cut.abort(reason));
    let code: string | null = null;
    try {
      await this.#untilCut(this.#run((account.execute as Execute).bind(account)));
    } catch (error) {
      code = failureOf(account, error, "execute").code;
      throw error;
    } finally {
      forget();
      this.#cut.abort(new Error("The pass is over."));
      this.#settling.stopTimer();
      if (!this.#lease.isOver) await this.#settleAll();
      const durationMs = clock.monotonic() - begunAt;
      events.emit("collect", () => ({ account: account.name, batch: batch.key, lines: this.#lines, durationMs, code }));
    }
  }

  /** Rejects once the pass is cut, even if the account ignores its signal. */
  #untilCut(run: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const forget = onAbort([this.#cut.signal], reject);
      run.then(resolve, (error: unknown) => reject(readable(error))).finally(forget);
    });
  }

  async #run(run: Execute): Promise<void> {
    const { signal } = this.#cut;
    for await (const line of run(this.#open(), { signal }, batchName(this.#lease.batch))) {
      signal.throwIfAborted();
      if (isSuccess(line) && this.#isChecked) await this.#takeChecked(line);
      else this.#take(line);
      if (this.failures.isDue) await this.#settleFailures();
      if (this.#settling.isFull) await this.#settling.flush();
      await this.#runtime.options.failpoint("mid-results");
    }
  }

  /** The lines of open members, except cancelled ones and those whose deadline has passed. */
  async *#open(): AsyncGenerator<string> {
    const { store, clock } = this.#runtime;
    const { key: batchKey } = this.#lease.batch;
    let checkedAt = clock.monotonic();
    for (let fromOrd = 0; ; ) {
      this.#cut.signal.throwIfAborted();
      const readAt = clock.monotonic();
      const page = await store.requests({ batchKey, fromOrd, limit: PAGE, bodies: true });
      for (const row of page) {
        if (this.#isOver) return;
        if (clock.monotonic() - readAt > STALE_MS) break;
        fromOrd = (row.ord as number) + 1;
        const line = this.#lineOf(row);
        if (line !== null) yield line;
      }
      if (page.length < PAGE && fromOrd > (page.at(-1)?.ord ?? -1)) return;
      if (clock.monotonic() - checkedAt <= STALE_MS) continue;
      checkedAt = clock.monotonic();
      this.isHeld = await isPaused(this.#runtime, this.#lease);
      if (this.isHeld) return;
    }
  }

  /** No line is to be started in this pass. */
  get #isOver(): boolean {
    return this.failures.isBadHour || this.#settling.isWaiting;
  }

  /** Null for a member that is not to be run: it is decided here. */
  #lineOf(row: RequestRow): string | null {
    const { clock } = this.#runtime;
    const { account, batch } = this.#lease;
    const ord = row.ord as number;
    if (row.cancelRequested) {
      // The store ends it as cancelled.
      this.#settling.add({ ord, kind: "requeue", code: "cancelled", charged: false, notBefore: 0, lane: this.#lane });
      return null;
    }
    if (row.deadlineAt !== null && row.deadlineAt <= clock.now()) {
      this.#settling.add({ ord, kind: "final", status: "expired", ...EXPIRED, charged: false });
      return null;
    }
    this.#running.set(ord, row);
    try {
      const { endpoint } = batchName(batch);
      const body = withTurns(row.body as string, row.turns);
      const request = { customId: customId(batch.key, ord), endpoint, body };
      return atOnce(account, "encodeLine", account.encodeLine(request));
    } catch (error) {
      if (!(error instanceof DispatchError)) throw error;
      const { message } = error;
      this.#take({
        customId: customId(batch.key, ord),
        response: null,
        error: { code: "invalid_request", message },
        usage: null,
      });
      return null;
    }
  }

  #take(line: ResultLine): void {
    this.#lines += 1;
    const ord = parseCustomId(line.customId)?.ord ?? -1;
    const member = this.#running.get(ord);
    if (member === undefined) {
      this.#runtime.ignoredResults += 1;
      return;
    }
    this.#running.delete(ord);
    if (isSuccess(line)) {
      this.failures.succeeded();
      this.#settling.add(classifySuccess(ord, line));
      return;
    }
    const failed = this.failures.failed({ ...member, ord }, line);
    if (failed === null) return;
    const { options, clock } = this.#runtime;
    this.#settling.add(kept(failed, member, options, this.#lane, clock.now()));
  }

  async #takeChecked(line: ResultLine): Promise<void> {
    const ord = parseCustomId(line.customId)?.ord ?? -1;
    const member = this.#running.get(ord);
    if (member === undefined) {
      this.#take(line);
      return;
    }
    const checked = await this.#checked({ ...member, ord }, line);
    this.#running.delete(ord);
    this.#lines += 1;
    this.failures.succeeded();
    const { clock, options } = this.#runtime;
    this.#settling.add(classifyChecked(checked, { ...options.retry, lane: this.#lane }, clock.now()));
  }

  /** A check that fails ends its request with the answer: only here is the answer kept. */
  async #checked(member: RequestRow & Member, line: ResultLine): Promise<CheckedLine> {
    try {
      return await checkOne(this.#runtime, this.#lease, member, line);
    } catch (error) {
      if (!isCheckFailed(error)) throw error;
      this.#runtime.report(error, this.#lease.context("execute"));
      return { line, member, why: error.message, mayPass: false, appended: null };
    }
  }

  async #settleFailures(): Promise<void> {
    for (const failed of await this.failures.decide()) this.#settling.add(failed);
  }

  async #settleAll(): Promise<void> {
    await this.#settleFailures();
    await this.#settling.flush();
  }
}
