// Ends requests: writes an outcome with the next cursor and a delivery for each sink. Updates
// counters and cursor once per transaction, which its caller opens.

import type { StoredEnding } from "../../contract/store/rows.ts";
import type { Owner } from "../../contract/store/usage-sums.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import type { Ending } from "../sql/amend.ts";
import { UsageAdditions } from "../sql/usage.ts";
import { count, counters } from "./counters.ts";
import { type Connection, runAll } from "./database.ts";

/** Read from an index, because the request's own row is usually no longer in memory. */
const TRIED = `(SELECT attempts FROM batchwise_request INDEXED BY batchwise_request_tried WHERE seq = ? AND attempts > 0)`;

/** Owners of the usage of a settle's requests. Most have neither tenant nor job. */
const OWNER = `SELECT tenant, job FROM batchwise_request INDEXED BY batchwise_request_owner
  WHERE seq = ? AND (tenant <> '' OR job <> '')`;

export function ownerOf(db: Connection, seq: number): Pick<Owner, "tenant" | "job"> {
  const found = db.get<Pick<Owner, "tenant" | "job">>(OWNER, seq);
  return found === undefined ? { tenant: "", job: "" } : { tenant: found.tenant, job: found.job };
}

/** An ended request with the owner of its usage. */
export interface Ended extends Owner {
  readonly seq: number;
  readonly charged: boolean;
  /** The batch in which it ends; null if it waited. */
  readonly batch: number | null;
}

export class Endings {
  readonly #db: Connection;
  readonly #sinks: readonly string[];
  readonly #now: number;
  readonly #first: number;
  readonly #usage: UsageAdditions = new UsageAdditions();
  readonly #ended: Record<OutcomeStatus, number> = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
  #cursor: number;

  constructor(db: Connection, sinks: readonly string[], now: number) {
    this.#db = db;
    this.#sinks = sinks;
    this.#now = now;
    this.#first = counters(db).cursor;
    this.#cursor = this.#first;
  }

  /** Ends a request that has been removed from its lane or its batch. */
  add({ seq, charged, batch, ...owner }: Ended, status: OutcomeStatus, { payload, code, usage }: StoredEnding): void {
    this.#cursor += 1;
    this.#ended[status] += 1;
    const job = owner.job === "" ? null : owner.job;
    this.#db.run(
      `INSERT INTO batchwise_outcome (cursor, seq, status, attempts, recorded_at, payload, batch, job, code)
       VALUES (?, ?, ?, ? + coalesce(${TRIED}, 0), ?, ?, ?, ?, ?)`,
      ...[this.#cursor, seq, status, charged ? 1 : 0, seq, this.#now, payload, batch, job, code],
    );
    this.#usage.ended(owner, status, usage);
    for (const sink of this.#sinks) {
      const delivery = [this.#cursor, sink, this.#now];
      this.#db.run("INSERT INTO batchwise_delivery (cursor, sink, next_at, is_due) VALUES (?, ?, ?, 1)", ...delivery);
    }
  }

  /** Writes the counters of the added endings. */
  finish(): void {
    const added = this.#cursor - this.#first;
    count(this.#db, "cursor", added);
    count(this.#db, "waiting", added * this.#sinks.length);
    for (const [status, ended] of Object.entries(this.#ended) as [OutcomeStatus, number][]) {
      count(this.#db, status, ended);
    }
    runAll(this.#db, this.#usage.statements());
  }
}

/** Ends waiting requests. */
export function endWaiting(
  db: Connection,
  ended: readonly (Ending & Owner)[],
  sinks: readonly string[],
  now: number,
): void {
  if (ended.length === 0) return;
  const endings = new Endings(db, sinks, now);
  for (const one of ended) endings.add({ ...one, batch: null }, one.status, one);
  endings.finish();
}
