// Forms one batch: chooses requests, checks that they fit, and writes the member rows. The ledger's
// lock keeps two seals from reserving the same remainder. With SKIP LOCKED, two seals of one lane
// on different ledgers neither wait for each other nor take the same request. No row per request is
// read into JavaScript.

import type { SealInput, SealResult } from "../../contract/store/calls.ts";
import { type Headroom, headRefusal, type Refusal } from "../../contract/store/refusal.ts";
import { readBatch } from "../sql/batches.ts";
import { knownLane } from "../sql/lanes.ts";
import { headroom, NEVER, openLedger } from "../sql/ledgers.ts";
import { moneyLeft, reserve } from "../sql/payers.ts";
import { atMost } from "../sql/statement.ts";
import { type Connection, Undo } from "./database.ts";
import { postgres } from "./dialect.ts";

const SUMMED_AT_ONCE = 10_000;

interface Level {
  readonly priority: number;
  readonly count: number;
  readonly bytes: number;
  readonly tokens: number;
  readonly rank: number;
  readonly deadline: number | null;
}

/** The first ready requests of a lane in claim order that no other seal is taking. */
const CANDIDATES = `
  FROM batchwise_ready
  WHERE lane = $1 AND NOT later AND not_before <= $2 AND (deadline_at IS NULL OR deadline_at > $2)
  ORDER BY priority DESC, rank, seq`;

export async function seal(db: Connection, input: SealInput): Promise<SealResult> {
  await db.follow(openLedger(input.ledger));
  const left = await db.follow(headroom(postgres, input.ledger, input.limits, input.now));
  const known = await db.follow(readBatch(postgres, input.key));
  if (known !== undefined) return { ok: true, batch: known };
  const lane = await db.follow(knownLane(input.lane));
  const head = lane === undefined ? null : await headOf(db, lane, input.now);
  const reason = headRefusal(head, left, input);
  if (lane === undefined || reason !== null) throw new Undo<SealResult>({ ok: false, reason: reason ?? "empty", head });
  const funds = input.payers === undefined ? null : await fundsOf(db, lane, left, input, input.payers);
  if (funds?.isShort) throw new Undo<SealResult>({ ok: false, reason: "price_limit", head });
  const id = await insertBatch(db, input);
  const levels = await take(db, id, lane, { ...left, requests: funds?.requests ?? left.requests }, input);
  const total = levels.reduce((sum, { count }) => sum + count, 0);
  if (total < input.minRequests) throw new Undo<SealResult>({ ok: false, reason: "too_few", head });
  await book(db, id, lane, levels);
  // Requests that another transaction has locked meanwhile may have made room for dearer ones.
  if (
    input.payers !== undefined &&
    funds !== null &&
    (await db.follow(reserve(postgres, id, input.payers))) > funds.room
  )
    throw new Undo<SealResult>({ ok: false, reason: "price_limit", head });
  const batch = await db.follow(readBatch(postgres, input.key));
  if (batch === undefined) throw new Undo<SealResult>({ ok: false, reason: "empty", head });
  return { ok: true, batch };
}

async function headOf(db: Connection, lane: number, now: number): Promise<Refusal["head"]> {
  const head = await db.get<{ id: string; bytes: number; tokens: number }>(
    `SELECT r.id, c.bytes, c.tokens FROM (SELECT seq, bytes, tokens ${CANDIDATES} LIMIT 1 FOR UPDATE SKIP LOCKED) c
     JOIN batchwise_request r ON r.seq = c.seq`,
    ...[lane, now],
  );
  return head ?? null;
}

interface Funds {
  /** What is left of the payers' limits. */
  readonly room: number;
  /** How many of the first requests that pays for. */
  readonly requests: number;
  /** True if enough for a batch wait, and that pays for fewer: then no more of them were read. */
  readonly isShort: boolean;
}

async function fundsOf(
  db: Connection,
  lane: number,
  left: Headroom,
  input: SealInput,
  payers: readonly string[],
): Promise<Funds> {
  const room = await db.follow(moneyLeft(postgres, payers));
  const summed = async (most: number): Promise<{ readonly all: number; readonly paid: number }> => {
    const found = await db.get<{ all: number; paid: number }>(
      `SELECT count(*) AS all, count(*) FILTER (WHERE price <= $4) AS paid FROM (
         SELECT sum(r.price) OVER (ORDER BY c.priority DESC, c.rank, c.seq ROWS UNBOUNDED PRECEDING) AS price
         FROM (SELECT priority, rank, seq ${CANDIDATES} LIMIT $3) c JOIN batchwise_request r ON r.seq = c.seq
       ) summed`,
      ...[lane, input.now, most, room],
    );
    return found ?? { all: 0, paid: 0 };
  };
  const least = await summed(input.minRequests);
  if (least.all >= input.minRequests && least.paid < input.minRequests) return { room, requests: 0, isShort: true };
  const { paid } = await summed(atMost(Math.min(input.maxRequests, left.requests)));
  return { room, requests: paid, isShort: false };
}

async function insertBatch(db: Connection, input: SealInput): Promise<number> {
  const { key, lane, account, ledger, now, owner, leaseUntil } = input;
  const made = await db.get<{ id: number }>(
    `INSERT INTO batchwise_batch
       (key, lane, account, ledger, state, requests, remaining, bytes, tokens, created_at, updated_at, next_at,
        lease_owner, lease_until, fence, release_at)
     VALUES ($1, $2, $3, $4, 'sealed', 0, 0, 0, 0, $5, $5, $5, $6, $7, 1, $8) RETURNING id`,
    ...[key, lane, account, ledger, now, owner, leaseUntil, NEVER],
  );
  return made?.id ?? 0;
}

