// What is booked on each limit of a provider: the reservations are the batches' own figures, added up over an index of
// those that are not released. The ledger's row is what two seals take turns on.

import type { LedgerChanges, LedgerLimits, LedgerRow } from "../../contract/rows.ts";
import type { SqlBound } from "../sql/statement.ts";
import type { Connection } from "./database.ts";

export interface Headroom extends LedgerLimits {
  readonly blocked: boolean;
}

async function openLedger(db: Connection, name: string): Promise<void> {
  await db.run("INSERT INTO batchwise_ledger (name) VALUES ($1) ON CONFLICT DO NOTHING", name);
}

/** Locks the ledger, made where there is none, until the transaction ends: what is left stays left. */
export async function lockedHeadroom(
  db: Connection,
  name: string,
  limits: LedgerLimits,
  now: number,
): Promise<Headroom> {
  await openLedger(db, name);
  const known = await db.get<{ learned_tokens: number | null; blocked_until: number }>(
    "SELECT learned_tokens, blocked_until FROM batchwise_ledger WHERE name = $1 FOR UPDATE",
    name,
  );
  const booked = await db.get<LedgerLimits>(
    `SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(requests), 0) AS requests, count(*) AS batches
     FROM batchwise_batch WHERE ledger = $1 AND release_at > $2`,
    ...[name, now],
  );
  const { tokens = 0, requests = 0, batches = 0 } = booked ?? {};
  return {
    tokens: Math.min(limits.tokens, known?.learned_tokens ?? Number.POSITIVE_INFINITY) - tokens,
    requests: limits.requests - requests,
    batches: limits.batches - batches,
    blocked: (known?.blocked_until ?? 0) > now,
  };
}

const COLUMNS: Readonly<Record<keyof Omit<LedgerChanges, "name">, string>> = {
  learnedTokens: "learned_tokens",
  learnedAt: "learned_at",
  blockedUntil: "blocked_until",
  strikes: "strikes",
  note: "note",
};

/** In the order of their names, so that two transactions never wait for each other. */
export async function writeLedgers(db: Connection, all: readonly LedgerChanges[]): Promise<void> {
  const sorted = [...all].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const { name, ...changes } of sorted) {
    await openLedger(db, name);
    const fields = Object.entries(changes) as [keyof typeof COLUMNS, SqlBound][];
    if (fields.length === 0) continue;
    const sets = fields.map(([field], n) => `${COLUMNS[field]} = $${n + 2}`).join(", ");
    const values = fields.map(([, value]) => value);
    await db.run(`UPDATE batchwise_ledger SET ${sets} WHERE name = $1`, name, ...values);
  }
}

/** Adds up over the index of each ledger's batches, which is in the database's own collation. */
export async function ledgerRows(db: Connection, now: number): Promise<LedgerRow[]> {
  return db.all<LedgerRow>(
    `SELECT l.name, booked.*, l.learned_tokens AS "learnedTokens", l.learned_at AS "learnedAt",
       l.blocked_until AS "blockedUntil", l.strikes, l.note
     FROM batchwise_ledger l, LATERAL (
       SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(requests), 0) AS requests, count(*) AS batches
       FROM batchwise_batch WHERE ledger = l.name COLLATE "default" AND release_at > $1
     ) AS booked ORDER BY l.name`,
    now,
  );
}
