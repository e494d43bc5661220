// The store in one SQLite file: the default for one machine. Guarantees the whole store contract, durable at every
// commit, for any number of processes on the file. Single enqueues that arrive together share one commit: batchwise's
// own engine gathers them. The driver is synchronous, so a call holds the event loop for as long as it runs; waiting
// for another process's lock does not.

import { createBatcher } from "../../../core/api/batch.ts";
import type { Batcher } from "../../../core/contract/types.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { PruneInput, PruneStep } from "../../contract/pruning.ts";
import type {
  BatchChanges,
  BatchQuery,
  BatchRow,
  DeliveryRow,
  FindQuery,
  FindResult,
  MarkChange,
  MarkRow,
  NewRequest,
  OutcomeQuery,
  OutcomeRow,
  Probe,
  RequestQuery,
  RequestRow,
  UsageQuery,
  UsageRow,
} from "../../contract/rows.ts";
import type {
  Amended,
  Amendment,
  DeliveriesInput,
  EnqueueResult,
  LeaseInput,
  SealInput,
  SealResult,
  SettleInput,
  SettleResult,
  Store,
  TransitionResult,
} from "../../contract/store.ts";
import { amend } from "../sql/amend.ts";
import { findBatches, transition } from "../sql/batches.ts";
import { changeMarks } from "../sql/marks.ts";
import { readOutcomes, withOutcomes } from "../sql/outcomes.ts";
import { findRequests, readRequests } from "../sql/requests.ts";
import { readUsage } from "../sql/usage.ts";
import { seal } from "./claim.ts";
import { type Connection, isBusy, type SqliteDatabase, storeError } from "./database.ts";
import { bookAndTake } from "./deliveries.ts";
import { sqlite } from "./dialect.ts";
import { endWaiting } from "./endings.ts";
import { type EnqueueCall, enqueueAll } from "./intake.ts";
import { leaseBatches } from "./lease.ts";
import { prepare, type ResolvedOptions, resolveSqliteStoreOptions, type SqliteStoreOptions } from "./open.ts";
import { readProbe } from "./probe.ts";
import { Pruning } from "./prune.ts";
import { settle } from "./settle.ts";
import { giveBack } from "./space.ts";

/** Most calls, and most requests, that share one commit. */
const GROUP_CALLS = 1_000;
const GROUP_REQUESTS = 2_000;
/** A request of more bytes counts as several: a full group stays at some 32 MB. */
const GROUP_REQUEST_BYTES = 16_000;
/** Between two tries for a lock that another connection holds. */
const LONGEST_PAUSE_MS = 50;

