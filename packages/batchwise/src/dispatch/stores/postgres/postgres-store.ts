// The store in a Postgres database: for dispatchers on many machines. Guarantees the whole store contract, durable at
// every commit (`synchronous_commit` on, whatever the role's default), for any number of processes. Single enqueues
// that arrive together share one commit. Does not own the pool: connections, their number and their end are the user's.

import type { PruneInput, PruneStep } from "../../contract/pruning.ts";
import type { BatchRow, DeliveryRow, NewRequest, Probe } from "../../contract/rows.ts";
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
} from "../../contract/store.ts";
import { amend } from "../sql/amend.ts";
import { withOutcomes } from "../sql/outcomes.ts";
import { type EnqueueCall, SqlStore } from "../sql/sql-store.ts";
import type { Steps } from "../sql/steps.ts";
import { seal, wake } from "./claim.ts";
import { type Connection, type PostgresPool, read, write } from "./database.ts";
import { bookAndTake } from "./deliveries.ts";
import { postgres } from "./dialect.ts";
import { end } from "./endings.ts";
import { enqueueAll, refuseNul } from "./intake.ts";
import { leaseBatches } from "./lease.ts";
import { type PostgresStoreOptions, resolvePostgresStoreOptions } from "./options.ts";
import { readProbe } from "./probe.ts";
import { prune } from "./prune.ts";
import { migrate } from "./schema.ts";
import { settle } from "./settle.ts";

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

class PostgresStore extends SqlStore implements Store {
  readonly #pool: PostgresPool;
  #prepared: Promise<void> | null = null;

  constructor(pool: PostgresPool) {
    super(postgres);
    this.#pool = pool;
  }

  override async enqueue(requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]> {
    refuseNul(requests);
    return super.enqueue(requests, now);
  }

  async amend(change: Amendment, sinks: readonly string[], now: number): Promise<readonly Amended[]> {
    return this.#tracked(write, async (db) => {
      const { answers, endings } = await db.follow(amend(postgres, change, now));
      await end(db, endings, null, sinks, now);
      return answers;
    });
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

  async settle(input: SettleInput): Promise<SettleResult> {
    return this.#tracked(write, (db) => settle(db, input));
  }

  async deliveries(input: DeliveriesInput): Promise<readonly DeliveryRow[]> {
    return this.#tracked(write, async (db) => db.follow(withOutcomes(postgres, await bookAndTake(db, input))));
  }

  async prune(input: PruneInput): Promise<PruneStep> {
    return this.#tracked(write, (db) => prune(db, input));
  }

  protected read<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#tracked(read, (db) => db.follow(steps));
  }

  protected write<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#tracked(write, (db) => db.follow(steps));
  }

  protected enqueueTogether(calls: readonly EnqueueCall[]): Promise<EnqueueResult[][]> {
    return this.#run(write, (db) => enqueueAll(db, calls));
  }

  /** The pool is the user's. */
  protected release(): void {}

  #tracked<Result>(how: typeof write, work: (db: Connection) => Promise<Result>): Promise<Result> {
    return this.tracked(() => this.#run(how, work));
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
