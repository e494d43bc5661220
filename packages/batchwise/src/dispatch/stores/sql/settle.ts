// Settles open members: they end, or return to a lane. The batch's row is locked first. The
// statement that finds a member's row deletes it, so that a decision counts once.

import type { SettleInput, SettleResult } from "../../contract/store/calls.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { Owner } from "../../contract/store/usage-sums.ts";
import { heldBatch } from "./batches.ts";
import type { Dialect, Ending } from "./dialect.ts";
import { laneIds, makeReady } from "./lanes.ts";
import { end } from "./outcomes.ts";
import { charge } from "./payers.ts";
import { all, get, runAll, type Steps } from "./steps.ts";

interface Member {
  readonly ord: number;
  readonly seq: number;
  readonly cancel_requested: boolean | number;
}

type Requeue = Extract<Settlement, { kind: "requeue" }> & { readonly seq: number };

export function* settle(dialect: Dialect, input: SettleInput): Steps<SettleResult> {
  const held = yield* heldBatch(dialect, input.key, input.fence);
  if (held === undefined) return { ok: false, reason: "fence" };
  const found = yield* all<Member>(
    `DELETE FROM batchwise_member WHERE batch = ? AND ${dialect.among("ord", "bigint")}
     RETURNING ord, seq, cancel_requested`,
    ...[held.id, input.items.map(({ ord }) => ord).filter(Number.isSafeInteger)],
  );
  const members = new Map(found.map((member) => [member.ord, member]));
  const owners = yield* ownersOf(dialect, found, held.lane);
  const settled: Settlement[] = [];
  const endings: Ending[] = [];
  const requeues: Requeue[] = [];
  for (const item of input.items) {
    const member = members.get(item.ord);
    if (member === undefined) continue;
    members.delete(item.ord);
    settled.push(item);
    const { seq } = member;
    const own = { seq, ...owners(seq) };
    if (item.kind === "final") endings.push({ ...item, ...own });
    else if (member.cancel_requested) {
      const { cancelledPayload: payload, cancelledCode: code } = input;
      endings.push({ ...own, status: "cancelled", payload, code, usage: null, charged: item.charged });
    } else requeues.push({ ...item, seq });
  }
  const wishes = found.filter((member) => member.cancel_requested).length;
  const left = yield* get<{ remaining: number }>(
    `UPDATE batchwise_batch SET remaining = remaining - ?, cancel_requested = cancel_requested - ? WHERE id = ?
     RETURNING remaining`,
    ...[found.length, wishes, held.id],
  );
  const remaining = left?.remaining ?? 0;
  yield* requeue(dialect, held.id, requeues, input.now);
  yield* charge(dialect, held, settled, remaining);
  yield* end(dialect, endings, held.id, input.sinks, input.now);
  const applied = found.length;
  return { ok: true, applied, ignored: input.items.length - applied, remaining };
}

/** The owners of members' usage. Most have neither tenant nor job. */
function* ownersOf(dialect: Dialect, members: readonly Member[], lane: string): Steps<(seq: number) => Owner> {
  const rows = yield* all<{ seq: number; tenant: string; job: string }>(
    `SELECT seq, tenant, job FROM batchwise_request ${dialect.withOwner}
     WHERE ${dialect.among("seq", "bigint")} AND (tenant <> '' OR job <> '')`,
    members.map(({ seq }) => seq),
  );
  const owners = new Map(rows.map(({ seq, tenant, job }) => [seq, { tenant, job, lane }]));
  return (seq) => owners.get(seq) ?? { tenant: "", job: "", lane };
}

function* requeue(dialect: Dialect, batch: number, items: readonly Requeue[], now: number): Steps<void> {
  if (items.length === 0) return;
  const seqs = items.map(({ seq }) => seq);
  const lanes = yield* laneIds(
    dialect,
    items.map(({ lane }) => lane),
    "group",
  );
  const keys = { seq: "bigint" } as const;
  const places = { keys, sets: { lane: "bigint", not_before: "float8" }, adds: { attempts: "bigint" } } as const;
  const histories = { seq: "bigint", batch: "bigint", code: "text", at: "float8" } as const;
  const added = items.flatMap(({ seq, appended }) => (appended === undefined ? [] : [{ seq, ...appended }]));
  yield* runAll([
    ...dialect.updateRows(
      "batchwise_request",
      places,
      items.map(({ seq, lane, notBefore, charged }) => [lanes.get(lane) ?? 0, notBefore, charged ? 1 : 0, seq]),
    ),
    ...dialect.insertRows(
      "batchwise_history",
      histories,
      items.map(({ seq, code }) => [seq, batch, code, now]),
    ),
    ...dialect.updateRows(
      "batchwise_body",
      { keys, sets: { turns: "text" } },
      added.map(({ seq, turns }) => [turns, seq]),
    ),
    ...dialect.updateRows(
      "batchwise_request",
      { keys, sets: { bytes: "bigint", tokens: "bigint" } },
      added.map(({ seq, bytes, tokens }) => [bytes, tokens, seq]),
    ),
  ]);
  yield* makeReady(dialect, seqs, now);
}