/**
 * Makes a {@link Store} in a SQLite database. The file is opened, and its tables made, by the first call.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or out of range.
 *
 * @example
 * ```ts
 * import { sqliteStore } from "batchwise/dispatch/sqlite";
 * const store = sqliteStore({ path: ":memory:" }); // a file name, for what is to last
 * const { cursor } = await store.probe(100, Date.now()); // 0: nothing has ended yet
 * await store.close();
 * ```
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  return new SqliteStore(resolveSqliteStoreOptions(options));
}

class SqliteStore implements Store {
  readonly #options: ResolvedOptions;
  readonly #intake: Batcher<EnqueueCall, readonly EnqueueResult[]>;
  readonly #running = new Set<Promise<unknown>>();
  readonly #pruning = new Pruning();
  #database: SqliteDatabase | null = null;
  #connection: Connection | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#intake = createBatcher((calls: EnqueueCall[]) => this.#commitTogether(calls), {
      maxBatchSize: GROUP_CALLS,
      maxBatchCost: GROUP_REQUESTS,
      cost: ({ requests }) => requests.reduce((sum, { bytes }) => sum + 1 + Math.floor(bytes / GROUP_REQUEST_BYTES), 0),
      oversize: "alone",
    });
  }

  async enqueue(requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]> {
    this.#assertOpen();
    return this.#intake.submit({ requests, now });
  }

  async amend(change: Amendment, sinks: readonly string[], now: number): Promise<readonly Amended[]> {
    return this.#write((db) => {
      const { answers, endings } = db.follow(amend(sqlite, change, now));
      endWaiting(db, endings, sinks, now);
      return answers;
    });
  }

  async probe(limit: number, now: number): Promise<Probe> {
    return this.#read((db) => readProbe(db, limit, now));
  }

  async seal(input: SealInput): Promise<SealResult> {
    return this.#write((db) => seal(db, input));
  }

  async lease(input: LeaseInput): Promise<readonly BatchRow[]> {
    return this.#write((db) => leaseBatches(db, input));
  }

  async transition(key: string, fence: number, changes: BatchChanges, now: number): Promise<TransitionResult> {
    return this.#write((db) => db.follow(transition(sqlite, key, fence, changes, now)));
  }

  async requests(query: RequestQuery): Promise<readonly RequestRow[]> {
    return this.#read((db) => db.follow(readRequests(sqlite, query)));
  }

  async settle(input: SettleInput): Promise<SettleResult> {
    return this.#write((db) => settle(db, input));
  }

  async outcomes(query: OutcomeQuery): Promise<readonly OutcomeRow[]> {
    return this.#read((db) => db.follow(readOutcomes(sqlite, query)));
  }

  async deliveries(input: DeliveriesInput): Promise<readonly DeliveryRow[]> {
    return this.#write((db) => db.follow(withOutcomes(sqlite, bookAndTake(db, input))));
  }

  async batches(query: BatchQuery): Promise<readonly BatchRow[]> {
    return this.#read((db) => db.follow(findBatches(sqlite, query)));
  }

  async prune(input: PruneInput): Promise<PruneStep> {
    const step = await this.#write((db) => this.#pruning.step(db, input));
    if (step.next !== null) return step;
    // Only at the end: before it, pages that are still to be freed would be moved.
    const hasMore = await this.#tracked(this.#patiently(giveBack));
    return hasMore ? { ...step, next: input.after } : step;
  }

  async find(query: FindQuery): Promise<FindResult> {
    return this.#read((db) => db.follow(findRequests(sqlite, query)));
  }

  async usage(query: UsageQuery): Promise<readonly UsageRow[]> {
    return this.#read((db) => db.follow(readUsage(query)));
  }

  async marks(changes: readonly MarkChange[]): Promise<readonly MarkRow[]> {
    const work = (db: Connection): MarkRow[] => db.follow(changeMarks(changes));
    return changes.length === 0 ? this.#read(work) : this.#write(work);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new DispatchError("CLOSED", "The store is closed.");
  }

  async #end(): Promise<void> {
    await this.#intake.close();
    await Promise.allSettled(this.#running);
    if (this.#database !== null) this.#options.close(this.#database);
  }

  /** Lets the rest of this round's events in first: while they arrive, their enqueues gather for the next commit. */
  async #commitTogether(calls: readonly EnqueueCall[]): Promise<EnqueueResult[][]> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    return this.#patiently((db) => db.write(() => enqueueAll(db, calls)));
  }

  async #write<Result>(work: (db: Connection) => Result): Promise<Result> {
    this.#assertOpen();
    return this.#tracked(this.#patiently((db) => db.write(() => work(db))));
  }

  async #read<Result>(work: (db: Connection) => Result): Promise<Result> {
    this.#assertOpen();
    return this.#tracked(this.#patiently((db) => db.read(() => work(db))));
  }

  async #tracked<Result>(call: Promise<Result>): Promise<Result> {
    this.#running.add(call);
    return call.finally(() => this.#running.delete(call));
  }

  /** Tries until no other connection is in the way, or patience ends. A try that was in the way has done nothing. */
  async #patiently<Result>(work: (db: Connection) => Result): Promise<Result> {
    const until = performance.now() + this.#options.busyTimeoutMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return work(this.#open());
      } catch (error) {
        if (!isBusy(error) || performance.now() >= until) throw storeError(error);
      }
      await new Promise<void>((resolve) => setTimeout(resolve, pause));
    }
  }

  #open(): Connection {
    if (this.#connection !== null) return this.#connection;
    this.#database ??= this.#options.open();
    this.#connection = prepare(this.#database, this.#options.isOwn);
    return this.#connection;
  }
}
