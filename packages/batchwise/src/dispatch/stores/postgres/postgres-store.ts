// The store in a Postgres database: for dispatchers on many machines. Guarantees the whole store contract, durable at
// every commit (`synchronous_commit` on, whatever the role's default), for any number of processes. Single enqueues
// that arrive together share one commit. Does not own the pool: connections, their number and their end are the user's.

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
import { changeMarks, markRows, readMarks } from "../sql/marks.ts";
import { type RawUsage, readUsage, usageRow } from "../sql/usage.ts";
import { amend } from "./amend.ts";
import { findBatches, leaseBatches, transition } from "./batch-rows.ts";
import { seal } from "./claim.ts";
import { allOf, type Connection, type PostgresPool, read, runAll, write } from "./database.ts";
import { bookAndTake } from "./deliveries.ts";
import { type EnqueueCall, enqueueAll, refuseNul } from "./intake.ts";
import { wake } from "./lanes.ts";
import { type PostgresStoreOptions, resolvePostgresStoreOptions } from "./options.ts";
import { readProbe } from "./probe.ts";
import { prune, tombstones } from "./prune.ts";
import { findRequests, outcomesAt, readOutcomes, readRequests } from "./reading.ts";
import { migrate } from "./schema.ts";
import { settle } from "./settle.ts";

/** Most calls, and most requests, that share one commit. */
const GROUP_CALLS = 1_000;
const GROUP_REQUESTS = 2_000;
/** A request of more bytes counts as several: a full group stays at some 32 MB. */
const GROUP_REQUEST_BYTES = 16_000;

/**
 * Makes a {@link Store} in the database that the pool connects to. Its tables, named `batchwise_...`, are made by the
 * first call, in the first schema of the connection's search path.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for an option that is unknown or not a pool.
 *
 * @example
 * ```ts
 * import { type PostgresPool, postgresStore } from "batchwise/dispatch/postgres";
 * function storeOf(pool: PostgresPool) { // new pg.Pool({ ... }) of node-postgres
 *   return postgresStore({ pool });
 * }
 * ```
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  return new PostgresStore(resolvePostgresStoreOptions(options).pool);
}

class PostgresStore implements Store {
  readonly #pool: PostgresPool;
  readonly #intake: Batcher<EnqueueCall, readonly EnqueueResult[]>;
  readonly #running = new Set<Promise<unknown>>();
  #prepared: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
    this.#intake = createBatcher((calls: EnqueueCall[]) => this.#run(write, (db) => enqueueAll(db, calls)), {
      maxBatchSize: GROUP_CALLS,
      maxBatchCost: GROUP_REQUESTS,
      cost: ({ requests }) => requests.reduce((sum, { bytes }) => sum + 1 + Math.floor(bytes / GROUP_REQUEST_BYTES), 0),
      oversize: "alone",
    });
  }

  async enqueue(requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]> {
    this.#assertOpen();
    refuseNul(requests);
    return this.#intake.submit({ requests, now });
  }

  async amend(change: Amendment, sinks: readonly string[], now: number): Promise<readonly Amended[]> {
    return this.#tracked(write, (db) => amend(db, change, sinks, now));
  }

  async probe(limit: number, now: number): Promise<Probe> {
    return this.#tracked(read, (db) => readProbe(db, limit, now));
  }

  async seal(input: SealInput): Promise<SealResult> {
    await this.#tracked(write, (db) => wake(db, input.lane, input.now));
    return this.#tracked(write, (db) => seal(db, input));
  }

  async lease(input: LeaseInput): Promise<readonly BatchRow[]> {
    return this.#tracked(write, (db) => leaseBatches(db, input));
  }

  async transition(key: string, fence: number, changes: BatchChanges, now: number): Promise<TransitionResult> {
    return this.#tracked(write, (db) => transition(db, key, fence, changes, now));
  }

  async requests(query: RequestQuery): Promise<readonly RequestRow[]> {
    return this.#tracked(read, async (db) => {
      const rows = await readRequests(db, query);
      return "ids" in query && query.tombstones ? tombstones(db, query.ids, rows) : rows;
    });
  }

  async settle(input: SettleInput): Promise<SettleResult> {
    return this.#tracked(write, (db) => settle(db, input));
  }

  async outcomes(query: OutcomeQuery): Promise<readonly OutcomeRow[]> {
    return this.#tracked(read, (db) => readOutcomes(db, query));
  }

  async deliveries(input: DeliveriesInput): Promise<readonly DeliveryRow[]> {
    return this.#tracked(write, async (db) => {
      const taken = await bookAndTake(db, input);
      const outcomes = await outcomesAt(
        db,
        taken.map(({ cursor }) => cursor),
      );
      return taken.flatMap(({ cursor, sink, attempt }) => {
        const outcome = outcomes.get(cursor);
        return outcome === undefined ? [] : { sink, attempt, outcome };
      });
    });
  }

  async batches(query: BatchQuery): Promise<readonly BatchRow[]> {
    return this.#tracked(read, (db) => findBatches(db, query));
  }

  async find(query: FindQuery): Promise<FindResult> {
    return this.#tracked(read, (db) => findRequests(db, query));
  }

  async usage(query: UsageQuery): Promise<readonly UsageRow[]> {
    return this.#tracked(read, async (db) => (await allOf<RawUsage>(db, readUsage(query))).map(usageRow));
  }

  async marks(changes: readonly MarkChange[]): Promise<readonly MarkRow[]> {
    return this.#tracked(changes.length === 0 ? read : write, async (db) => {
      await runAll(db, changeMarks(changes));
      return markRows(await allOf<MarkRow>(db, readMarks()));
    });
  }

  async prune(input: PruneInput): Promise<PruneStep> {
    return this.#tracked(write, (db) => prune(db, input));
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
  }

  async #tracked<Result>(how: typeof write, work: (db: Connection) => Promise<Result>): Promise<Result> {
    this.#assertOpen();
    const call = this.#run(how, work);
    this.#running.add(call);
    return call.finally(() => this.#running.delete(call));
  }

  async #run<Result>(how: typeof write, work: (db: Connection) => Promise<Result>): Promise<Result> {
    this.#prepared ??= migrate(this.#pool);
    try {
      await this.#prepared;
    } catch (error) {
      // The next call tries once more: the server may be there by then.
      this.#prepared = null;
      throw error;
    }
    return how(this.#pool, work);
  }
}
