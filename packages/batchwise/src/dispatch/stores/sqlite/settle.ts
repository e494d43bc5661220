// Settles open members: they end, or return to a lane. The statement that finds a member's row
// deletes it, so that a decision counts once. Runs inside the caller's transaction.

import type { SettleInput, SettleResult } from "../../contract/store/calls.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { Appended } from "../../contract/store/rows.ts";
import { heldBatch } from "../sql/batches.ts";
import { laneIds, makeReady } from "../sql/lanes.ts";
import { charge } from "../sql/payers.ts";
import type { Connection } from "./database.ts";
import { sqlite } from "./dialect.ts";
import { Endings, ownerOf } from "./endings.ts";

interface Member {
  readonly seq: number;
  readonly cancel_requested: number;
}

type Requeue = Extract<Settlement, { kind: "requeue" }> & { readonly seq: number };

export function settle(db: Connection, input: SettleInput): SettleResult {
  const held = db.follow(heldBatch(sqlite, input.key, input.fence));
  if (held === undefined) return { ok: false, reason: "fence" };
  const { id: batch, lane } = held;
  const endings = new Endings(db, input.sinks, input.now);
  const requeues: Requeue[] = [];
  const settled: Settlement[] = [];
  let wishes = 0;
  for (const item of input.items) {
    const member = db.get<Member>(
      "DELETE FROM batchwise_member WHERE batch = ? AND ord = ? RETURNING seq, cancel_requested",
      ...[batch, item.ord],
    );
    if (member === undefined) continue;
    settled.push(item);
    wishes += member.cancel_requested;
    if (item.kind === "requeue" && member.cancel_requested === 0) {
      requeues.push({ ...item, seq: member.seq });
      continue;
    }
    const ended = { seq: member.seq, charged: item.charged, batch, lane, ...ownerOf(db, member.seq) };
    if (item.kind === "final") endings.add(ended, item.status, item);
    else endings.add(ended, "cancelled", { payload: input.cancelledPayload, code: input.cancelledCode, usage: null });
  }
  endings.finish();
  const applied = settled.length;
  requeue(db, batch, requeues, input.now);
  db.run(
    "UPDATE batchwise_batch SET remaining = remaining - ?, cancel_requested = cancel_requested - ? WHERE id = ?",
    ...[applied, wishes, batch],
  );
  const left = db.get<{ remaining: number }>("SELECT remaining FROM batchwise_batch WHERE id = ?", batch);
  const remaining = left?.remaining ?? 0;
  db.follow(charge(sqlite, held, settled, remaining));
  return { ok: true, applied, ignored: input.items.length - applied, remaining };
}

function requeue(db: Connection, batch: number, items: readonly Requeue[], now: number): void {
  if (items.length === 0) return;
  const lanes = items.map(({ lane }) => lane);
  const ids = db.follow(laneIds(sqlite, lanes, "group"));
  for (const { seq, lane, notBefore, charged, code, appended } of items) {
    db.run(
      "UPDATE batchwise_request SET lane = ?, not_before = ?, attempts = attempts + ? WHERE seq = ?",
      ...[ids.get(lane) ?? 0, notBefore, charged ? 1 : 0, seq],
    );
    db.run("INSERT INTO batchwise_history (seq, batch, code, at) VALUES (?, ?, ?, ?)", seq, batch, code, now);
    if (appended !== undefined) append(db, seq, appended);
  }
  const seqs = items.map(({ seq }) => seq);
  db.follow(makeReady(sqlite, seqs, now));
}

function append(db: Connection, seq: number, { turns, bytes, tokens }: Appended): void {
  db.run("UPDATE batchwise_body SET turns = ? WHERE seq = ?", turns, seq);
  db.run("UPDATE batchwise_request SET bytes = ?, tokens = ? WHERE seq = ?", bytes, tokens, seq);
}
