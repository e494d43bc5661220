// Enqueues requests: checks them, gives ids, stores them and notifies the sealer. Single requests
// that arrive during a transaction share the next one.

import { describe } from "../../../core/contract/errors.ts";
import { createBatcher } from "../../../makers/batch.ts";
import { CACHED_MS } from "../../batches/seal/cache-state.ts";
import type { Sealer } from "../../batches/seal/sealer.ts";
import { DispatchError, duplicateIdError, partlyStored, reworded } from "../../contract/errors.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import type { BatchLine, DispatchRequest, Enqueued, EnqueuedMany, JsonObject } from "../../contract/types.ts";
import { ulid } from "../../format/encode.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { Intake, type RequestDefaults } from "../check/intake.ts";
import { CachePlacing } from "./cache-placing.ts";
import { chunks, MOST_BYTES, MOST_REQUESTS, sizeOf } from "./chunks.ts";
import { enqueued, enqueuedMany } from "./enqueued.ts";
import { offerIntake } from "./in-transaction.ts";
import { compareBodies } from "./repeated-ids.ts";

/** The store's marks are read again after this time, in ms. */
const MARKS_LAST_MS = 5_000;

interface Put {
  readonly row: NewRequest;
  readonly answer: EnqueueResult;
}

export class Enqueuer {
  readonly #runtime: Runtime;
  readonly #sealer: Sealer;
  readonly #intake: Intake;
  /** Rows whose body was refused. They are accepted only if the store already has them. */
  readonly #refused = new WeakMap<NewRequest, DispatchError>();
  /** null if no account names cached prefixes. */
  readonly #placing: CachePlacing | null;
  #isShortTold = false;
  #marksReadAt = Number.NEGATIVE_INFINITY;
  readonly #storeTogether: (request: NewRequest) => Promise<EnqueueResult>;

  constructor(runtime: Runtime, sealer: Sealer) {
    this.#runtime = runtime;
    this.#sealer = sealer;
    const { options, clock } = runtime;
    this.#intake = new Intake(options, () => ulid(clock.now(), options.random));
    const isCaching = runtime.accounts.some(({ cachedPrefix }) => cachedPrefix !== undefined);
    const placing = {
      prefixOf: (row: NewRequest) => this.#intake.prefixOf(row),
      primings: () => runtime.lastPauses.primings,
      now: () => clock.now(),
      maxAgeMs: options.thresholds.maxAgeMs,
    };
    this.#placing = isCaching ? new CachePlacing(placing) : null;
    const commits = createBatcher((requests: NewRequest[]) => this.#commit(requests), {
      maxBatchSize: MOST_REQUESTS,
      maxBatchCost: MOST_BYTES,
      cost: sizeOf,
      oversize: "alone",
      clock,
    });
    this.#storeTogether = (request) => commits.submit(request);
    offerIntake(runtime, sealer, (requests) => this.#place(this.#check(requests)));
  }

  async one(request: DispatchRequest | BatchLine): Promise<Enqueued> {
    const { row, answer } = await this.put(request);
    return enqueued(row, answer);
  }

  /** Stores one request and returns its row. */
  async put(request: DispatchRequest | BatchLine): Promise<Put> {
    const row = this.#rowOf(request);
    await this.#refuseNew([row], null);
    const answer = await this.#storeTogether(row);
    if (answer === "conflict") throw duplicateIdError(row.id);
    return { row, answer };
  }

