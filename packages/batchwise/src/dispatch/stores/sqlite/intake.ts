// Enqueues requests: all calls of one group commit in one transaction. Guarantees one request per
// id and the ranks of the claim order. Runs inside the caller's transaction.

import type { EnqueueResult } from "../../contract/store/calls.ts";
import { hasDigest } from "../../contract/store/digests.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import { laneIds } from "../sql/lanes.ts";
import type { EnqueueCall } from "../sql/sql-store.ts";
import { runAll } from "../sql/steps.ts";
import { UsageAdditions } from "../sql/usage.ts";
import type { Connection, SqliteValue } from "./database.ts";
import { sqlite } from "./dialect.ts";

/** A tenant's share of a lane: F and V of the claim order. */
interface Share {
  readonly lane: number;
  readonly priority: number;
  readonly tenant: string;
  readonly claimed: number;
  finished: number;
}

/**
 * Rows per statement: this many cost half as much per row. The remaining ones are inserted singly.
 */
const ROWS_A_STATEMENT = 10;

/**
 * OR FAIL: a failed statement does not roll itself back, so SQLite copies no pages for that. The
 * transaction is rolled back instead.
 */
const REQUESTS = `INSERT OR FAIL INTO batchwise_request
  (seq, id, lane, priority, rank, tenant, job, created_at, deadline_at, bytes, tokens, price) VALUES `;
const REQUEST = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const UNLESS_KNOWN = " ON CONFLICT (id) DO NOTHING";
const BODIES = "INSERT OR FAIL INTO batchwise_body (seq, digest, metadata, body) VALUES ";
const BODY = "(?, ?, ?, ?)";
const SHARE = "INSERT OR REPLACE INTO batchwise_share (lane, priority, tenant, finished) VALUES (?, ?, ?, ?)";
const ONE = { requests: `${REQUESTS}${REQUEST}${UNLESS_KNOWN}`, bodies: `${BODIES}${BODY}` };
const MANY = {
  requests: `${REQUESTS}${repeated(REQUEST)}${UNLESS_KNOWN}`,
  bodies: `${BODIES}${repeated(BODY)}`,
};

function repeated(row: string): string {
  return Array.from({ length: ROWS_A_STATEMENT }, () => row).join(", ");
}

export function enqueueAll(db: Connection, calls: readonly EnqueueCall[]): EnqueueResult[][] {
  const intake = new Intake(db);
  const answers = intake.addAll(
    calls.flatMap(({ requests }) => requests),
    calls.flatMap(({ requests, now }) => requests.map(() => now)),
  );
  intake.finish();
  let from = 0;
  return calls.map(({ requests }) => {
    from += requests.length;
    return answers.slice(from - requests.length, from);
  });
}

class Intake {
  readonly #db: Connection;
  /** By lane, priority and tenant: shares that this transaction has read or changed. */
  readonly #shares = new Map<string, Share>();
  /** The last share. Consecutive requests mostly use it. */
  #last: { readonly of: NewRequest; readonly share: Share } | null = null;
  readonly #usage: UsageAdditions = new UsageAdditions();
  readonly #first: number;
  #next: number;

  constructor(db: Connection) {
    this.#db = db;
    const last = db.get<{ seq: number | null }>("SELECT max(seq) AS seq FROM batchwise_request")?.seq ?? 0;
    this.#first = last + 1;
    this.#next = this.#first;
  }

  /** In order. `times`: the time of each request's call. */
  addAll(requests: readonly NewRequest[], times: readonly number[]): EnqueueResult[] {
    const answers: EnqueueResult[] = [];
    for (let from = 0; from < requests.length; from += ROWS_A_STATEMENT) {
      const some = requests.slice(from, from + ROWS_A_STATEMENT);
      const now = times.slice(from, from + ROWS_A_STATEMENT);
      if (this.#addTogether(some, now)) for (const _ of some) answers.push("stored");
      else for (const [n, one] of some.entries()) answers.push(this.#addAlone(one, now[n] as number));
    }
    return answers;
  }

  /**
   * Returns whether all rows of a full statement were new. If not, nothing has changed: ranks
   * depend on which rows are stored.
   */
  #addTogether(requests: readonly NewRequest[], times: readonly number[]): boolean {
    return requests.length === ROWS_A_STATEMENT && this.#add(requests, times);
  }

  #addAlone(request: NewRequest, now: number): EnqueueResult {
    return this.#add([request], [now]) ? "stored" : this.#compare(request);
  }

