// Changes requests from outside their batch: cancel, fail, expire, move, retry, hasten, redeliver.
// The statement that takes a request out of its table decides what may happen, so a concurrent seal
// or settle is seen. The endings are written last in the transaction.

import type { Amended, Amendment } from "../../contract/store/calls.ts";
import type { StoredEnding } from "../../contract/store/rows.ts";
import type { Owner } from "../../contract/store/usage-sums.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import { addToBatches } from "./batches.ts";
import { correct, type Removed } from "./correct.ts";
import type { Dialect, Ending } from "./dialect.ts";
import { hasten } from "./hasten.ts";
import { knownLane, laneIds, makeReady, READY_LANES } from "./lanes.ts";
import { end } from "./outcomes.ts";
import { atMost } from "./statement.ts";
import { Again, all, count, run, runAll, type Steps } from "./steps.ts";
import { UsageAdditions } from "./usage.ts";

type Result = Amended["result"];
type ById<Kind extends Amendment["kind"]> = Extract<Amendment, { kind: Kind }>;

interface Known extends Owner {
  readonly seq: number;
  readonly id: string;
}

const KNOWN = "r.seq, r.id, r.tenant, r.job, l.name AS lane";

export function* amend(
  dialect: Dialect,
  change: Amendment,
  sinks: readonly string[],
  now: number,
): Steps<readonly Amended[]> {
  switch (change.kind) {
    case "hasten":
      yield* hasten(dialect, change.after, now);
      return [];
    case "redeliver":
      return yield* redeliver(dialect, change, now);
    case "move":
      return yield* move(dialect, change, now);
    case "expire":
      return yield* expire(dialect, change, sinks, now);
    case "retry": {
      const known = yield* find(dialect, change.ids);
      return answersOf(change.ids, known, yield* retry(dialect, change, known, now), "waiting");
    }
    default: {
      const known = yield* find(dialect, change.ids);
      const results = yield* takeOut(dialect, change, known);
      const gone = [...known.values()].filter(({ seq }) => results.get(seq) === "changed");
      const endings = endingsOf(gone, change.kind === "cancel" ? "cancelled" : "failed", change);
      yield* end(dialect, endings, null, sinks, now);
      return answersOf(change.ids, known, results, "ended");
    }
  }
}

/** In the order of the ids. */
function* find(dialect: Dialect, ids: readonly string[]): Steps<Map<string, Known>> {
  const rows = yield* all<Known>(
    `SELECT ${KNOWN} FROM batchwise_request r JOIN batchwise_lane l ON l.id = r.lane
     WHERE ${dialect.among("r.id", "text")} AND r.pruned IS NULL`,
    ids,
  );
  const known = new Map(rows.map((row) => [row.id, row]));
  return new Map(ids.flatMap((id) => known.get(id) ?? []).map((row) => [row.id, row]));
}

/** `again`: the answer for a repeated id, which was changed before. */
function answersOf(
  ids: readonly string[],
  known: ReadonlyMap<string, Known>,
  results: Map<number, Result>,
  again: Result,
): Amended[] {
  return ids.map((id) => {
    const seq = known.get(id)?.seq;
    if (seq === undefined) return { id, result: "not_found" };
    const result = results.get(seq) ?? again;
    if (result === "changed") results.set(seq, again);
    return { id, result };
  });
}

function endingsOf(
  gone: readonly Known[],
  status: OutcomeStatus,
  { payload, code }: Pick<StoredEnding, "payload" | "code">,
): Ending[] {
  return gone.map(({ seq, tenant, job, lane }) => ({
    ...{ seq, status, payload, code, usage: null, charged: false },
    ...{ tenant, job, lane },
  }));
}

/** Limited before the join: any number of requests may have the same deadline. */
const EARLIEST = (dialect: Dialect, where: string): string => `(
  SELECT c.seq, c.deadline_at FROM batchwise_ready c WHERE c.lane = ? AND ${where}
  ORDER BY c.deadline_at LIMIT ? ${dialect.lockFree("c")}
) c JOIN batchwise_request r ON r.seq = c.seq`;

