// What is booked on each limit of a provider: the reservations are the batches' own figures, added up over an index of
// those that are not released. What was learned has a row for each ledger.

import type { LedgerChanges, LedgerLimits, LedgerRow } from "../../contract/rows.ts";
import type { Connection, SqliteValue } from "./database.ts";

export interface Headroom extends LedgerLimits {
  readonly blocked: boolean;
}

/** Makes the ledger where there is none. */
export function openLedger(db: Connection, name: string): void {
  db.run("INSERT OR IGNORE INTO batchwise_ledger (name) VALUES (?)", name);
}

export function headroom(db: Connection, name: string, limits: LedgerLimits, now: number): Headroom {
  const known = db.get<{ learned_tokens: number | null; blocked_until: number }>(
    "SELECT learned_tokens, blocked_until FROM batchwise_ledger WHERE name = ?",
    name,
  );
  const booked = sums(db, name, now);
  return {
    tokens: Math.min(limits.tokens, known?.learned_tokens ?? Number.POSITIVE_INFINITY) - booked.tokens,
    requests: limits.requests - booked.requests,
    batches: limits.batches - booked.batches,
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

export function writeLedger(db: Connection, { name, ...changes }: LedgerChanges): void {
  openLedger(db, name);
  for (const [field, value] of Object.entries(changes) as [keyof typeof COLUMNS, SqliteValue][]) {
    db.run(`UPDATE batchwise_ledger SET ${COLUMNS[field]} = ? WHERE name = ?`, value, name);
  }
}

interface LearnedRow {
  readonly name: string;
  readonly learned_tokens: number | null;
  readonly learned_at: number | null;
  readonly blocked_until: number;
  readonly strikes: number;
  readonly note: string | null;
}

export function ledgerRows(db: Connection, now: number): LedgerRow[] {
  return db.all<LearnedRow>("SELECT * FROM batchwise_ledger ORDER BY name").map((row) => ({
    name: row.name,
    ...sums(db, row.name, now),
    learnedTokens: row.learned_tokens,
    learnedAt: row.learned_at,
    blockedUntil: row.blocked_until,
    strikes: row.strikes,
    note: row.note,
  }));
}

function sums(db: Connection, ledger: string, now: number): LedgerLimits {
  const row = db.get<LedgerLimits>(
    `SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(requests), 0) AS requests, count(*) AS batches
     FROM batchwise_batch WHERE ledger = ? AND release_at > ?`,
    ...[ledger, now],
  );
  return { tokens: row?.tokens ?? 0, requests: row?.requests ?? 0, batches: row?.batches ?? 0 };
}
