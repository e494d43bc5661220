// Changes of requests from outside their batch: cancel, fail, expire, retry, hasten, redeliver.
// Runs inside a transaction that its caller
// opens.

import type { Amended, Amendment } from "../../contract/store.ts";
import { atMost } from "../sql/statement.ts";
import { type Owner, UsageSums } from "../sql/usage.ts";
import { count } from "./counters.ts";
import { type Connection, runAll } from "./database.ts";
import { redeliver } from "./deliveries.ts";
import { Endings } from "./endings.ts";
import { hasten } from "./hasten.ts";
import { laneId, READY_LANES } from "./lanes.ts";
import { makeReady } from "./settle.ts";

/** A request that waited when it ended. */
const WAITED = { charged: false, batch: null } as const;

interface Owned extends Owner {
  readonly seq: number;
  readonly id: string;
}

interface Found extends Owner {
  readonly seq: number;
  readonly batch: number | null;
  readonly ord: number | null;
  readonly cancel_requested: number | null;
  readonly cursor: number | null;
  readonly status: string | null;
  readonly ended_in: number | null;
}

export function amend(db: Connection, change: Amendment, sinks: readonly string[], now: number): Amended[] {
  if (change.kind === "hasten") {
    hasten(db, change.after, now);
    return [];
  }
  if (change.kind === "redeliver") return redeliver(db, change, now);
  const endings = new Endings(db, sinks, now);
  const answers = change.kind === "expire" ? expire(db, change, endings, now) : amendAll(db, change, endings, now);
  endings.finish();
  return answers;
}

function expire(
  db: Connection,
  { limit, payload, code }: Extract<Amendment, { kind: "expire" }>,
  endings: Endings,
  now: number,
): Amended[] {
  const late = db.all<Owned>(
    `${READY_LANES} SELECT c.seq, r.id, r.tenant, r.job, l.name AS lane FROM lanes
     JOIN batchwise_ready c ON c.lane = lanes.id AND c.deadline_at <= ?
     JOIN batchwise_request r ON r.seq = c.seq JOIN batchwise_lane l ON l.id = r.lane ORDER BY c.deadline_at, c.seq LIMIT ?`,
    ...[now, atMost(limit)],
  );
  return late.map(({ seq, id, tenant, job, lane }) => {
    leaveLane(db, seq);
    endings.add({ seq, tenant, job, lane, ...WAITED }, "expired", { payload, code, usage: null });
    return { id, result: "changed" };
  });
}

function amendAll(
  db: Connection,
  change: Exclude<Amendment, { kind: "expire" | "hasten" | "redeliver" }>,
  endings: Endings,
  now: number,
): Amended[] {
  const usage = new UsageSums();
  const answers = change.ids.map((id, index): Amended => {
    const found = db.get<Found>(
      `SELECT r.seq, r.tenant, r.job, l.name AS lane, m.batch, m.ord, m.cancel_requested, o.cursor, o.status, o.batch AS ended_in FROM batchwise_request r
       JOIN batchwise_lane l ON l.id = r.lane LEFT JOIN batchwise_member m ON m.seq = r.seq LEFT JOIN batchwise_outcome o ON o.seq = r.seq
       WHERE r.id = ? AND r.pruned IS NULL`,
      id,
    );
    if (found === undefined) return { id, result: "not_found" };
    const { seq, tenant, job, lane } = found;
    if (change.kind === "retry") {
      const result = retry(db, found, change.lanes[index] as string, now);
      if (result === "changed") usage.requested({ tenant, job, lane: change.lanes[index] as string });
      return { id, result };
    }
    if (found.cursor !== null) return { id, result: "ended" };
    if (found.batch !== null) return { id, result: change.kind === "cancel" ? wish(db, found) : "waiting" };
    leaveLane(db, seq);
    const { payload, code } = change;
    const status = change.kind === "cancel" ? "cancelled" : "failed";
    endings.add({ seq, tenant, job, lane, ...WAITED }, status, { payload, code, usage: null });
    return { id, result: "changed" };
  });
  runAll(db, usage.statements());
  return answers;
}

/** Sets the wish of a claimed request; its batch counts it once. */
function wish(db: Connection, { batch, ord, cancel_requested }: Found): "requested" {
  if (cancel_requested === 0) {
    db.run("UPDATE batchwise_member SET cancel_requested = 1 WHERE batch = ? AND ord = ?", batch, ord);
    db.run("UPDATE batchwise_batch SET cancel_requested = cancel_requested + 1 WHERE id = ?", batch);
  }
  return "requested";
}

function retry(db: Connection, { seq, cursor, status, ended_in }: Found, lane: string, now: number): Amended["result"] {
  if (cursor === null) return "waiting";
  if (status === "succeeded") return "ended";
  db.run("DELETE FROM batchwise_outcome WHERE cursor = ?", cursor);
  if (ended_in !== null) db.run("UPDATE batchwise_batch SET gone = gone + 1 WHERE id = ?", ended_in);
  const waiting = db.run("DELETE FROM batchwise_delivery WHERE cursor = ? AND state = 'waiting'", cursor);
  count(db, "waiting", -waiting);
  db.run("DELETE FROM batchwise_delivery WHERE cursor = ?", cursor);
  db.run("DELETE FROM batchwise_delivery_log WHERE cursor = ?", cursor);
  db.run(
    `UPDATE batchwise_request SET lane = ?, attempts = 0, generation = generation + 1, not_before = ?, deadline_at = NULL
     WHERE seq = ?`,
    ...[laneId(db, lane), now, seq],
  );
  makeReady(db, seq, now);
  return "changed";
}

function leaveLane(db: Connection, seq: number): void {
  db.run(
    `DELETE FROM batchwise_ready WHERE (lane, later, priority, rank, seq) IN
       (SELECT lane, value, priority, rank, seq FROM batchwise_request, json_each('[0, 1]') WHERE seq = ?)`,
    seq,
  );
}
