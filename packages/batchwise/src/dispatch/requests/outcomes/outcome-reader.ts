// Reads recorded outcomes for callers in this process: promises of `result` and iterators of
// `outcomes`. Both read only the durable log, so any process may have recorded the outcome. It
// reads only while a caller waits.

import type { Batcher } from "../../../core/contract/types.ts";
import { invalidOption } from "../../../core/contract/validate.ts";
import { createBatcher } from "../../../makers/batch.ts";
import { DispatchError, notFoundError, prunedError, QuarantinedError } from "../../contract/errors.ts";
import type { OutcomeRow } from "../../contract/store/outcome-rows.ts";
import type { LoggedOutcome, Outcome } from "../../contract/types.ts";
import { loggedOutcome, plainOutcome } from "../../format/payload.ts";
import type { ResolvedOutcomesOptions } from "../../options/call-options.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { Idleness } from "./idleness.ts";
import { ResultWatch, type ResultWatchInput } from "./result-watch.ts";

const PAGE = 500;
const FIRST_LOOK_MS = 500;
const LAST_LOOK_MS = 5_000;

interface Waiter {
  readonly isDoor: boolean;
  readonly resolve: (row: OutcomeRow) => void;
  readonly reject: (error: unknown) => void;
}

interface Ending {
  isNear: boolean;
  rejection: { readonly error: unknown } | null;
}

export class OutcomeReader {
  readonly #runtime: Runtime;
  readonly #waiters: Map<string, Set<Waiter>> = new Map();
  readonly #readers: Set<() => void> = new Set();
  /** Iterations that have reached the log's end; the watch begins once for each. */
  readonly #iterators: Set<Idleness> = new Set();
  readonly #lookUps: Batcher<string, null>;
  readonly #watch: ResultWatch;
  /** Log position read for the waiters; null if there are none. */
  #cursor: number | null = null;
  #lookMs = FIRST_LOOK_MS;

