// Batches as rows: reading them, and writing them. Guarantees the checks of `transition` inside the
// caller's transaction, also against other processes at the same moment; does not know their
// members.

import { BATCH_FIELDS } from "../../contract/store/batch-fields.ts";
import type { LeaseInput, TransitionResult } from "../../contract/store/calls.ts";
import type { Probe } from "../../contract/store/probe.ts";
import type { PruneInput } from "../../contract/store/pruning.ts";
import type { BatchChanges, BatchQuery, BatchRow } from "../../contract/store/rows.ts";
import type { BatchState, Orphan } from "../../contract/types.ts";
import type { Dialect } from "./dialect.ts";
import { NEVER, writeLedgers } from "./ledgers.ts";
import type { Paid } from "./payers.ts";
import { atMost, type SqlBound } from "./statement.ts";
import { all, count, get, run, runAll, type Steps } from "./steps.ts";

/**
 * Earlier versions wrote other texts than ids into `provider_file_id`: a process of such a version
 * that still runs finds no column of that name, and sends nothing.
 */
function columnOf(field: string): string {
  if (field === "providerFileId") return "file_id";
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Columns for a SELECT or RETURNING: a batch's id and its fields, under the contract's names. */
const BATCH: string = [
  "id",
  "payers",
  "reserved",
  ...Object.values(BATCH_FIELDS)
    .flat()
    .map((field) => `${columnOf(field)} AS "${field}"`),
].join(", ");

type Flag = boolean | number;

/** A row of the table. Drivers give flags in two ways. */
export interface RawBatch extends Paid, Omit<BatchRow, "orphans" | "verified" | "inline"> {
  readonly verified: Flag;
  readonly inline: Flag | null;
}

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
  const sql = `SELECT ${BATCH} FROM batchwise_batch ${where} ORDER BY ${newest} DESC, key DESC LIMIT ?`;
  return yield* withOrphans(dialect, yield* all<RawBatch>(sql, ...values, atMost(query.limit)));
}

/** Locks the batch until the transaction ends, if `fence` is still the present one. */
export function heldBatch(dialect: Dialect, key: string, fence: number): Steps<RawBatch | undefined> {
  return get<RawBatch>(
    `SELECT ${BATCH} FROM batchwise_batch WHERE key = ? AND fence = ? ${dialect.lock("batchwise_batch")}`,
    key,
    fence,
  );
}

/** Two processes never take the same batch, and neither waits for the other. */
export function* lease(dialect: Dialect, input: LeaseInput): Steps<BatchRow[]> {
  const { owner, now, freeAt = now, leaseUntil, accounts, limit, keys } = input;
  const isDue = "state <> 'done' AND state <> 'quarantined' AND next_at <= ?";
  const which = keys === undefined ? isDue : dialect.among("key", "text");
  const taken = yield* all<RawBatch>(
    `UPDATE batchwise_batch SET lease_owner = ?, lease_until = ?, fence = fence + 1
     WHERE id IN (
       SELECT id FROM batchwise_batch WHERE ${which} AND lease_until <= ? AND ${dialect.among("account", "text")}
       ORDER BY next_at, key LIMIT ? ${dialect.lockFree("batchwise_batch")}
     ) RETURNING ${BATCH}`,
    ...[owner, leaseUntil, keys ?? now, freeAt, accounts, atMost(limit)],
  );
  taken.sort((a, b) => a.nextAt - b.nextAt || (a.key < b.key ? -1 : 1));
  return yield* withOrphans(dialect, taken);
}

/**
 * Deletes ended batches whose members have all been deleted. Returns their number. Members may be
 * deleted before their batch has ended, so the index has both columns.
 */
export function* removeBatches(dialect: Dialect, { batchesBefore, limit, now }: PruneInput): Steps<number> {
  const over = yield* all<{ id: number }>(
    `DELETE FROM batchwise_batch WHERE id IN (
       SELECT id FROM batchwise_batch WHERE state = 'done' AND gone >= requests AND updated_at <= ?
         AND release_at <= ? AND lease_until <= ? LIMIT ? ${dialect.lockFree("batchwise_batch")}
     ) RETURNING id`,
    ...[batchesBefore, now, now, atMost(limit)],
  );
  const ids = over.map(({ id }) => id);
  if (ids.length > 0) yield* run(`DELETE FROM batchwise_orphan WHERE ${dialect.among("batch", "bigint")}`, ids);
  return ids.length;
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
  const written = yield* writeLedgers(ledgers);
  if (ends) yield* count("done", 1);
  const batch = yield* readBatch(dialect, key);
  return batch === undefined ? { ok: false, reason: "fence" } : { ok: true, batch, written };
}

/**
 * Checks that read other batches of the account take turns, so that what they read holds until they
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

function* write(id: number, fields: Readonly<Record<string, SqlBound | undefined>>, now: number): Steps<void> {
  const names = Object.keys(fields);
  const sets = names.map((name) => `${columnOf(name)} = ?, `).join("");
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

function* withOrphans(dialect: Dialect, batches: readonly RawBatch[]): Steps<BatchRow[]> {
  if (batches.length === 0) return [];
  const orphans = yield* all<Orphan & { readonly batch: number }>(
    `SELECT batch, provider_batch_id AS "providerBatchId", seen_at AS "seenAt", action FROM batchwise_orphan
     WHERE ${dialect.among("batch", "bigint")} ORDER BY seen_at, provider_batch_id`,
    batches.map(({ id }) => id),
  );
  return batches.map(({ id, payers: _payers, reserved: _reserved, ...raw }) => ({
    ...raw,
    ...{ verified: Boolean(raw.verified), inline: raw.inline === null ? null : Boolean(raw.inline) },
    orphans: orphans.flatMap(({ batch, ...orphan }) => (batch === id ? [orphan] : [])),
  }));
}
