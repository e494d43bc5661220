// Batches as rows: reading them, leasing them, writing them. Guarantees the checks of `lease` and `transition` inside
// the caller's transaction, also against other processes at the same moment; does not know their members.

import type { BatchChanges, BatchQuery, BatchRow } from "../../contract/rows.ts";
import type { LeaseInput, TransitionResult } from "../../contract/store.ts";
import type { BatchState, Orphan } from "../../contract/types.ts";
import type { SqlBound } from "../sql/statement.ts";
import { atMost } from "../sql/statement.ts";
import type { Connection } from "./database.ts";
import { count } from "./endings.ts";
import { writeLedgers } from "./ledgers.ts";

interface RawBatch {
  readonly id: number;
  readonly key: string;
  readonly lane: string;
  readonly account: string;
  readonly ledger: string;
  readonly state: BatchState;
  readonly requests: number;
  readonly bytes: number;
  readonly tokens: number;
  readonly remaining: number;
  readonly cancel_requested: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly submit_attempt: number;
  readonly submit_started_at: number | null;
  readonly unknown_since: number | null;
  readonly whole_failures: number;
  readonly provider_file_id: string | null;
  readonly provider_batch_id: string | null;
  readonly verified: boolean;
  readonly provider_state: string | null;
  readonly cancel_sent_at: number | null;
  readonly disposal: string | null;
  readonly last_error: string | null;
  readonly poll_ms: number;
  readonly expires_at: number | null;
  readonly deadline_at: number | null;
  readonly next_at: number;
  readonly lease_owner: string | null;
  readonly lease_until: number;
  readonly fence: number;
}

/** The columns that `transition` may write. */
const COLUMNS = {
  state: "state",
  submitAttempt: "submit_attempt",
  submitStartedAt: "submit_started_at",
  unknownSince: "unknown_since",
  wholeFailures: "whole_failures",
  providerFileId: "provider_file_id",
  providerBatchId: "provider_batch_id",
  verified: "verified",
  providerState: "provider_state",
  cancelSentAt: "cancel_sent_at",
  disposal: "disposal",
  lastError: "last_error",
  pollMs: "poll_ms",
  expiresAt: "expires_at",
  deadlineAt: "deadline_at",
  nextAt: "next_at",
  leaseUntil: "lease_until",
  releaseAt: "release_at",
} as const satisfies Partial<Record<keyof BatchChanges, string>>;

export async function readBatch(db: Connection, key: string): Promise<BatchRow | undefined> {
  return (await findBatches(db, { keys: [key], limit: 1 }))[0];
}

export async function findBatches(db: Connection, query: BatchQuery): Promise<BatchRow[]> {
  const filters: string[] = [];
  const values: SqlBound[] = [];
  const filter = (sql: string, value: SqlBound): void => {
    values.push(value);
    filters.push(sql.replaceAll("?", `$${values.length}`));
  };
  if (query.keys) filter("key = ANY(?::text[])", query.keys);
  if (query.states) filter("state = ANY(?::text[])", query.states);
  if (query.account !== undefined) filter("account = ?", query.account);
  if (query.providerBatchIds) {
    filter(
      `id IN (SELECT b.id FROM batchwise_batch b WHERE b.provider_batch_id = ANY(?::text[])
              UNION SELECT o.batch FROM batchwise_orphan o WHERE o.provider_batch_id = ANY(?::text[]))`,
      query.providerBatchIds,
    );
  }
  // Live batches are few: they are found by the index of those, not by going back through all that are done.
  const onlyLive = query.states?.includes("done") === false;
  if (onlyLive) filters.push("state <> 'done'");
  const where = filters.length === 0 ? "" : `WHERE ${filters.join(" AND ")}`;
  const found = `SELECT * FROM batchwise_batch ${where} ${onlyLive ? "OFFSET 0" : ""}`;
  const limit = `LIMIT $${values.length + 1}`;
  const sql = `SELECT * FROM (${found}) AS found ORDER BY created_at DESC, key DESC ${limit}`;
  return withOrphans(db, await db.all<RawBatch>(sql, ...values, atMost(query.limit)));
}

export async function leaseBatches(db: Connection, input: LeaseInput): Promise<BatchRow[]> {
  const { owner, now, leaseUntil, accounts, limit, keys } = input;
  const which =
    keys === undefined
      ? "state <> 'done' AND state <> 'quarantined' AND next_at <= $1::float8"
      : "key = ANY($1::text[])";
  const taken = await db.all<RawBatch>(
    `UPDATE batchwise_batch SET lease_owner = $2, lease_until = $3, fence = fence + 1
     WHERE id IN (
       SELECT id FROM batchwise_batch WHERE ${which} AND lease_until <= $4 AND account = ANY($5::text[])
       ORDER BY next_at, key LIMIT $6 FOR UPDATE SKIP LOCKED
     ) RETURNING *`,
    ...[keys ?? now, owner, leaseUntil, now, accounts, atMost(limit)],
  );
  taken.sort((a, b) => a.next_at - b.next_at || (a.key < b.key ? -1 : 1));
  return withOrphans(db, taken);
}

