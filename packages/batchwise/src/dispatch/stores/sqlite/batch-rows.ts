// Batches as rows: reading them, leasing them, writing them. Guarantees the checks of `lease` and `transition` inside
// the caller's transaction; does not know their members.

import type { BatchChanges, BatchQuery, BatchRow } from "../../contract/rows.ts";
import type { LeaseInput, TransitionResult } from "../../contract/store.ts";
import type { BatchState, Orphan } from "../../contract/types.ts";
import { atMost } from "../sql/statement.ts";
import { count } from "./counters.ts";
import type { Connection, SqliteValue } from "./database.ts";
import { writeLedger } from "./ledgers.ts";

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
  readonly verified: number;
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

export function readBatch(db: Connection, key: string): BatchRow | undefined {
  const raw = db.get<RawBatch>("SELECT * FROM batchwise_batch WHERE key = ?", key);
  return raw === undefined ? undefined : batchRow(db, raw);
}

export function findBatches(db: Connection, query: BatchQuery): BatchRow[] {
  const filters: string[] = [];
  const values: SqliteValue[] = [];
  const filter = (sql: string, ...given: SqliteValue[]): void => {
    filters.push(sql);
    values.push(...given);
  };
  if (query.keys) filter("key IN (SELECT value FROM json_each(?))", JSON.stringify(query.keys));
  if (query.states) filter("state IN (SELECT value FROM json_each(?))", JSON.stringify(query.states));
  if (query.account !== undefined) filter("account = ?", query.account);
  if (query.providerBatchIds) {
    const ids = JSON.stringify(query.providerBatchIds);
    filter(
      `id IN (SELECT b.id FROM json_each(?) j JOIN batchwise_batch b ON b.provider_batch_id = j.value
              UNION SELECT o.batch FROM json_each(?) j JOIN batchwise_orphan o ON o.provider_batch_id = j.value)`,
      ...[ids, ids],
    );
  }
  // Live batches are few: they are found by the index of those, not by going back through all that are done.
  const onlyLive = query.states?.includes("done") === false;
  if (onlyLive) filter("state <> 'done'");
  const where = filters.length === 0 ? "" : `WHERE ${filters.join(" AND ")}`;
  const newest = onlyLive ? "+created_at" : "created_at";
  const sql = `SELECT * FROM batchwise_batch ${where} ORDER BY ${newest} DESC, key DESC LIMIT ?`;
  return db.all<RawBatch>(sql, ...values, atMost(query.limit)).map((raw) => batchRow(db, raw));
}

export function leaseBatches(db: Connection, input: LeaseInput): BatchRow[] {
  const { owner, now, leaseUntil, accounts, limit, keys } = input;
  const which =
    keys === undefined
      ? "state <> 'done' AND state <> 'quarantined' AND next_at <= ?"
      : "key IN (SELECT value FROM json_each(?))";
  const free = db.all<{ key: string }>(
    `SELECT key FROM batchwise_batch
     WHERE ${which} AND lease_until <= ? AND account IN (SELECT value FROM json_each(?))
     ORDER BY next_at, key LIMIT ?`,
    ...[keys === undefined ? now : JSON.stringify(keys), now, JSON.stringify(accounts), atMost(limit)],
  );
  return free.flatMap(({ key }) => {
    db.run(
      "UPDATE batchwise_batch SET lease_owner = ?, lease_until = ?, fence = fence + 1 WHERE key = ?",
      ...[owner, leaseUntil, key],
    );
    return readBatch(db, key) ?? [];
  });
}

/** The id and lane of the batch, if `fence` is still the present one. */
export function heldBatch(db: Connection, key: string, fence: number): { id: number; lane: string } | undefined {
  return db.get<{ id: number; lane: string }>(
    "SELECT id, lane FROM batchwise_batch WHERE key = ? AND fence = ?",
    key,
    fence,
  );
}

export function transition(
  db: Connection,
  key: string,
  fence: number,
  changes: BatchChanges,
  now: number,
): TransitionResult {
  const id = heldBatch(db, key, fence)?.id;
  const before = id === undefined ? undefined : readBatch(db, key);
  if (id === undefined || before === undefined) return { ok: false, reason: "fence" };
  const reason = refusal(db, before, changes);
  if (reason !== null) return { ok: false, reason };
  const { exclusive: _exclusive, ledgers = [], orphans = [], ...fields } = changes;
  write(db, id, { ...fields }, now);
  if (changes.state === "done" && before.state !== "done") {
    count(db, "done", 1);
    if (changes.releaseAt === undefined) {
      db.run("UPDATE batchwise_batch SET release_at = min(release_at, ?) WHERE id = ?", now, id);
    }
  }
  for (const ledger of ledgers) writeLedger(db, ledger);
  for (const { providerBatchId, seenAt, action } of orphans) {
    db.run("INSERT OR REPLACE INTO batchwise_orphan VALUES (?, ?, ?, ?)", id, providerBatchId, seenAt, action);
  }
  const batch = readBatch(db, key);
  return batch === undefined ? { ok: false, reason: "fence" } : { ok: true, batch };
}

function refusal(db: Connection, batch: BatchRow, changes: BatchChanges): "busy" | "taken" | "open" | null {
  const { key, account } = batch;
  const other = (sql: string, ...values: SqliteValue[]): boolean =>
    db.get(
      `SELECT 1 FROM batchwise_batch WHERE account = ? AND key <> ? AND ${sql} LIMIT 1`,
      account,
      key,
      ...values,
    ) !== undefined;
  if (changes.exclusive && other("state <> 'done' AND state IN ('submitting', 'unknown')")) return "busy";
  const id = changes.providerBatchId ?? null;
  if (id !== null && other("provider_batch_id = ?", id)) return "taken";
  return changes.state === "done" && batch.remaining > 0 ? "open" : null;
}

function write(db: Connection, id: number, fields: Partial<Record<keyof typeof COLUMNS, unknown>>, now: number): void {
  const names = Object.keys(fields) as (keyof typeof COLUMNS)[];
  const sets = names.map((name) => `${COLUMNS[name]} = ?, `).join("");
  const values = names.map((name) => {
    const value = fields[name];
    return (typeof value === "boolean" ? Number(value) : value) as SqliteValue;
  });
  db.run(`UPDATE batchwise_batch SET ${sets}updated_at = ? WHERE id = ?`, ...values, now, id);
}

function batchRow(db: Connection, raw: RawBatch): BatchRow {
  const orphans = db.all<{ provider_batch_id: string; seen_at: number; action: Orphan["action"] }>(
    "SELECT provider_batch_id, seen_at, action FROM batchwise_orphan WHERE batch = ? ORDER BY seen_at, provider_batch_id",
    raw.id,
  );
  return {
    ...{ key: raw.key, lane: raw.lane, account: raw.account, ledger: raw.ledger, state: raw.state },
    ...{ requests: raw.requests, bytes: raw.bytes, tokens: raw.tokens, remaining: raw.remaining },
    ...{ cancelRequested: raw.cancel_requested, createdAt: raw.created_at, updatedAt: raw.updated_at },
    ...{ submitAttempt: raw.submit_attempt, submitStartedAt: raw.submit_started_at, unknownSince: raw.unknown_since },
    ...{ wholeFailures: raw.whole_failures, providerFileId: raw.provider_file_id },
    ...{ providerBatchId: raw.provider_batch_id, verified: raw.verified === 1, providerState: raw.provider_state },
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