/**
 * Moves the longest prefix within caps and ledger into the batch, shortened by the sizes to avoid.
 */
function take(db: Connection, batch: number, lane: number, left: Headroom, input: SealInput): Promise<Level[]> {
  return db.all<Level>(
    `WITH candidate AS MATERIALIZED (
       SELECT priority, rank, seq, bytes, tokens, deadline_at ${CANDIDATES} LIMIT $3 FOR UPDATE SKIP LOCKED
     ), summed AS MATERIALIZED (
       SELECT *, row_number() OVER w AS n, sum(bytes) OVER w AS all_bytes, sum(tokens) OVER w AS all_tokens
       FROM candidate WINDOW w AS (ORDER BY priority DESC, rank, seq ROWS UNBOUNDED PRECEDING)
     ), fitting AS (
       SELECT n FROM summed WHERE all_bytes <= $4 AND all_tokens <= $5
     ), size AS (
       SELECT max(n) AS n FROM fitting WHERE n = 1 OR n <> ALL ($6::bigint[])
     ), taken AS MATERIALIZED (
       SELECT summed.* FROM summed, size WHERE summed.n <= size.n
     ), gone AS (
       DELETE FROM batchwise_ready WHERE seq IN (SELECT seq FROM taken)
     ), moved AS (
       INSERT INTO batchwise_member (batch, ord, seq) SELECT $7, n - 1, seq FROM taken
     )
     SELECT priority, count(*) AS count, sum(bytes) AS bytes, sum(tokens) AS tokens, max(rank) AS rank,
       min(deadline_at) AS deadline
     FROM taken GROUP BY priority`,
    ...[lane, input.now, atMost(Math.min(input.maxRequests, left.requests))],
    ...[Math.min(input.maxBytes, NEVER), Math.min(input.maxTokens, left.tokens, NEVER), input.avoidCounts, batch],
  );
}

async function book(db: Connection, batch: number, lane: number, levels: readonly Level[]): Promise<void> {
  const sum = (pick: (level: Level) => number): number => levels.reduce((all, level) => all + pick(level), 0);
  const deadlines = levels.flatMap(({ deadline }) => deadline ?? []);
  await db.run(
    "UPDATE batchwise_batch SET requests = $2, remaining = $2, bytes = $3, tokens = $4, deadline_at = $5 WHERE id = $1",
    ...[batch, sum(({ count }) => count), sum(({ bytes }) => bytes), sum(({ tokens }) => tokens)],
    deadlines.length === 0 ? null : Math.min(...deadlines),
  );
  const sorted = [...levels].sort((a, b) => a.priority - b.priority);
  await claimLevels(db, [lane, sorted.map(({ priority }) => priority), sorted.map(({ rank }) => rank)]);
}

/** Advances V in lanes with enqueues, and deletes the shares of tenants behind it. */
async function claimLevels(
  db: Connection,
  values: readonly [number, readonly number[], readonly number[]],
): Promise<void> {
  await db.run(
    `INSERT INTO batchwise_level
     SELECT $1, c.priority, c.rank FROM unnest($2::bigint[], $3::bigint[]) AS c (priority, rank)
     WHERE EXISTS (SELECT 1 FROM batchwise_share s WHERE s.lane = $1 AND s.priority = c.priority)
       OR EXISTS (SELECT 1 FROM batchwise_share_added a WHERE a.lane = $1 AND a.priority = c.priority)
       OR EXISTS (SELECT 1 FROM batchwise_level l WHERE l.lane = $1 AND l.priority = c.priority)
     ON CONFLICT (lane, priority) DO UPDATE SET claimed = greatest(batchwise_level.claimed, excluded.claimed)`,
    ...values,
  );
  // A share that an enqueue is writing stays until a later seal.
  for (const table of ["batchwise_share", "batchwise_share_added"]) {
    await db.run(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
         SELECT s.ctid FROM unnest($2::bigint[], $3::bigint[]) AS c (priority, rank)
         JOIN ${table} s ON s.lane = $1 AND s.priority = c.priority AND s.finished <= c.rank
         FOR UPDATE OF s SKIP LOCKED
       ))`,
      ...values,
    );
  }
}

/**
 * Merges the rows that count a lane's waiting requests. Skips rows that another transaction is
 * merging.
 */
export async function sumWaiting(db: Connection): Promise<void> {
  await db.run(
    `WITH went AS (
       DELETE FROM batchwise_waiting WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM batchwise_waiting LIMIT ${SUMMED_AT_ONCE} FOR UPDATE SKIP LOCKED
       )) RETURNING lane, requests
     )
     INSERT INTO batchwise_waiting SELECT lane, sum(requests) FROM went GROUP BY lane HAVING sum(requests) <> 0`,
  );
}

/**
 * Makes requests claimable whose time has come. Once per requeue and request: this commits before
 * the seal, which rolls back everything else when it refuses.
 */
export async function wake(db: Connection, name: string, now: number): Promise<void> {
  await db.run(
    `UPDATE batchwise_ready SET later = FALSE WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM batchwise_ready
       WHERE lane = (SELECT id FROM batchwise_lane WHERE name = $1) AND later AND not_before <= $2
       FOR UPDATE SKIP LOCKED
     ))`,
    ...[name, now],
  );
  await sumWaiting(db);
}