  async many(requests: readonly (DispatchRequest | BatchLine)[]): Promise<EnqueuedMany> {
    const rows = this.#check(requests, (request) => this.#rowOf(request));
    await this.#refuseNew(rows, 0);
    const answers: EnqueueResult[] = [];
    for (const some of chunks(rows)) {
      const stored = this.#commit(some).catch((error: unknown) => {
        throw some.length === rows.length ? error : partlyStored(error, answers.length, rows.length);
      });
      answers.push(...(await stored));
    }
    const rest = (stored: number): string =>
      `The other ${stored} of ${rows.length} requests ${stored === 1 ? "is" : "are"} stored.`;
    return enqueuedMany(rows, answers, rest);
  }

  /** Checks a request and gives its row; throws what `enqueue` would reject with. */
  rowOf(request: DispatchRequest | BatchLine, defaults?: RequestDefaults): NewRequest {
    return this.#intake.rowOf(request, defaults);
  }

  /** The same for the new body of a request, which keeps its payers. */
  correctedRowOf(request: DispatchRequest, payers: readonly string[]): NewRequest {
    const row = this.#intake.rowOf(request);
    return payers.length === 0 ? row : this.#intake.paid(row, payers, JSON.parse(row.body) as JsonObject);
  }

  /**
   * Like `rowOf`, for a request that may be stored already: if it is not, `store` rejects with the
   * error that `rowOf` would throw.
   */
  jobRowOf(request: DispatchRequest, defaults: RequestDefaults): NewRequest {
    return this.#rowOf(request, defaults);
  }

  /**
   * Stores rows in one transaction and notifies the sealer. `first`: the first row's index in its
   * job.
   */
  async store(rows: NewRequest[], first: number): Promise<EnqueueResult[]> {
    await this.#refuseNew(rows, first);
    return this.#commit(rows);
  }

  #rowOf(request: DispatchRequest | BatchLine, defaults?: RequestDefaults): NewRequest {
    return this.#intake.rowOf(request, defaults, (row, error) => this.#refused.set(row, error));
  }

  /**
   * Throws for refused bodies that the store does not have. Stored bodies are not checked again:
   * other rules applied when they were stored.
   */
  async #refuseNew(rows: readonly NewRequest[], first: number | null): Promise<void> {
    const refused = rows.filter((row) => this.#refused.has(row));
    if (refused.length === 0) return;
    const stored = await this.#runtime.store.requests({ ids: refused.map(({ id }) => id), tombstones: true });
    const known = new Set(stored.map(({ id }) => id));
    const row = refused.find(({ id }) => !known.has(id));
    if (row === undefined) return;
    const error = this.#refused.get(row) as DispatchError;
    if (first === null) throw error;
    throw new DispatchError("INVALID_REQUEST", `requests[${first + rows.indexOf(row)}]: ${error.message}`, error);
  }

  #check(
    requests: readonly (DispatchRequest | BatchLine)[],
    rowOf = (request: DispatchRequest | BatchLine): NewRequest => this.rowOf(request),
  ): NewRequest[] {
    if (!Array.isArray(requests)) {
      const ways = "one request goes to `enqueue`, an iterable to `runBatch`";
      throw new DispatchError("INVALID_REQUEST", `Expected an array of requests, got ${describe(requests)}: ${ways}.`);
    }
    return placed(requests, rowOf);
  }

  async #commit(given: NewRequest[]): Promise<EnqueueResult[]> {
    const { store, clock, limits } = this.#runtime;
    await limits.keep();
    await this.#readMarks(given);
    const rows = this.#place(given);
    const stored = store.enqueue(rows, clock.now()).catch((error: unknown) => {
      this.#placing?.settle(given, []);
      throw error;
    });
    const answers = await compareBodies(store, rows, await stored);
    this.#placing?.settle(given, answers);
    this.#sealer.onEnqueued(rows, answers);
    this.#tell(answers);
    return [...answers];
  }

  /** The loops read them in each turn; here they may not run. */
  async #readMarks(rows: readonly NewRequest[]): Promise<void> {
    const now = this.#runtime.clock.now();
    if (this.#placing === null || Math.abs(now - this.#marksReadAt) < MARKS_LAST_MS) return;
    if (rows.every((row) => this.#intake.prefixOf(row) === undefined)) return;
    this.#marksReadAt = now;
    await this.#runtime.readPauses();
  }

  /** Requests that share a cached prefix get lanes of their own. */
  #place(rows: NewRequest[]): NewRequest[] {
    if (this.#placing === null) return rows;
    if (!this.#isShortTold) this.#tellOfShortCache(rows);
    return this.#placing.place(rows);
  }

  #tellOfShortCache(rows: readonly NewRequest[]): void {
    const short = rows.find((row) => (this.#intake.prefixOf(row)?.lastsMs ?? CACHED_MS) < CACHED_MS);
    if (short === undefined) return;
    this.#isShortTold = true;
    const what = `The request "${short.id}" has \`cache_control\` for five minutes, and a batch takes longer`;
    const way = 'Write `ttl: "1h"` where others are to read it';
    const told = `${what}: no other request will read that cache, and none waits for it. ${way}. Reported once.`;
    this.#runtime.report(new DispatchError("CACHE_TOO_SHORT", told), { operation: "work" });
  }

  #tell(answers: readonly EnqueueResult[]): void {
    this.#runtime.events.emit("enqueue", () => {
      const count = (result: EnqueueResult): number => answers.filter((answer) => answer === result).length;
      return { stored: count("stored"), existing: count("same"), conflicts: count("conflict") };
    });
  }
}

/** Maps the items. An error names the index of the item that caused it. */
function placed<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Result[] {
  const results: Result[] = [];
  try {
    for (const item of items) results.push(work(item));
    return results;
  } catch (error) {
    if (!(error instanceof DispatchError)) throw error;
    throw reworded(error, `requests[${results.length}]: ${error.message}`);
  }
}
