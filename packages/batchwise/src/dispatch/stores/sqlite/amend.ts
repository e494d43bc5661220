// Changes of requests from outside their batch: cancel, fail, expire, retry, hasten, redeliver.
// Runs inside a transaction that its caller
// opens.

import type { Amended, Amendment } from "../../contract/store.ts";
import { count } from "./counters.ts";
import { atMost, type Connection } from "./database.ts";
import { redeliver } from "./deliveries.ts";
import { Endings } from "./endings.ts";
import { hasten } from "./hasten.ts";
import { laneId, READY_LANES } from "./lanes.ts";
import { makeReady } from "./settle.ts";

interface Found {
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
  { limit, payload }: Extract<Amendment, { kind: "expire" }>,
  endings: Endings,
  now: number,
): Amended[] {
  const late = db.all<{ seq: number; id: string }>(
    `${READY_LANES} SELECT c.seq, r.id FROM lanes
     JOIN batchwise_ready c ON c.lane = lanes.id AND c.deadline_at <= ?
     JOIN batchwise_request r ON r.seq = c.seq ORDER BY c.deadline_at, c.seq LIMIT ?`,
    ...[now, atMost(limit)],
  );
  return late.map(({ seq, id }) => {
    leaveLane(db, seq);
    endings.add(seq, "expired", payload, false, null);
    return { id, result: "changed" };
  });
}

function amendAll(
  db: Connection,
  change: Exclude<Amendment, { kind: "expire" | "hasten" | "redeliver" }>,
  endings: Endings,
  now: number,
): Amended[] {
  return change.ids.map((id, index) => {
    const found = db.get<Found>(
      `SELECT r.seq, m.batch, m.ord, m.cancel_requested, o.cursor, o.status, o.batch AS ended_in FROM batchwise_request r
       LEFT JOIN batchwise_member m ON m.seq = r.seq LEFT JOIN batchwise_outcome o ON o.seq = r.seq
       WHERE r.id = ? AND r.pruned IS NULL`,
      id,
    );
    if (found === undefined) return { id, result: "not_found" };
    if (change.kind === "retry") return { id, result: retry(db, found, change.lanes[index] as string, now) };
    if (found.cursor !== null) return { id, result: "ended" };
    if (found.batch !== null) return { id, result: change.kind === "cancel" ? wish(db, found) : "waiting" };
    leaveLane(db, found.seq);
    endings.add(found.seq, change.kind === "cancel" ? "cancelled" : "failed", change.payload, false, null);
    return { id, result: "changed" };
  });
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
