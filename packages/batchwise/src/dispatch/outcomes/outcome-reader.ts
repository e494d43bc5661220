// Reads recorded outcomes for the callers in this process: promises of `result` and iterators of
// `outcomes`. Both read the durable log and nothing else, so it does not matter which process
// recorded an outcome. It reads only while a caller waits.

import type { Batcher } from "../../core/contract/types.ts";
import { invalidOption } from "../../core/contract/validate.ts";
import { createBatcher } from "../../makers/batch.ts";
import { DispatchError, notFoundError, prunedError, QuarantinedError } from "../contract/errors.ts";
import type { OutcomeRow } from "../contract/outcome-rows.ts";
import type { LoggedOutcome, Outcome } from "../contract/types.ts";
import { loggedOutcome, plainOutcome } from "../format/payload.ts";
import type { ResolvedOutcomesOptions } from "../options/call-options.ts";
import type { Runtime } from "../runtime/runtime.ts";
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
  /** Iterations that have waited at the log's end; each is looked at once. */
  readonly #iterators: Set<Idleness> = new Set();
  readonly #lookUps: Batcher<string, null>;
  readonly #watch: ResultWatch;
  /** How far the log has been read for the waiters; null while there are none. */
  #cursor: number | null = null;
  #lookMs = FIRST_LOOK_MS;

  /** `closesAt`: when a lane closes a batch. */
  constructor(runtime: Runtime, closesAt: ResultWatchInput["closesAt"]) {
    this.#runtime = runtime;
    this.#watch = new ResultWatch({ runtime, waiting: () => this.#someWait(), closesAt });
    runtime.onSetBack((loss) => this.#endWaits(loss));
    this.#lookUps = createBatcher((ids: string[]) => this.#lookUp(ids), { maxBatchSize: PAGE, clock: runtime.clock });
  }

  /** The loop's turn: wakes iterators, and reads on in the log while somebody waits for an id. */
  readonly turn = async (): Promise<number> => {
    for (const wake of [...this.#readers]) wake();
    const hasNews = this.#waiters.size > 0 && (await this.#readOn());
    this.#lookMs = hasNews ? FIRST_LOOK_MS : Math.min(this.#lookMs * 2, LAST_LOOK_MS);
    const isWatched = this.#waiters.size > 0 || this.#readers.size > 0;
    return isWatched ? this.#runtime.clock.now() + this.#lookMs : Number.POSITIVE_INFINITY;
  };

  /**
   * Resolves with the outcome of a request that exists; rejects with the signal's reason, or CLOSED
   * at the stop. `isDoor`: who asks closes batches itself, so that one which closes late is not
   * reported.
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
   * Reads the log from `after` on, and waits at its end. Ends when the dispatcher stops, or has
   * nothing left to do; rejects with QUARANTINED when all that is left to do is a person's.
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
        // The log that this cursor is from is gone.
        if (this.#runtime.setBack !== setBack) throw this.#runtime.setBack;
        if (ending.rejection !== null) throw ending.rejection.error;
        // Asked before the log is read: what ends in between is still read.
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
   * Whether the iteration is to end once all is idle, or at once with an error; wakes it when a
   * promise says so.
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
   * A cursor beyond the log, from another store or from before a backup was restored, would wait
   * for ever.
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
   * The log's end, unless one is known; none where the last waiter has left meanwhile: it would
   * only grow old.
   */
  async #findCursor(): Promise<void> {
    if (this.#cursor !== null) return;
    const { cursor } = await this.#runtime.store.probe(1, this.#runtime.clock.now());
    if (this.#waiters.size > 0) this.#cursor ??= cursor;
  }

  /** Looks these ids up in the log. Ids that arrive meanwhile share the next look-up. */
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
   * True when there was something new. Where the log has a gap, an outcome that somebody waits for
   * may have been pruned before it was read here: all of them are looked up again.
   */
  async #readOn(): Promise<boolean> {
    const { store, clock } = this.#runtime;
    const last = (await store.probe(1, clock.now())).cursor;
    let [hasNews, hasGap] = [false, false];
    while (this.#cursor !== null && this.#cursor < last) {
      const rows: readonly OutcomeRow[] = await store.outcomes({ after: this.#cursor, limit: PAGE });
      for (const row of rows) {
        hasGap ||= this.#cursor !== null && row.cursor > this.#cursor + 1;
        // Others may have left and come meanwhile, and begun further on.
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