/** Locks the batch until the transaction ends, if `fence` is still the present one. */
export async function lockHeld(db: Connection, key: string, fence: number): Promise<RawBatch | undefined> {
  return db.get<RawBatch>("SELECT * FROM batchwise_batch WHERE key = $1 AND fence = $2 FOR UPDATE", key, fence);
}

export async function transition(
  db: Connection,
  key: string,
  fence: number,
  changes: BatchChanges,
  now: number,
): Promise<TransitionResult> {
  const before = await lockHeld(db, key, fence);
  if (before === undefined) return { ok: false, reason: "fence" };
  const reason = await refusal(db, before, changes);
  if (reason !== null) return { ok: false, reason };
  const { exclusive: _exclusive, ledgers = [], orphans = [], ...fields } = changes;
  await write(db, before.id, { ...fields }, now);
  if (changes.state === "done" && before.state !== "done" && changes.releaseAt === undefined) {
    await db.run("UPDATE batchwise_batch SET release_at = least(release_at, $1) WHERE id = $2", now, before.id);
  }
  for (const { providerBatchId, seenAt, action } of orphans) {
    await db.run(
      `INSERT INTO batchwise_orphan VALUES ($1, $2, $3, $4) ON CONFLICT (batch, provider_batch_id)
       DO UPDATE SET seen_at = excluded.seen_at, action = excluded.action`,
      ...[before.id, providerBatchId, seenAt, action],
    );
  }
  await writeLedgers(db, ledgers);
  if (changes.state === "done" && before.state !== "done") await count(db, "done", 1);
  const batch = await readBatch(db, key);
  return batch === undefined ? { ok: false, reason: "fence" } : { ok: true, batch };
}

/** Checks that look at other batches of the account take turns on it: what they saw holds until they have committed. */
async function refusal(
  db: Connection,
  { key, account, remaining }: RawBatch,
  changes: BatchChanges,
): Promise<"busy" | "taken" | "open" | null> {
  const id = changes.providerBatchId ?? null;
  if (changes.exclusive || id !== null) {
    await db.run("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", `batchwise:${account}`);
  }
  const other = async (sql: string, ...values: SqlBound[]): Promise<boolean> => {
    const where = `account = $1 AND key <> $2 AND ${sql}`;
    const found = await db.all(`SELECT 1 FROM batchwise_batch WHERE ${where} LIMIT 1`, account, key, ...values);
    return found.length > 0;
  };
  if (changes.exclusive && (await other("state <> 'done' AND state IN ('submitting', 'unknown')"))) return "busy";
  if (id !== null && (await other("provider_batch_id = $3", id))) return "taken";
  return changes.state === "done" && remaining > 0 ? "open" : null;
}

async function write(
  db: Connection,
  id: number,
  fields: Partial<Record<keyof typeof COLUMNS, SqlBound>>,
  now: number,
): Promise<void> {
  const names = Object.keys(fields) as (keyof typeof COLUMNS)[];
  const sets = names.map((name, n) => `${COLUMNS[name]} = $${n + 3}, `).join("");
  const values = names.map((name) => fields[name] ?? null);
  await db.run(`UPDATE batchwise_batch SET ${sets}updated_at = $2 WHERE id = $1`, id, now, ...values);
}

interface RawOrphan {
  readonly batch: number;
  readonly provider_batch_id: string;
  readonly seen_at: number;
  readonly action: Orphan["action"];
}

async function withOrphans(db: Connection, batches: readonly RawBatch[]): Promise<BatchRow[]> {
  if (batches.length === 0) return [];
  const orphans = await db.all<RawOrphan>(
    `SELECT batch, provider_batch_id, seen_at, action FROM batchwise_orphan WHERE batch = ANY($1::bigint[])
     ORDER BY seen_at, provider_batch_id`,
    batches.map(({ id }) => id),
  );
  return batches.map((raw) =>
    batchRow(
      raw,
      orphans.filter(({ batch }) => batch === raw.id),
    ),
  );
}

function batchRow(raw: RawBatch, orphans: readonly RawOrphan[]): BatchRow {
  return {
    ...{ key: raw.key, lane: raw.lane, account: raw.account, ledger: raw.ledger, state: raw.state },
    ...{ requests: raw.requests, bytes: raw.bytes, tokens: raw.tokens, remaining: raw.remaining },
    ...{ cancelRequested: raw.cancel_requested, createdAt: raw.created_at, updatedAt: raw.updated_at },
    ...{ submitAttempt: raw.submit_attempt, submitStartedAt: raw.submit_started_at, unknownSince: raw.unknown_since },
    ...{ wholeFailures: raw.whole_failures, providerFileId: raw.provider_file_id },
    ...{ providerBatchId: raw.provider_batch_id, verified: raw.verified, providerState: raw.provider_state },
    ...{ cancelSentAt: raw.cancel_sent_at, disposal: raw.disposal, lastError: raw.last_error, pollMs: raw.poll_ms },
    ...{ deadlineAt: raw.deadline_at },
    ...{ expiresAt: raw.expires_at, nextAt: raw.next_at, leaseOwner: raw.lease_owner, leaseUntil: raw.lease_until },
    fence: raw.fence,
    orphans: orphans.map((row) => ({
      providerBatchId: row.provider_batch_id,
      seenAt: row.seen_at,
      action: row.action,
    })),
  };
}
