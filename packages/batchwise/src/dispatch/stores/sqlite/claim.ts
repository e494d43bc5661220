// Forms one batch: chooses requests, checks that they fit, and writes the member rows. Runs inside
// a write transaction, so two seals never see the same request or remainder. No row per request is
// read into JavaScript: sums, cuts and moves are single statements over the lane's index.

import type { SealInput, SealResult } from "../../contract/store/calls.ts";
import { type Headroom, headRefusal, type Refusal } from "../../contract/store/refusal.ts";
import { readBatch } from "../sql/batches.ts";
import { knownLane } from "../sql/lanes.ts";
import { headroom, NEVER, openLedger } from "../sql/ledgers.ts";
import { moneyLeft, reserve } from "../sql/payers.ts";
import { atMost } from "../sql/statement.ts";
import type { Connection, SqliteValue } from "./database.ts";
import { sqlite } from "./dialect.ts";

interface Sums {
  readonly count: number;
  readonly bytes: number;
  readonly tokens: number;
  /** The earliest. */
  readonly deadline: number | null;
  /** Highest rank by priority. */
  readonly ranks: readonly (readonly [priority: number, rank: number])[];
}

/** The claimable requests of a lane. */
const MAY_GO = "lane = ? AND later = 0 AND not_before <= ? AND (deadline_at IS NULL OR deadline_at > ?)";

/** The first of these in claim order. */
const CANDIDATES = `FROM batchwise_ready WHERE ${MAY_GO} ORDER BY priority DESC, rank, seq LIMIT ?`;

export function seal(db: Connection, input: SealInput): SealResult {
  const known = db.follow(readBatch(sqlite, input.key));
  if (known !== undefined) return { ok: true, batch: known };
  const lane = db.follow(knownLane(input.lane));
  if (lane !== undefined) wake(db, lane, input.now);
  const left = db.follow(headroom(sqlite, input.ledger, input.limits, input.now));
  const head = lane === undefined ? null : headOf(db, lane, input.now);
  const reason = headRefusal(head, left, input);
  if (lane === undefined || reason !== null) return { ok: false, reason: reason ?? "empty", head };
  const room = input.payers === undefined ? null : db.follow(moneyLeft(sqlite, input.payers));
  if (room !== null && isShort(db, lane, room, input)) return { ok: false, reason: "price_limit", head };
  const fitting = prefix(db, lane, left, input);
  const sums = room === null ? fitting : paid(db, lane, fitting, room, input);
  if (sums.count < input.minRequests) return { ok: false, reason: "too_few", head };
  const batch = insertBatch(db, input, sums);
  moveMembers(db, batch, lane, sums.count, input.now);
  if (input.payers !== undefined) db.follow(reserve(sqlite, batch, input.payers));
  for (const [priority, rank] of sums.ranks) claimLevel(db, lane, priority, rank);
  const made = db.follow(readBatch(sqlite, input.key));
  return made === undefined ? { ok: false, reason: "empty", head } : { ok: true, batch: made };
}

/** Advances V in lanes with enqueues, and deletes the shares of tenants behind it. */
function claimLevel(db: Connection, lane: number, priority: number, rank: number): void {
  db.run(
    `INSERT INTO batchwise_level SELECT ?, ?, ?
     WHERE EXISTS (SELECT 1 FROM batchwise_share WHERE lane = ? AND priority = ?)
       OR EXISTS (SELECT 1 FROM batchwise_level WHERE lane = ? AND priority = ?)
     ON CONFLICT DO UPDATE SET claimed = max(claimed, excluded.claimed)`,
    ...[lane, priority, rank, lane, priority, lane, priority],
  );
  db.run("DELETE FROM batchwise_share WHERE lane = ? AND priority = ? AND finished <= ?", lane, priority, rank);
}

function headOf(db: Connection, lane: number, now: number): Refusal["head"] {
  const head = db.get<{ id: string; bytes: number; tokens: number }>(
    `SELECT r.id, c.bytes, c.tokens FROM (SELECT seq, bytes, tokens ${CANDIDATES}) c
     JOIN batchwise_request r ON r.seq = c.seq`,
    ...[lane, now, now, 1],
  );
  return head === undefined ? null : { id: head.id, bytes: head.bytes, tokens: head.tokens };
}

/** The longest prefix within caps and ledger, shortened by the sizes to avoid. */
function prefix(db: Connection, lane: number, left: Headroom, input: SealInput): Sums {
  const most = atMost(Math.min(input.maxRequests, left.requests));
  const mostTokens = Math.min(input.maxTokens, left.tokens);
  const all = sum(db, lane, most, input.now);
  const fits = all.bytes <= input.maxBytes && all.tokens <= mostTokens;
  const count = fits ? all.count : cut(db, [lane, input.now, input.now, most, input.maxBytes, mostTokens]);
  return shortened(db, lane, all, count, input);
}

/** The first `count` of these requests, without the sizes to avoid. */
function shortened(db: Connection, lane: number, all: Sums, count: number, { avoidCounts, now }: SealInput): Sums {
  let left = count;
  while (left > 1 && avoidCounts.includes(left)) left -= 1;
  return left === all.count ? all : sum(db, lane, left, now);
}

