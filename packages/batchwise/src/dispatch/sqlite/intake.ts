// Requests on their way in: all calls of one group commit, in one transaction. Guarantees one request an id and the
// ranks of the claim order; runs inside a transaction that its caller opens.

import type { NewRequest } from "../rows.ts";
import type { Connection } from "./database.ts";
import { laneId } from "./lanes.ts";

export type Answer = "stored" | "same" | "conflict";

export interface EnqueueCall {
  readonly requests: readonly NewRequest[];
  readonly now: number;
}

/** A tenant's place in a lane: F and V of the claim order. */
interface Share {
  readonly lane: number;
  readonly priority: number;
  readonly tenant: string;
  readonly claimed: number;
  finished: number;
}

export function enqueueAll(db: Connection, calls: readonly EnqueueCall[]): Answer[][] {
  const intake = new Intake(db);
  const answers = calls.map(({ requests, now }) => requests.map((request) => intake.add(request, now)));
  intake.finish();
  return answers;
}

class Intake {
  readonly #db: Connection;
  /** By lane, priority and tenant: what the present transaction has read or changed. */
  readonly #shares = new Map<string, Share>();
  readonly #first: number;
  #next: number;

  constructor(db: Connection) {
    this.#db = db;
    const last = db.get<{ seq: number | null }>("SELECT max(seq) AS seq FROM batchwise_request")?.seq ?? 0;
    this.#first = last + 1;
    this.#next = this.#first;
  }

  add(request: NewRequest, now: number): Answer {
    const { id, priority, tenant, deadlineAt, bytes, tokens } = request;
    const share = this.#share(request);
    const rank = Math.max(share.claimed, share.finished);
    const added = this.#db.run(
      `INSERT INTO batchwise_request
         (seq, id, lane, priority, rank, tenant, created_at, deadline_at, bytes, tokens)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
      ...[this.#next, id, share.lane, priority, rank, tenant, now, deadlineAt, bytes, tokens],
    );
    if (added === 0) return this.#compare(request);
    const texts = [request.digest, request.metadata, request.body];
    this.#db.run("INSERT INTO batchwise_body VALUES (?, ?, ?, ?)", this.#next, ...texts);
    share.finished = rank + Math.max(1, tokens);
    this.#next += 1;
    return "stored";
  }

  /** Puts what was stored into its lanes, and the tenants' shares back. */
  finish(): void {
    if (this.#next === this.#first) return;
    this.#db.run(
      `INSERT INTO batchwise_ready
       SELECT lane, priority, rank, seq, bytes, tokens, not_before, deadline_at, created_at
       FROM batchwise_request WHERE seq >= ?`,
      this.#first,
    );
    for (const { lane, priority, tenant, finished } of this.#shares.values()) {
      const share = [lane, priority, tenant, finished];
      this.#db.run("INSERT OR REPLACE INTO batchwise_share VALUES (?, ?, ?, ?)", ...share);
    }
  }

  #compare({ id, digest }: NewRequest): Answer {
    const known = this.#db.get<{ digest: string }>(
      "SELECT b.digest FROM batchwise_request r JOIN batchwise_body b ON b.seq = r.seq WHERE r.id = ?",
      id,
    );
    return known?.digest === digest ? "same" : "conflict";
  }

  #share({ lane, priority, tenant }: NewRequest): Share {
    const key = `${priority} ${lane.length} ${lane}${tenant}`;
    const known = this.#shares.get(key);
    if (known !== undefined) return known;
    const share = this.#readShare(lane, priority, tenant);
    this.#shares.set(key, share);
    return share;
  }

  #readShare(name: string, priority: number, tenant: string): Share {
    const lane = laneId(this.#db, name);
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
