// Settles open members: they end, or return to a lane. The batch's row is locked first. The
// statement that finds a member's row deletes it, so that a decision counts once.

import type { SettleInput, SettleResult } from "../../contract/store/calls.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { Ending } from "../sql/amend.ts";
import { heldBatch } from "../sql/batches.ts";
import { laneIds, makeReady } from "../sql/lanes.ts";
import { charge } from "../sql/payers.ts";
import type { Connection } from "./database.ts";
import { postgres } from "./dialect.ts";
import { end } from "./endings.ts";

interface Member {
  readonly ord: number;
  readonly seq: number;
  readonly cancel_requested: boolean;
}

type Requeue = Extract<Settlement, { kind: "requeue" }> & { readonly seq: number };

export async function settle(db: Connection, input: SettleInput): Promise<SettleResult> {
  const held = await db.follow(heldBatch(postgres, input.key, input.fence));
  if (held === undefined) return { ok: false, reason: "fence" };
  const found = await db.all<Member>(
    "DELETE FROM batchwise_member WHERE batch = $1 AND ord = ANY($2::bigint[]) RETURNING ord, seq, cancel_requested",
    ...[held.id, input.items.map(({ ord }) => ord).filter(Number.isSafeInteger)],
  );
  const members = new Map(found.map((member) => [member.ord, member]));
  const settled: Settlement[] = [];
  const endings: Ending[] = [];
  const requeues: Requeue[] = [];
  for (const item of input.items) {
    const member = members.get(item.ord);
    if (member === undefined) continue;
    members.delete(item.ord);
    settled.push(item);
    const { seq, cancel_requested: cancelled } = member;
    const { charged } = item;
    if (item.kind === "final") endings.push({ ...item, seq });
    else if (cancelled) {
      const { cancelledPayload: payload, cancelledCode: code } = input;
      endings.push({ seq, status: "cancelled", payload, code, usage: null, charged });
    } else requeues.push({ ...item, seq });
  }
  const wishes = found.filter((member) => member.cancel_requested).length;
  const left = await db.get<{ remaining: number }>(
    `UPDATE batchwise_batch SET remaining = remaining - $1, cancel_requested = cancel_requested - $2 WHERE id = $3
     RETURNING remaining`,
    ...[found.length, wishes, held.id],
  );
  await requeue(db, held.id, requeues, input.now);
  const remaining = left?.remaining ?? 0;
  await db.follow(charge(postgres, held, settled, remaining));
  await end(db, endings, held.id, input.sinks, input.now);
  const applied = found.length;
  return { ok: true, applied, ignored: input.items.length - applied, remaining };
}

async function requeue(db: Connection, batch: number, items: readonly Requeue[], now: number): Promise<void> {
  if (items.length === 0) return;
  const lanes = await db.follow(
    laneIds(
      postgres,
      items.map(({ lane }) => lane),
      "group",
    ),
  );
  const seqs = items.map(({ seq }) => seq);
  await db.run(
    `UPDATE batchwise_request r SET lane = i.lane, not_before = i.not_before, attempts = r.attempts + i.charged
     FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::bigint[]) AS i (seq, lane, not_before, charged)
     WHERE r.seq = i.seq`,
    ...[seqs, items.map(({ lane }) => lanes.get(lane) ?? 0), items.map(({ notBefore }) => notBefore)],
    items.map(({ charged }) => (charged ? 1 : 0)),
  );
  await db.run(
    `INSERT INTO batchwise_history SELECT i.seq, $1, i.code, $2 FROM unnest($3::bigint[], $4::text[]) AS i (seq, code)`,
    ...[batch, now, seqs, items.map(({ code }) => code)],
  );
  await append(db, items);
  await db.follow(makeReady(postgres, seqs, now));
}

async function append(db: Connection, items: readonly Requeue[]): Promise<void> {
  const added = items.flatMap(({ seq, appended }) => (appended === undefined ? [] : [{ seq, ...appended }]));
  if (added.length === 0) return;
  const seqs = added.map(({ seq }) => seq);
  await db.run(
    `UPDATE batchwise_body b SET turns = i.turns FROM unnest($1::bigint[], $2::text[]) AS i (seq, turns)
     WHERE b.seq = i.seq`,
    ...[seqs, added.map(({ turns }) => turns)],
  );
  await db.run(
    `UPDATE batchwise_request r SET bytes = i.bytes, tokens = i.tokens
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS i (seq, bytes, tokens) WHERE r.seq = i.seq`,
    ...[seqs, added.map(({ bytes }) => bytes), added.map(({ tokens }) => tokens)],
  );
}