/** True if enough for a batch wait and cost more than is left. Reads no more of them. */
function isShort(db: Connection, lane: number, room: number, { minRequests, now }: SealInput): boolean {
  const least = db.get<{ count: number; price: number | null }>(
    `SELECT count(*) AS count, sum(r.price) AS price
     FROM (SELECT seq ${CANDIDATES}) c JOIN batchwise_request r ON r.seq = c.seq`,
    ...[lane, now, now, minRequests],
  );
  return least !== undefined && least.count >= minRequests && (least.price ?? 0) > room;
}

/** As many of these requests as their payers can pay. */
function paid(db: Connection, lane: number, all: Sums, room: number, input: SealInput): Sums {
  const found = db.get<{ count: number }>(
    `SELECT count(*) AS count FROM (
       SELECT sum(r.price) OVER (ORDER BY c.priority DESC, c.rank, c.seq ROWS UNBOUNDED PRECEDING) AS price
       FROM (SELECT priority, rank, seq ${CANDIDATES}) c JOIN batchwise_request r ON r.seq = c.seq
     ) WHERE price <= ?`,
    ...[lane, input.now, input.now, all.count, room],
  );
  return shortened(db, lane, all, found?.count ?? 0, input);
}

function sum(db: Connection, lane: number, limit: number, now: number): Sums {
  const levels = db.all<{
    priority: number;
    count: number;
    bytes: number;
    tokens: number;
    rank: number;
    deadline: number | null;
  }>(
    `SELECT priority, count(*) AS count, sum(bytes) AS bytes, sum(tokens) AS tokens, max(rank) AS rank,
       min(deadline_at) AS deadline
     FROM (SELECT priority, rank, bytes, tokens, deadline_at ${CANDIDATES}) GROUP BY priority`,
    ...[lane, now, now, limit],
  );
  const total = { count: 0, bytes: 0, tokens: 0, deadline: null as number | null };
  for (const level of levels) {
    total.count += level.count;
    total.bytes += level.bytes;
    total.tokens += level.tokens;
    if (level.deadline !== null) total.deadline = Math.min(total.deadline ?? level.deadline, level.deadline);
  }
  return { ...total, ranks: levels.map(({ priority, rank }) => [priority, rank] as const) };
}

function cut(db: Connection, values: readonly SqliteValue[]): number {
  const found = db.get<{ count: number }>(
    `SELECT count(*) AS count FROM (
       SELECT sum(bytes) OVER w AS bytes, sum(tokens) OVER w AS tokens
       FROM (SELECT priority, rank, seq, bytes, tokens ${CANDIDATES})
       WINDOW w AS (ORDER BY priority DESC, rank, seq ROWS UNBOUNDED PRECEDING)
     ) WHERE bytes <= ? AND tokens <= ?`,
    ...values,
  );
  return found?.count ?? 0;
}

function insertBatch(db: Connection, input: SealInput, sums: Sums): number {
  const { key, lane, account, ledger, now, owner, leaseUntil } = input;
  db.follow(openLedger(ledger));
  db.run(
    `INSERT INTO batchwise_batch
       (key, lane, account, ledger, state, requests, remaining, bytes, tokens, created_at, updated_at, next_at,
        lease_owner, lease_until, fence, release_at, deadline_at)
     VALUES (?, ?, ?, ?, 'sealed', ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`,
    ...[key, lane, account, ledger, sums.count, sums.count, sums.bytes, sums.tokens, now, now, now],
    ...[owner, leaseUntil, NEVER, sums.deadline],
  );
  return db.get<{ id: number }>("SELECT id FROM batchwise_batch WHERE key = ?", key)?.id ?? 0;
}

function moveMembers(db: Connection, batch: number, lane: number, count: number, now: number): void {
  // Numbering by an array's keys costs half as much as row_number().
  db.run(
    `INSERT INTO batchwise_member (batch, ord, seq)
     SELECT ?, member.key, member.value
     FROM (SELECT json_group_array(seq) AS seqs FROM (SELECT seq ${CANDIDATES})) AS chosen, json_each(chosen.seqs) AS member`,
    ...[batch, lane, now, now, count],
  );
  // The members are all claimable requests up to the last one: two ranges, which cost a third of
  // looking up each one.
  const last = db.get<{ priority: number; rank: number; seq: number }>(
    `SELECT r.priority, r.rank, r.seq FROM batchwise_member m JOIN batchwise_request r ON r.seq = m.seq
     WHERE m.batch = ? ORDER BY m.ord DESC LIMIT 1`,
    batch,
  );
  if (last === undefined) return;
  const range = [lane, now, now, last.priority];
  db.run(`DELETE FROM batchwise_ready WHERE ${MAY_GO} AND priority > ?`, ...range);
  db.run(
    `DELETE FROM batchwise_ready WHERE ${MAY_GO} AND priority = ? AND (rank, seq) <= (?, ?)`,
    ...[...range, last.rank, last.seq],
  );
}

/** Makes requests claimable whose time has come. Once per requeue and request. */
function wake(db: Connection, lane: number, now: number): void {
  db.run("UPDATE batchwise_ready SET later = 0 WHERE lane = ? AND later = 1 AND not_before <= ?", lane, now);
}