  /** `closesAt`: when a lane closes a batch. */
  constructor(runtime: Runtime, closesAt: ResultWatchInput["closesAt"]) {
    this.#runtime = runtime;
    this.#watch = new ResultWatch({ runtime, waiting: () => this.#someWait(), closesAt });
    runtime.onSetBack((loss) => this.#endWaits(loss));
    this.#lookUps = createBatcher((ids: string[]) => this.#lookUp(ids), { maxBatchSize: PAGE, clock: runtime.clock });
  }

  /** The loop's turn: wakes iterators, and reads the log while a `result` waits. */
  readonly turn = async (): Promise<number> => {
    for (const wake of [...this.#readers]) wake();
    const hasNews = this.#waiters.size > 0 && (await this.#readOn());
    this.#lookMs = hasNews ? FIRST_LOOK_MS : Math.min(this.#lookMs * 2, LAST_LOOK_MS);
    const isWatched = this.#waiters.size > 0 || this.#readers.size > 0;
    return isWatched ? this.#runtime.clock.now() + this.#lookMs : Number.POSITIVE_INFINITY;
  };

  /**
   * Resolves with the outcome of an existing request. Rejects with the signal's reason, or with
   * CLOSED when the dispatcher stops. `isDoor`: the caller flushes lanes itself, so a late batch is
   * not reported.
   */
  async result(id: string, signal: AbortSignal | undefined, isDoor: boolean = false): Promise<Outcome> {
    signal?.throwIfAborted();
    if (this.#runtime.isStopping) throw closed();
    const waiting = this.#wait(id, signal, isDoor);
    this.#watch.begin();
    // The waiter is registered before the log is read, so an outcome is seen either by this look-up
    // or by the loop.
    this.#askFor(id);
    return plainOutcome(await waiting);
  }

  /**
   * Reads the log after `after` and waits at its end. Ends when the dispatcher stops or, if
   * `untilIdle`, when no work is left. Rejects with QUARANTINED if only quarantined batches are
   * left.
   */
  async *outcomes(options: ResolvedOutcomesOptions): AsyncGenerator<LoggedOutcome> {
    const idleness = new Idleness(this.#runtime, options.job);
    try {
      yield* this.#follow(options, idleness);
    } finally {
      this.#iterators.delete(idleness);
      this.#endWatch();
    }
  }

  async *#follow(
    { after, untilIdle, job }: ResolvedOutcomesOptions,
    idleness: Idleness,
  ): AsyncGenerator<LoggedOutcome> {
    const { store, setBack } = this.#runtime;
    const of = job === null ? {} : { job };
    const ending = this.#endingOf(untilIdle);
    await this.#checkCursor(after);
    for (let cursor = after; ; ) {
      const news = this.#nextNews();
      try {
        // The store has lost data, so this cursor is no longer valid.
        if (this.#runtime.setBack !== setBack) throw this.#runtime.setBack;
        if (ending.rejection !== null) throw ending.rejection.error;
        // Check before reading the log: outcomes recorded in between are still read.
        const idle = ending.isNear ? await idleness.look() : null;
        const rows = await store.outcomes({ after: cursor, limit: PAGE, ...of });
        for (const row of rows) {
          cursor = row.cursor;
          yield loggedOutcome(row);
        }
        if (rows.length === PAGE) continue;
        if (this.#runtime.isStopping) return;
        if (idle instanceof QuarantinedError) throw idle;
        if (idle !== null) return;
        this.#runtime.watching.wakeAt(this.#runtime.clock.now() + this.#lookMs);
        this.#beginWatch(idleness);
        await news.heard;
      } finally {
        news.leave();
      }
    }
  }

  /**
   * How the iteration ends: when idle, on the caller's promise, or at once with an error. Wakes the
   * iterator when the promise settles.
   */
  #endingOf(untilIdle: boolean | PromiseLike<unknown>): Ending {
    const ending: Ending = { isNear: untilIdle === true, rejection: null };
    if (typeof untilIdle === "boolean") return ending;
    const wake = (): void => this.#runtime.watching.wake();
    const end = (): void => {
      ending.isNear = true;
      wake();
    };
    const fail = (error: unknown): void => {
      ending.rejection = { error };
      wake();
    };
    untilIdle.then(end, fail);
    return ending;
  }

  /**
   * Throws for a cursor beyond the log's end, which would wait for ever. It comes from another
   * store or from before a restored backup.
   */
  async #checkCursor(after: number): Promise<void> {
    if (after === 0) return;
    const { cursor } = await this.#runtime.store.probe(1, this.#runtime.clock.now());
    if (after <= cursor) return;
    throw invalidOption(RangeError, `Expected \`after\` to be at most ${cursor}, the log's last cursor, got ${after}`);
  }

  /** Ends every wait: iterators return, promises reject with CLOSED. */
  close(): void {
    this.#endWaits(closed());
  }

  #endWaits(error: DispatchError): void {
    for (const wake of [...this.#readers]) wake();
    for (const id of [...this.#waiters.keys()]) this.#rejectAll(id, error);
  }

  #nextNews(): { readonly heard: Promise<void>; leave(): void } {
    let wake = (): void => {};
    const heard = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#readers.add(wake);
    return { heard, leave: () => this.#readers.delete(wake) };
  }

  #wait(id: string, signal: AbortSignal | undefined, isDoor: boolean): Promise<OutcomeRow> {
    return new Promise<OutcomeRow>((resolve, reject) => {
      const leave = (): void => {
        signal?.removeEventListener("abort", onAbort);
        this.#leave(id, waiter);
      };
      const onAbort = (): void => waiter.reject(signal?.reason);
      const waiter: Waiter = {
        isDoor,
        resolve: (row) => {
          leave();
          resolve(row);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      signal?.addEventListener("abort", onAbort);
      const waiters = this.#waiters.get(id);
      if (waiters === undefined) this.#waiters.set(id, new Set([waiter]));
      else waiters.add(waiter);
    });
  }

  #leave(id: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(id);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(id);
    if (this.#waiters.size > 0) return;
    this.#cursor = null;
    this.#endWatch();
  }

  #someWait(): ReturnType<ResultWatchInput["waiting"]> {
    for (const [id, waiters] of this.#waiters) {
      if ([...waiters].some(({ isDoor }) => !isDoor)) return { call: `result("${id}")`, id };
    }
    if (this.#iterators.size > 0) return { call: "outcomes()", id: null };
    return this.#waiters.size > 0 ? { call: "batchFetch", id: null } : null;
  }

  #beginWatch(iterator: Idleness): void {
    if (this.#iterators.has(iterator)) return;
    this.#iterators.add(iterator);
    this.#watch.begin();
  }

  #endWatch(): void {
    if (this.#waiters.size === 0 && this.#iterators.size === 0) this.#watch.end();
  }

  /**
   * Reads the log's end unless it is known. Discards it if the last waiter has left meanwhile,
   * because it would go stale.
   */
  async #findCursor(): Promise<void> {
    if (this.#cursor !== null) return;
    const { cursor } = await this.#runtime.store.probe(1, this.#runtime.clock.now());
    if (this.#waiters.size > 0) this.#cursor ??= cursor;
  }

  /** Looks up these ids in the log. Ids that arrive during a look-up share the next one. */
  async #lookUp(ids: readonly string[]): Promise<(Error | null)[]> {
    const { store, clock, watching } = this.#runtime;
    await this.#findCursor();
    const seen = new Set<string>();
    for (const row of await store.outcomes({ ids })) {
      seen.add(row.id);
      this.#resolveAll(row);
    }
    const open = ids.filter((id) => !seen.has(id));
    const pruned = new Set<string>();
    for (const { id, state, ended } of await store.requests({ ids: open, tombstones: true })) {
      (state === "ended" && ended === null ? pruned : seen).add(id);
    }
    this.#lookMs = FIRST_LOOK_MS;
    watching.wakeAt(clock.now() + this.#lookMs);
    return ids.map((id) => (seen.has(id) ? null : (pruned.has(id) ? prunedError : notFoundError)(id)));
  }

  /**
   * Returns true if there were new outcomes. After a gap in the log, an awaited outcome may have
   * been pruned unread, so all waiting ids are looked up again.
   */
  async #readOn(): Promise<boolean> {
    const { store, clock } = this.#runtime;
    const last = (await store.probe(1, clock.now())).cursor;
    let [hasNews, hasGap] = [false, false];
    while (this.#cursor !== null && this.#cursor < last) {
      const rows: readonly OutcomeRow[] = await store.outcomes({ after: this.#cursor, limit: PAGE });
      for (const row of rows) {
        hasGap ||= this.#cursor !== null && row.cursor > this.#cursor + 1;
        // New waiters may have moved the cursor further on meanwhile.
        if (this.#cursor !== null) this.#cursor = Math.max(this.#cursor, row.cursor);
        this.#resolveAll(row);
      }
      hasNews ||= rows.length > 0;
      if (rows.length === PAGE || this.#cursor === null) continue;
      hasGap ||= this.#cursor < last;
      this.#cursor = Math.max(this.#cursor, last);
    }
    if (hasGap) for (const id of this.#waiters.keys()) this.#askFor(id);
    return hasNews;
  }

  #askFor(id: string): void {
    this.#lookUps.submit(id).catch((error: unknown) => this.#rejectAll(id, error));
  }

  #resolveAll(row: OutcomeRow): void {
    for (const waiter of [...(this.#waiters.get(row.id) ?? [])]) waiter.resolve(row);
  }

  #rejectAll(id: string, error: unknown): void {
    for (const waiter of [...(this.#waiters.get(id) ?? [])]) waiter.reject(error);
  }
}

function closed(): DispatchError {
  return new DispatchError("CLOSED", "The dispatcher is stopped.");
}
