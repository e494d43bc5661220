// Enqueues requests: all calls of one group commit in one transaction. Guarantees one request per
// id, even if another process enqueues it at the same moment, and the ranks of the claim order.

import { DispatchError } from "../../contract/errors.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import { hasDigest } from "../../contract/store/digests.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import { laneIds } from "../sql/lanes.ts";
import type { EnqueueCall } from "../sql/sql-store.ts";
import { runAll } from "../sql/steps.ts";
import { UsageAdditions } from "../sql/usage.ts";
import type { Connection } from "./database.ts";
import { postgres } from "./dialect.ts";

interface Ranked extends NewRequest {
  readonly laneId: number;
  readonly rank: number;
  readonly now: number;
}

/** A tenant's share of a lane: F and V of the claim order. */
interface Share {
  readonly lane: number;
  readonly priority: number;
  readonly tenant: string;
  claimed: number;
  finished: number;
}

/** Throws for a text with a NUL, which Postgres cannot store. */
export function refuseNul(requests: readonly NewRequest[]): void {
  for (const { id, tenant, job, metadata, body } of requests) {
    if (![id, tenant, job, metadata ?? "", body].some((text) => text.includes("\0"))) continue;
    throw new DispatchError("INVALID_REQUEST", "Postgres cannot store a NUL character: the id, tenant or job has one.");
  }
}

/**
 * `keep` writes the shares: `writeShares` in our own transaction, `addShares` in a caller's, which
 * may be long.
 */
export async function enqueueAll(
  db: Connection,
  calls: readonly EnqueueCall[],
  keep: typeof writeShares = writeShares,
): Promise<EnqueueResult[][]> {
  const all = calls.flatMap(({ requests, now }) => requests.map((request) => ({ request, now })));
  const known = await digests(
    db,
    all.map(({ request }) => request.id),
  );
  const fresh = new Map<string, { readonly request: NewRequest; readonly now: number }>();
  for (const one of all) {
    if (!known.has(one.request.id) && !fresh.has(one.request.id)) fresh.set(one.request.id, one);
  }
  const stored = await insert(db, [...fresh.values()], keep);
  const lost = [...fresh.keys()].filter((id) => !stored.has(id));
  for (const [id, digest] of await digests(db, lost)) known.set(id, digest);
  return calls.map(({ requests }) =>
    requests.map(({ id, digest }) => {
      // The first stored request of an id; later ones are compared with it.
      if (stored.delete(id)) {
        known.set(id, digest);
        return "stored";
      }
      const before = known.get(id);
      return before !== undefined && hasDigest(before, digest) ? "same" : "conflict";
    }),
  );
}

async function digests(db: Connection, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.all<{ id: string; digest: string }>(
    `SELECT r.id, coalesce(r.pruned, b.digest) AS digest FROM batchwise_request r
     LEFT JOIN batchwise_body b ON b.seq = r.seq WHERE r.id = ANY($1::text[])`,
    ...[ids],
  );
  return new Map(rows.map(({ id, digest }) => [id, digest]));
}

async function insert(
  db: Connection,
  fresh: readonly { readonly request: NewRequest; readonly now: number }[],
  keep: typeof writeShares,
): Promise<Set<string>> {
  if (fresh.length === 0) return new Set();
  const lanes = await db.follow(
    laneIds(
      postgres,
      fresh.map(({ request }) => request.lane),
      "lane",
    ),
  );
  const shares = await readShares(
    db,
    fresh.map(({ request }) => ({ ...request, lane: lanes.get(request.lane) ?? 0 })),
  );
  const ranked = fresh.map(({ request, now }): Ranked => {
    const lane = lanes.get(request.lane) ?? 0;
    const share = shares.get(shareKey({ ...request, lane }));
    const rank = share === undefined ? 0 : Math.max(share.claimed, share.finished);
    if (share !== undefined) share.finished = rank + Math.max(1, request.tokens);
    return { ...request, laneId: lane, rank, now };
  });
  const stored = await insertRows(db, ranked);
  await keep(db, [...shares.values()]);
  const ids = new Set(stored.map(({ id }) => id));
  const usage = new UsageAdditions();
  for (const { request } of fresh) if (ids.has(request.id)) usage.requested(request);
  await db.follow(runAll(postgres.addUsage(usage)));
  return ids;
}

