// Batches as rows: reading them, and writing them. Guarantees the checks of `transition` inside the
// caller's transaction, also against other processes at the same moment; does not know their
// members.

import type { BatchChanges, BatchQuery, BatchRow, Probe } from "../../contract/rows.ts";
import type { TransitionResult } from "../../contract/store.ts";
import type { BatchState, Orphan } from "../../contract/types.ts";
import { count } from "./counters.ts";
import type { Dialect } from "./dialect.ts";
import { NEVER, writeLedgers } from "./ledgers.ts";
import { atMost, type SqlBound } from "./statement.ts";
import { all, get, run, runAll, type Steps } from "./steps.ts";

export interface RawBatch {
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
  readonly verified: boolean | number;
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

export function* readBatch(dialect: Dialect, key: string): Steps<BatchRow | undefined> {
  return (yield* findBatches(dialect, { keys: [key], limit: 1 }))[0];
}

export function* findBatches(dialect: Dialect, query: BatchQuery): Steps<BatchRow[]> {
  const filters: string[] = [];
  const values: SqlBound[] = [];
  const filter = (sql: string, ...given: SqlBound[]): void => {
    filters.push(sql);
    values.push(...given);
  };
  if (query.keys) filter(dialect.among("key", "text"), query.keys);
  if (query.states) filter(dialect.among("state", "text"), query.states);
  if (query.account !== undefined) filter("account = ?", query.account);
  if (query.providerBatchIds) {
    const among = dialect.among("provider_batch_id", "text");
    filter(
      `id IN (SELECT id FROM batchwise_batch WHERE ${among} UNION SELECT batch FROM batchwise_orphan WHERE ${among})`,
      ...[query.providerBatchIds, query.providerBatchIds],
    );
  }
  // Live batches are few: they are found by the index of those, not by going back through all that
  // are done.
  const onlyLive = query.states?.includes("done") === false;
  if (onlyLive) filter("state <> 'done'");
  const where = filters.length === 0 ? "" : `WHERE ${filters.join(" AND ")}`;
  const newest = onlyLive ? "+created_at" : "created_at";
  const sql = `SELECT * FROM batchwise_batch ${where} ORDER BY ${newest} DESC, key DESC LIMIT ?`;
  return yield* withOrphans(dialect, yield* all<RawBatch>(sql, ...values, atMost(query.limit)));
}

/** Locks the batch until the transaction ends, if `fence` is still the present one. */
export function heldBatch(dialect: Dialect, key: string, fence: number): Steps<RawBatch | undefined> {
  return get<RawBatch>(
    `SELECT * FROM batchwise_batch WHERE key = ? AND fence = ? ${dialect.lock("batchwise_batch")}`,
    key,
    fence,
  );
}

export function* transition(
  dialect: Dialect,
  key: string,
  fence: number,
  changes: BatchChanges,
  now: number,
): Steps<TransitionResult> {
  const before = yield* heldBatch(dialect, key, fence);
  if (before === undefined) return { ok: false, reason: "fence" };
  const reason = yield* refusal(dialect, before, changes);
  if (reason !== null) return { ok: false, reason };
  const { exclusive: _exclusive, ledgers = [], orphans = [], releaseAt, ...fields } = changes;
  const released = releaseAt === undefined ? {} : { releaseAt: releaseAt ?? NEVER };
  yield* write(before.id, { ...fields, ...released }, now);
  const ends = changes.state === "done" && before.state !== "done";
  if (ends && releaseAt === undefined) {
    yield* run("UPDATE batchwise_batch SET release_at = ? WHERE id = ? AND release_at > ?", now, before.id, now);
  }
  for (const { providerBatchId, seenAt, action } of orphans) {
    yield* run(
      `INSERT INTO batchwise_orphan (batch, provider_batch_id, seen_at, action) VALUES (?, ?, ?, ?)
       ON CONFLICT (batch, provider_batch_id) DO UPDATE SET seen_at = excluded.seen_at, action = excluded.action`,
      ...[before.id, providerBatchId, seenAt, action],
    );
  }
  yield* writeLedgers(ledgers);
  if (ends) yield* count("done", 1);
  const batch = yield* readBatch(dialect, key);
  return batch === undefined ? { ok: false, reason: "fence" } : { ok: true, batch };
}

/**
 * Checks that look at other batches of the account take turns on it: what they saw holds until they
 * have committed.
 */
function* refusal(
  dialect: Dialect,
  { key, account, remaining }: RawBatch,
  changes: BatchChanges,
): Steps<"busy" | "taken" | "open" | null> {
  const id = changes.providerBatchId ?? null;
  if (changes.exclusive || id !== null) yield* runAll(dialect.takeTurns(account));
  const other = function* (sql: string, ...values: SqlBound[]): Steps<boolean> {
    const where = `account = ? AND key <> ? AND ${sql}`;
    return (yield* get(`SELECT 1 FROM batchwise_batch WHERE ${where} LIMIT 1`, account, key, ...values)) !== undefined;
  };
  const isSubmitting = "state <> 'done' AND state IN ('submitting', 'unknown')";
  if (changes.exclusive && (yield* other(isSubmitting))) return "busy";
  if (id !== null && (yield* other("provider_batch_id = ?", id))) return "taken";
  return changes.state === "done" && remaining > 0 ? "open" : null;
}

function* write(id: number, fields: Partial<Record<keyof typeof COLUMNS, SqlBound>>, now: number): Steps<void> {
  const names = Object.keys(fields) as (keyof typeof COLUMNS)[];
  const sets = names.map((name) => `${COLUMNS[name]} = ?, `).join("");
  const values = names.map((name) => fields[name] ?? null);
  yield* run(`UPDATE batchwise_batch SET ${sets}updated_at = ? WHERE id = ?`, ...values, now, id);
}

/**
 * Adds to a figure of each batch the number of these rows that name it. In the order of their ids,
 * as others lock them.
 */
export function* addToBatches(
  dialect: Dialect,
  figure: "gone" | "cancel_requested",
  rows: readonly { readonly batch: number | null }[],
): Steps<void> {
  const more = new Map<number, number>();
  for (const { batch } of rows) if (batch !== null) more.set(batch, (more.get(batch) ?? 0) + 1);
  if (more.size === 0) return;
  const among = dialect.among("id", "bigint");
  const lock = dialect.lock("batchwise_batch");
  yield* all(`SELECT id FROM batchwise_batch WHERE ${among} ORDER BY id ${lock}`, [...more.keys()]);
  for (const size of new Set(more.values())) {
    const ids = [...more.keys()].filter((id) => more.get(id) === size);
    yield* run(`UPDATE batchwise_batch SET ${figure} = ${figure} + ? WHERE ${among}`, size, ids);
  }
}

/** `done`: how many have ended. Walks the others only. */
export function* batchFigures(done: number): Steps<Pick<Probe, "batches" | "inBatches" | "batchDueAt">> {
  const batches: Record<BatchState, number> = {
    ...{ sealed: 0, submitting: 0, unknown: 0, waiting_capacity: 0, submitted: 0 },
    ...{ running: 0, collecting: 0, quarantined: 0, done },
  };
  let inBatches = 0;
  let batchDueAt: number | null = null;
  const states = yield* all<{ state: BatchState; count: number; remaining: number; due: number }>(
    `SELECT state, count(*) AS count, sum(remaining) AS remaining,
       min(CASE WHEN next_at > lease_until THEN next_at ELSE lease_until END) AS due
     FROM batchwise_batch WHERE state <> 'done' GROUP BY state`,
  );
  for (const { state, count, remaining, due } of states) {
    batches[state] = count;
    inBatches += remaining;
    if (state !== "quarantined") batchDueAt = Math.min(batchDueAt ?? due, due);
  }
  return { batches, inBatches, batchDueAt };
}

interface RawOrphan {
  readonly batch: number;
  readonly provider_batch_id: string;
  readonly seen_at: number;
  readonly action: Orphan["action"];
}

export function* withOrphans(dialect: Dialect, batches: readonly RawBatch[]): Steps<BatchRow[]> {
  if (batches.length === 0) return [];
  const orphans = yield* all<RawOrphan>(
    `SELECT batch, provider_batch_id, seen_at, action FROM batchwise_orphan
     WHERE ${dialect.among("batch", "bigint")} ORDER BY seen_at, provider_batch_id`,
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
    ...{ providerBatchId: raw.provider_batch_id, verified: Boolean(raw.verified), providerState: raw.provider_state },
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