function* expire(dialect: Dialect, change: ById<"expire">, sinks: readonly string[], now: number): Steps<Amended[]> {
  const lanes = yield* all<{ id: number }>(`${READY_LANES} SELECT id FROM lanes WHERE id IS NOT NULL`);
  const due: (Known & { readonly deadline_at: number })[] = [];
  for (const { id } of lanes) {
    const some = yield* all<Known & { readonly deadline_at: number }>(
      `SELECT ${KNOWN}, c.deadline_at FROM ${EARLIEST(dialect, "c.deadline_at <= ?")} JOIN batchwise_lane l ON l.id = r.lane`,
      ...[id, now, atMost(change.limit)],
    );
    due.push(...some);
  }
  const late = due.sort(byDeadline).slice(0, atMost(change.limit));
  const seqs = late.map(({ seq }) => seq);
  yield* run(`DELETE FROM batchwise_ready WHERE ${dialect.readyAmong}`, seqs);
  yield* end(dialect, endingsOf(late, "expired", change), null, sinks, now);
  return late.map(({ id }) => ({ id, result: "changed" }));
}

type Due = { readonly seq: number; readonly deadline_at: number };

function byDeadline(one: Due, other: Due): number {
  return one.deadline_at - other.deadline_at || one.seq - other.seq;
}

type Moved = Due & { readonly id: string };

/** The first requests of a lane in claim order; requests that wait for a retry come last. */
function* firstOf(dialect: Dialect, lane: number, limit: number): Steps<Moved[]> {
  const order = "c.later, c.priority DESC, c.rank, c.seq";
  return yield* all<Moved>(
    `SELECT c.seq, c.deadline_at, r.id FROM batchwise_ready c JOIN batchwise_request r ON r.seq = c.seq
     WHERE c.lane = ? ORDER BY ${order} LIMIT ? ${dialect.lockFree("c")}`,
    ...[lane, atMost(limit)],
  );
}

function* move(dialect: Dialect, { lane, to, before, limit, least = 1 }: ById<"move">, now: number): Steps<Amended[]> {
  const from = yield* knownLane(lane);
  if (from === undefined) return [];
  const near = yield* before === null
    ? firstOf(dialect, from, limit)
    : all<Moved>(
        `SELECT c.seq, c.deadline_at, r.id FROM ${EARLIEST(dialect, "c.deadline_at < ?")}`,
        from,
        before,
        atMost(limit),
      );
  if (near.length < least) return [];
  if (before !== null) near.sort(byDeadline);
  const seqs = near.map(({ seq }) => seq);
  const into = (yield* laneIds(dialect, [to], "group")).get(to);
  yield* run(`DELETE FROM batchwise_ready WHERE ${dialect.readyAmong}`, seqs);
  yield* run(`UPDATE batchwise_request SET lane = ? WHERE ${dialect.among("seq", "bigint")}`, ...[into ?? 0, seqs]);
  yield* makeReady(dialect, seqs, now);
  return near.map(({ id }) => ({ id, result: "changed" }));
}

function* takeOut(
  dialect: Dialect,
  { kind }: ById<"cancel"> | ById<"fail">,
  known: ReadonlyMap<string, Known>,
): Steps<Map<number, Result>> {
  const seqs = [...known.values()].map(({ seq }) => seq);
  const gone = yield* all<{ seq: number }>(
    `DELETE FROM batchwise_ready WHERE ${dialect.readyAmong} RETURNING seq`,
    seqs,
  );
  const results = new Map<number, Result>(gone.map(({ seq }) => [seq, "changed"]));
  const rest = seqs.filter((seq) => !results.has(seq));
  const claimed = yield* kind === "cancel" ? wish(dialect, rest) : members(dialect, rest);
  for (const seq of claimed) results.set(seq, kind === "cancel" ? "requested" : "waiting");
  for (const seq of yield* ended(dialect, rest)) results.set(seq, "ended");
  // Neither ready, nor claimed, nor ended: a settle or a seal moved it between our reads.
  if (seqs.some((seq) => !results.has(seq))) throw new Again();
  return results;
}

function* ended(dialect: Dialect, seqs: readonly number[]): Steps<number[]> {
  const among = dialect.among("seq", "bigint");
  return (yield* all<{ seq: number }>(`SELECT seq FROM batchwise_outcome WHERE ${among}`, seqs)).map(({ seq }) => seq);
}

function* pruned(dialect: Dialect, seqs: readonly number[]): Steps<number[]> {
  if (seqs.length === 0) return [];
  const sql = `SELECT seq FROM batchwise_request WHERE ${dialect.among("seq", "bigint")} AND pruned IS NOT NULL`;
  return (yield* all<{ seq: number }>(sql, seqs)).map(({ seq }) => seq);
}

/** The requests that are in a batch. Its row is locked: none of them leaves it meanwhile. */
function* members(dialect: Dialect, seqs: readonly number[]): Steps<number[]> {
  const among = dialect.among("seq", "bigint");
  yield* all(
    `SELECT id FROM batchwise_batch WHERE id IN (SELECT batch FROM batchwise_member WHERE ${among})
     ORDER BY id ${dialect.lock("batchwise_batch")}`,
    seqs,
  );
  return (yield* all<{ seq: number }>(`SELECT seq FROM batchwise_member WHERE ${among}`, seqs)).map(({ seq }) => seq);
}

