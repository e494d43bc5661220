// The store in one SQLite file: the default for one machine. Guarantees the whole store contract
// for any number of processes on the file, durable at every commit. Concurrent single enqueues
// share one commit, gathered by batchwise's own engine. The driver is synchronous, so a call blocks
// the event loop; waiting for another process's lock does not.

import type { DispatchError } from "../../contract/errors.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { Store } from "../../contract/store/store.ts";
import { type EnqueueCall, SqlStore } from "../sql/sql-store.ts";
import type { Steps } from "../sql/steps.ts";
import { seal } from "./claim.ts";
import { type Connection, isBusy, isUnopened, mayBeOfTables, type SqliteDatabase, storeError } from "./database.ts";
import { sqlite } from "./dialect.ts";
import { enqueueAll } from "./intake.ts";
import { changedSince } from "./migrate.ts";
import {
  prepare,
  type ResolvedOptions,
  resolveSqliteStoreOptions,
  type SqliteStoreOptions,
  whyNotOpened,
} from "./open.ts";
import { readProbe } from "./probe.ts";
import { Pruning } from "./prune.ts";
import { SameFile } from "./same-file.ts";
import { giveBack } from "./space.ts";

/** Maximum pause between two tries for a lock of another connection, in ms. */
const LONGEST_PAUSE_MS = 50;

/** After every cursor: a prune that continues here reads no outcome again. */
const LOG_END: number = Number.MAX_SAFE_INTEGER;

/**
 * Makes a `Store` in a SQLite database. The first call opens the file and creates the tables.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or
 * out of range.
 *
 * @example
 * ```ts
 * import { sqliteStore } from "batchwise/dispatch/sqlite";
 * const store = sqliteStore({ path: ":memory:" }); // a file name makes it durable
 * const { cursor } = await store.probe(100, Date.now()); // 0: nothing has ended yet
 * await store.close();
 * ```
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  return new SqliteStore(resolveSqliteStoreOptions(options));
}

class SqliteStore extends SqlStore implements Store {
  readonly #options: ResolvedOptions;
  readonly #pruning = new Pruning();
  #database: SqliteDatabase | null = null;
  #connection: Connection | null = null;
  #file: SameFile | null = null;

  constructor(options: ResolvedOptions) {
    super(sqlite);
    this.#options = options;
  }

  readonly probe: Store["probe"] = async (limit, now) => this.#read((db) => readProbe(db, limit, now));

  readonly seal: Store["seal"] = async (input) => this.#write((db) => seal(db, input));

  readonly prune: Store["prune"] = async (input) => {
    const step = await this.#write((db) => this.#pruning.step(db, input));
    if (step.next !== null) return step;
    // Only at the end: earlier, it would move pages that are still to be freed.
    const hasMore = await this.tracked(() => this.#patiently(giveBack));
    return hasMore ? { ...step, next: LOG_END } : step;
  };

  protected read<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#read((db) => db.follow(steps));
  }

  protected write<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#write((db) => db.follow(steps));
  }

  protected release(): void {
    if (this.#database !== null) this.#options.close(this.#database);
  }

  /** Waits for the other events of this round: their enqueues join the next commit. */
  protected async enqueueTogether(calls: readonly EnqueueCall[]): Promise<EnqueueResult[][]> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    return this.#patiently((db) => db.write(() => enqueueAll(db, calls)));
  }

  #write<Result>(work: (db: Connection) => Result): Promise<Result> {
    return this.tracked(() => this.#patiently((db) => db.write(() => work(db))));
  }

  #read<Result>(work: (db: Connection) => Result): Promise<Result> {
    return this.tracked(() => this.#patiently((db) => db.read(() => work(db))));
  }

  /**
   * Repeats the work until no other connection interferes or patience ends. A blocked try has done
   * nothing.
   */
  async #patiently<Result>(work: (db: Connection) => Result): Promise<Result> {
    const until = performance.now() + this.#options.busyTimeoutMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const result = work(this.#open());
        // Before anything is acknowledged.
        this.#file?.check();
        return result;
      } catch (error) {
        if (!isBusy(error) || performance.now() >= until) throw this.#toldError(error);
      }
      await new Promise<void>((resolve) => setTimeout(resolve, pause));
    }
  }

  #toldError(error: unknown): DispatchError {
    const { path } = this.#options;
    if (path !== null && isUnopened(error)) return whyNotOpened(path, error);
    const told = storeError(error);
    const db = this.#connection;
    if (told === error || db === null || !mayBeOfTables(error)) return told;
    try {
      return changedSince(db, error) ?? told;
    } catch {
      return told;
    }
  }

  #open(): Connection {
    if (this.#connection !== null) return this.#connection;
    const { isOwn } = this.#options;
    if (this.#database === null) {
      this.#database = this.#options.open();
      this.#file = isOwn ? sameFileOf(this.#database) : null;
    }
    this.#connection = prepare(this.#database, isOwn);
    return this.#connection;
  }
}

/**
 * null for a database in memory. SQLite reports the file that it has opened, for any form of
 * address.
 */
function sameFileOf(database: SqliteDatabase): SameFile | null {
  const { file } = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() as {
    readonly file: string;
  };
  return file === "" ? null : new SameFile(file);
}
