// The store in a Postgres database: for dispatchers on many machines. Guarantees the whole store
// contract for any number of processes, durable at every commit (`synchronous_commit` is on, even
// if the role has another default). Concurrent single enqueues share one commit. The pool belongs
// to the user, who controls its connections.

import { check, objectWith } from "../../../core/contract/validate.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import type { Store } from "../../contract/store/store.ts";
import type { TransactionalStore, TransactionIntake } from "../../contract/store/transactions.ts";
import type { BatchLine, DispatchRequest, EnqueuedMany } from "../../contract/types.ts";
import { GroupWalk } from "../sql/remains.ts";
import { readRequests } from "../sql/requests.ts";
import { type EnqueueCall, SqlStore } from "../sql/sql-store.ts";
import type { Steps } from "../sql/steps.ts";
import { seal, sumWaiting, wake } from "./claim.ts";
import { type Connection, type Place, type PostgresTransaction, read, write } from "./database.ts";
import { postgres } from "./dialect.ts";
import { addShares, enqueueAll, refuseNul } from "./intake.ts";
import { isMigrated, migrate } from "./migrate.ts";
import { type PostgresStoreOptions, resolvePostgresStoreOptions } from "./options.ts";
import { readProbe } from "./probe.ts";
import { prune } from "./prune.ts";
import { within } from "./transaction.ts";

/** The store in Postgres, with its additional method. */
export interface PostgresStore extends TransactionalStore {
  /**
   * Enqueues requests in your own transaction: they exist if and only if you commit. `client` is a
   * node-postgres client on which you have run BEGIN, in the database of the store's pool. The
   * dispatcher that was made last on this store object, started or not, checks them like those of
   * `enqueueMany`. A call that rejects has stored nothing, and your transaction can continue.
   *
   * Commit soon: until then, other enqueues wait if they have the same id, a model that is new to
   * the store, or the same `job`; if you wait for one of them before COMMIT, neither ends.
   * Dispatchers find the requests within 30 s of the commit.
   *
   * @throws DispatchError with the codes of `enqueueMany` (with DUPLICATE_ID nothing is stored);
   * `NO_DISPATCHER` if none was made on this store object, or all were stopped;
   * `TRANSACTION_UNUSABLE` for a client without one; `STORE_UNAVAILABLE` after a conflict with
   * another transaction: roll back, and run yours again. TypeError with `code: "INVALID_OPTION"` if
   * `client` is not a client.
   */
  enqueueIn(client: PostgresTransaction, requests: readonly (DispatchRequest | BatchLine)[]): Promise<EnqueuedMany>;
}

/**
 * An enqueue of this many requests merges added counts, because no seal does in a lane without
 * seals.
 */
const SUMMED_EACH = 500;

/**
 * Makes a `Store` in the database of the pool. The first call creates its tables, named
 * `batchwise_...`, in `schema` or in the first schema of the connection's search path.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for an unknown option or a value that is no pool.
 *
 * @example
 * ```ts
 * import { type PostgresPool, postgresStore } from "batchwise/dispatch/postgres";
 * function storeOf(pool: PostgresPool) { // new pg.Pool({ ... }) of node-postgres
 *   return postgresStore({ pool });
 * }
 * ```
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  return new PooledStore(resolvePostgresStoreOptions(options));
}

class PooledStore extends SqlStore implements PostgresStore {
  readonly #place: Place;
  readonly #dispatchers = new Set<TransactionIntake>();
  readonly #groups = new GroupWalk(postgres);
  #prepared: Promise<void> | null = null;
  #commits = 0;

  constructor(place: Place) {
    super(postgres);
    this.#place = place;
  }

  override async enqueue(requests: readonly NewRequest[], now: number): Promise<readonly EnqueueResult[]> {
    refuseNul(requests);
    return super.enqueue(requests, now);
  }

  useIntake(intake: TransactionIntake): () => void {
    this.#dispatchers.add(intake);
    return () => this.#dispatchers.delete(intake);
  }

  enqueueIn(client: PostgresTransaction, requests: readonly (DispatchRequest | BatchLine)[]): Promise<EnqueuedMany> {
    return this.tracked(async () => {
      check("client", objectWith("query"), client);
      const intake = [...this.#dispatchers].at(-1);
      if (intake === undefined) throw noDispatcherError();
      const rows = intake.check(requests);
      refuseNul(rows);
      return within(client, this.#place.schema, async (db) => {
        // Uses the pool only if necessary: the caller may hold its last connection.
        if (!(await isMigrated(db))) await this.#prepare();
        return intake.enqueue(rows, {
          enqueue: async (some, now) => (await enqueueAll(db, [{ requests: some, now }], addShares)).flat(),
          requests: (query) => db.follow(readRequests(postgres, query)),
        });
      });
    });
  }

  async now(): Promise<number> {
    const rows = await this.#tracked(read, (db) =>
      db.all<{ now: number }>("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now"),
    );
    return rows[0]?.now ?? Number.NaN;
  }

  readonly probe: Store["probe"] = async (limit, now) => this.#tracked(read, (db) => readProbe(db, limit, now));

  readonly seal: Store["seal"] = async (input) => {
    await this.#tracked(write, (db) => wake(db, input.lane, input.now));
    return this.#tracked(write, (db) => seal(db, input));
  };

  readonly prune: Store["prune"] = async (input) => this.#tracked(write, (db) => prune(db, input, this.#groups));

  protected read<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#tracked(read, (db) => db.follow(steps));
  }

  protected write<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#tracked(write, (db) => db.follow(steps));
  }

  protected enqueueTogether(calls: readonly EnqueueCall[]): Promise<EnqueueResult[][]> {
    this.#commits += 1;
    const sums = this.#commits % SUMMED_EACH === 0;
    return this.#run(write, async (db) => {
      if (sums) await sumWaiting(db);
      return enqueueAll(db, calls);
    });
  }

  /** The pool is the user's. */
  protected release(): void {}

  #tracked<Result>(how: typeof write, work: (db: Connection) => Promise<Result>): Promise<Result> {
    return this.tracked(() => this.#run(how, work));
  }

  async #run<Result>(how: typeof write, work: (db: Connection) => Promise<Result>): Promise<Result> {
    await this.#prepare();
    return how(this.#place, work);
  }

  async #prepare(): Promise<void> {
    this.#prepared ??= migrate(this.#place);
    try {
      await this.#prepared;
    } catch (error) {
      // The next call tries again: the server may have returned by then.
      this.#prepared = null;
      throw error;
    }
  }
}

function noDispatcherError(): DispatchError {
  const message = "No dispatcher uses this store object, so it cannot check the requests: make one in this process,";
  const how =
    "createDispatcher({ store, accounts }) with this very store. It need not be started; a stopped one is none.";
  return new DispatchError("NO_DISPATCHER", `${message} ${how}`);
}