function insertRows(db: Connection, rows: readonly Ranked[]): Promise<{ id: string }[]> {
  const column = <Value>(pick: (row: Ranked) => Value): Value[] => rows.map(pick);
  return db.all<{ id: string }>(
    `WITH input AS (
       SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::float8[],
         $8::float8[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::bigint[]) WITH ORDINALITY
         AS t (id, digest, lane, priority, rank, tenant, now, deadline_at, bytes, tokens, metadata, body, job, price, n)
     ), added AS (
       INSERT INTO batchwise_request
         (id, lane, priority, rank, tenant, job, created_at, deadline_at, bytes, tokens, price)
       SELECT id, lane, priority, rank, tenant, job, now, deadline_at, bytes, tokens, price FROM input ORDER BY n
       ON CONFLICT (id) DO NOTHING RETURNING *
     ), bodies AS (
       INSERT INTO batchwise_body (seq, digest, metadata, body)
       SELECT added.seq, input.digest, input.metadata, input.body FROM added JOIN input ON input.id = added.id
     ), ready AS (
       INSERT INTO batchwise_ready
       SELECT seq, lane, priority, rank, bytes, tokens, not_before, deadline_at, created_at FROM added
     ) SELECT id FROM added`,
    ...[column((row) => row.id), column((row) => row.digest), column((row) => row.laneId)],
    ...[column((row) => row.priority), column((row) => row.rank), column((row) => row.tenant)],
    ...[column((row) => row.now), column((row) => row.deadlineAt), column((row) => row.bytes)],
    ...[column((row) => row.tokens), column((row) => row.metadata), column((row) => row.body)],
    ...[column((row) => row.job), column((row) => row.price ?? 0)],
  );
}

type Place = Pick<Share, "lane" | "priority" | "tenant">;

function shareKey({ lane, priority, tenant }: Place): string {
  return `${lane} ${priority} ${tenant}`;
}

async function readShares(db: Connection, places: readonly Place[]): Promise<Map<string, Share>> {
  const wanted = new Map(places.map((place) => [shareKey(place), place]));
  const all = [...wanted.values()];
  const rows = await db.all<Share>(
    `SELECT w.lane, w.priority, w.tenant, coalesce(l.claimed, 0) AS claimed,
       coalesce(greatest(s.finished, (
         SELECT max(a.finished) FROM batchwise_share_added a
         WHERE a.lane = w.lane AND a.priority = w.priority AND a.tenant = w.tenant
       )), 0) AS finished
     FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS w (lane, priority, tenant)
     LEFT JOIN batchwise_level l ON l.lane = w.lane AND l.priority = w.priority
     LEFT JOIN batchwise_share s ON s.lane = w.lane AND s.priority = w.priority AND s.tenant = w.tenant`,
    ...[all.map(({ lane }) => lane), all.map(({ priority }) => priority), all.map(({ tenant }) => tenant)],
  );
  return new Map(rows.map((row) => [shareKey(row), row]));
}

/** Sorted, so that two processes with the same tenants never deadlock. */
async function writeShares(db: Connection, shares: readonly Share[]): Promise<void> {
  const all = [...shares].sort((a, b) => (shareKey(a) < shareKey(b) ? -1 : 1));
  await db.run(
    `INSERT INTO batchwise_share SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[])
     ON CONFLICT (lane, priority, tenant)
     DO UPDATE SET finished = greatest(batchwise_share.finished, excluded.finished)`,
    ...[all.map(({ lane }) => lane), all.map(({ priority }) => priority)],
    ...[all.map(({ tenant }) => tenant), all.map(({ finished }) => finished)],
  );
}

/** Adds rows of its own, so that a long transaction blocks no other enqueue. A seal merges them. */
export async function addShares(db: Connection, shares: readonly Share[]): Promise<void> {
  await db.run(
    "INSERT INTO batchwise_share_added SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[])",
    ...[shares.map(({ lane }) => lane), shares.map(({ priority }) => priority)],
    ...[shares.map(({ tenant }) => tenant), shares.map(({ finished }) => finished)],
  );
}