/** The same, with a pending cancel: their batch counts it once. */
function* wish(dialect: Dialect, seqs: readonly number[]): Steps<number[]> {
  const found = yield* members(dialect, seqs);
  const wished = yield* all<{ batch: number }>(
    `UPDATE batchwise_member SET cancel_requested = TRUE
     WHERE ${dialect.among("seq", "bigint")} AND NOT cancel_requested RETURNING batch`,
    found,
  );
  yield* addToBatches(dialect, "cancel_requested", wished);
  return found;
}

function* retry(
  dialect: Dialect,
  change: ById<"retry">,
  known: ReadonlyMap<string, Known>,
  now: number,
): Steps<Map<number, Result>> {
  const seqs = [...known.values()].map(({ seq }) => seq);
  const among = dialect.among("seq", "bigint");
  const removed = yield* all<Removed>(
    `DELETE FROM batchwise_outcome WHERE ${among} AND status <> 'succeeded'
     RETURNING seq, cursor, batch, status, code, recorded_at`,
    seqs,
  );
  const results = new Map<number, Result>();
  for (const seq of yield* ended(dialect, seqs)) results.set(seq, "ended");
  for (const { seq } of removed) results.set(seq, "changed");
  // Some have left since we looked; the remaining ones wait.
  const rest = seqs.filter((seq) => !results.has(seq));
  for (const seq of yield* pruned(dialect, rest)) results.set(seq, "not_found");
  if (removed.length === 0) return results;
  const dropped = yield* dropDeliveries(
    dialect,
    removed.map(({ cursor }) => cursor),
  );
  if (change.corrections === undefined) yield* addToBatches(dialect, "gone", removed);
  else {
    const seqs = change.ids.map((id) => known.get(id)?.seq);
    yield* correct(dialect, seqs, change.corrections, removed);
  }
  const lanes = new Map(change.ids.map((id, index) => [known.get(id)?.seq, change.lanes[index] as string]));
  const usage = new UsageAdditions();
  for (const { seq, tenant, job } of known.values()) {
    if (results.get(seq) === "changed") usage.requested({ tenant, job, lane: lanes.get(seq) as string });
  }
  for (const [lane, id] of yield* laneIds(dialect, change.lanes, "group")) {
    const into = removed.filter(({ seq }) => lanes.get(seq) === lane).map(({ seq }) => seq);
    yield* run(
      `UPDATE batchwise_request SET lane = ?, attempts = 0, generation = generation + 1, not_before = ?,
         deadline_at = NULL WHERE ${among}`,
      ...[id, now, into],
    );
    yield* makeReady(dialect, into, now);
  }
  yield* runAll(dialect.addUsage(usage));
  yield* count("waiting", -dropped);
  return results;
}

/** Returns the number of dropped waiting deliveries. */
function* dropDeliveries(dialect: Dialect, cursors: readonly number[]): Steps<number> {
  const among = dialect.among("cursor", "bigint");
  yield* run(`DELETE FROM batchwise_delivery_log WHERE ${among}`, cursors);
  const dropped = yield* all<{ state: string }>(
    `DELETE FROM batchwise_delivery WHERE ${among} RETURNING state`,
    cursors,
  );
  return dropped.filter(({ state }) => state === "waiting").length;
}

/** Makes dead deliveries wait again. Returns the ids of their requests. */
function* redeliver(dialect: Dialect, { sink, after, limit }: ById<"redeliver">, now: number): Steps<Amended[]> {
  const dead = yield* all<{ cursor: number; id: string }>(
    `SELECT d.cursor, r.id FROM (
       SELECT d.cursor FROM batchwise_delivery d WHERE d.sink = ? AND d.state = 'dead' AND d.cursor > ?
       ORDER BY d.cursor LIMIT ? ${dialect.lock("d")}
     ) d JOIN batchwise_outcome o ON o.cursor = d.cursor JOIN batchwise_request r ON r.seq = o.seq ORDER BY d.cursor`,
    ...[sink, after, atMost(limit)],
  );
  yield* run(
    `UPDATE batchwise_delivery SET state = 'waiting', is_due = FALSE, next_at = ?
     WHERE sink = ? AND ${dialect.among("cursor", "bigint")}`,
    ...[now, sink, dead.map(({ cursor }) => cursor)],
  );
  yield* count("waiting", dead.length);
  return dead.map(({ id }) => ({ id, result: "changed" }));
}
