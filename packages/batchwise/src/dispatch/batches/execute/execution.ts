// One pass over the open members of a batch whose account runs lines itself. Reads the lines from
// the store, page by page, and settles each result soon after it ends. Lines that were running, or
// had ended but were not settled, run again in the next pass.

import type { Account, ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import { laneProper } from "../../contract/store/lanes.ts";
import type { RequestRow } from "../../contract/store/rows.ts";
import { atOnce } from "../../format/at-once.ts";
import { readable } from "../../format/client-error.ts";
import { batchName, customId, parseCustomId } from "../../format/encode.ts";
import { EXPIRED } from "../../format/payload.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { onAbort } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { withTurns } from "../collect/answer-turns.ts";
import { kept } from "../collect/ask-again.ts";
import { checkOne, isChecked, isCheckFailed } from "../collect/checked-answers.ts";
import {
  type CheckedLine,
  classifyChecked,
  classifySuccess,
  isSuccess,
  type Member,
} from "../collect/classify-results.ts";
import { reported } from "../collect/reported.ts";
import { isPaused } from "../submit/gate.ts";
import { LineFailures } from "./line-failures.ts";
import { SettleSoon } from "./settle-soon.ts";

/** Members read at once, and how long they may wait to be started before they are read again. */
const PAGE = 100;
const STALE_MS = 1_000;

type Execute = NonNullable<Account["execute"]>;

export class Execution {
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
  all(): Promise<void> {
    const lines = (): number => this.#lines;
    return reported(this.#runtime, this.#lease, "execute", lines, () => this.#all());
  }

  async #all(): Promise<void> {
    const { account, signal } = this.#lease;
    const forget = onAbort([signal, this.#runtime.stopping.signal], (reason) => this.#cut.abort(reason));
    try {
      await this.#untilCut(this.#run((account.execute as Execute).bind(account)));
    } finally {
      forget();
      this.#cut.abort(new Error("The pass is over."));
      this.#settling.stopTimer();
      if (!this.#lease.isOver) await this.#settleAll();
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
      await this.#take(line);
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
      const refused = { code: "invalid_request", message: error.message };
      this.#lines += 1;
      this.#failed(
        { ...row, ord },
        { customId: customId(batch.key, ord), response: null, error: refused, usage: null },
      );
      return null;
    }
  }

  async #take(line: ResultLine): Promise<void> {
    this.#lines += 1;
    const ord = parseCustomId(line.customId)?.ord ?? -1;
    const member = this.#running.get(ord);
    if (member === undefined) this.#runtime.ignoredResults += 1;
    else if (isSuccess(line)) await this.#succeeded({ ...member, ord }, line);
    else this.#failed({ ...member, ord }, line);
  }

  async #succeeded(member: RequestRow & Member, line: ResultLine): Promise<void> {
    const { clock, options } = this.#runtime;
    const rules = { ...options.retry, lane: this.#lane };
    const settlement = this.#isChecked
      ? classifyChecked(await this.#checked(member, line), rules, clock.now())
      : classifySuccess(member.ord, line);
    this.#running.delete(member.ord);
    this.failures.succeeded();
    this.#settling.add(settlement);
  }

  #failed(member: RequestRow & Member, line: ResultLine): void {
    this.#running.delete(member.ord);
    const failed = this.failures.failed(member, line);
    if (failed === null) return;
    const { options, clock } = this.#runtime;
    this.#settling.add(kept(failed, member, options, this.#lane, clock.now()));
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