  /** Stores all of them or, if an id exists, none. */
  #add(requests: readonly NewRequest[], times: readonly number[]): boolean {
    const sql = requests.length === 1 ? ONE : MANY;
    const finished = new Map<Share, number>();
    const rows: SqliteValue[] = [];
    const bodies: SqliteValue[] = [];
    let seq = this.#next;
    for (const [n, request] of requests.entries()) {
      const { id, digest, priority, tenant, job, deadlineAt, bytes, tokens, metadata, body, price = 0 } = request;
      const share = this.#share(request);
      const rank = Math.max(share.claimed, finished.get(share) ?? share.finished);
      finished.set(share, rank + Math.max(1, tokens));
      rows.push(seq, id, share.lane, priority, rank, tenant, job, times[n] as number, deadlineAt, bytes, tokens, price);
      bodies.push(seq, digest, metadata, body);
      seq += 1;
    }
    const added = this.#db.run(sql.requests, ...rows);
    if (added < requests.length) {
      if (added > 0) this.#db.run("DELETE FROM batchwise_request WHERE seq >= ?", this.#next);
      return false;
    }
    this.#db.run(sql.bodies, ...bodies);
    for (const [share, rank] of finished) share.finished = rank;
    this.#next = seq;
    for (const request of requests) this.#usage.requested(request);
    return true;
  }

  /** Puts stored requests into their lanes and writes the tenants' shares. */
  finish(): void {
    if (this.#next === this.#first) return;
    this.#db.run(
      `INSERT OR FAIL INTO batchwise_ready (
         lane, later, priority, rank, seq, bytes, tokens, not_before, deadline_at, created_at
       ) SELECT lane, 0, priority, rank, seq, bytes, tokens, not_before, deadline_at, created_at
       FROM batchwise_request WHERE seq >= ?`,
      this.#first,
    );
    for (const { lane, priority, tenant, finished } of this.#shares.values()) {
      const share = [lane, priority, tenant, finished];
      this.#db.run(SHARE, ...share);
    }
    this.#db.follow(runAll(this.#usage.statements()));
  }

  #compare({ id, digest }: NewRequest): EnqueueResult {
    const known = this.#db.get<{ digest: string }>(
      `SELECT coalesce(r.pruned, b.digest) AS digest FROM batchwise_request r
       LEFT JOIN batchwise_body b ON b.seq = r.seq WHERE r.id = ?`,
      id,
    );
    return known !== undefined && hasDigest(known.digest, digest) ? "same" : "conflict";
  }

  #share(request: NewRequest): Share {
    const { lane, priority, tenant } = request;
    const last = this.#last;
    if (last?.of.lane === lane && last.of.priority === priority && last.of.tenant === tenant) return last.share;
    const key = `${priority} ${lane.length} ${lane}${tenant}`;
    const share = this.#shares.get(key) ?? this.#readShare(lane, priority, tenant);
    this.#shares.set(key, share);
    this.#last = { of: request, share };
    return share;
  }

  #readShare(name: string, priority: number, tenant: string): Share {
    const lane = this.#db.follow(laneIds(sqlite, [name], "lane")).get(name) ?? 0;
    const share = this.#db.get<{ finished: number }>(
      "SELECT finished FROM batchwise_share WHERE lane = ? AND priority = ? AND tenant = ?",
      ...[lane, priority, tenant],
    );
    const level = this.#db.get<{ claimed: number }>(
      "SELECT claimed FROM batchwise_level WHERE lane = ? AND priority = ?",
      ...[lane, priority],
    );
    return { lane, priority, tenant, finished: share?.finished ?? 0, claimed: level?.claimed ?? 0 };
  }
}
