// The reservations on each limit of a provider: the batches' own figures, added up over an index of
// unreleased batches. The learned limit has a row for each ledger. Also the marks.

import type { LedgerChanges, LedgerLimits, MarkChange, MarkRow } from "../../contract/store/ledger-rows.ts";
import type { Headroom } from "../../contract/store/refusal.ts";
import type { Dialect } from "./dialect.ts";
import type { SqlValue } from "./statement.ts";
import { all, get, run, type Steps } from "./steps.ts";

/** The release time of a reservation whose end is unknown. */
export const NEVER: number = Number.MAX_SAFE_INTEGER;

/** Makes the ledger where there is none. */
export function* openLedger(name: string): Steps<void> {
  yield* run("INSERT INTO batchwise_ledger (name) VALUES (?) ON CONFLICT (name) DO NOTHING", name);
}

/**
 * Locks the ledger, if there is one, until the transaction ends, so that the headroom stays valid.
 */
export function* headroom(dialect: Dialect, name: string, limits: LedgerLimits, now: number): Steps<Headroom> {
  const known = yield* get<{ blocked_until: number }>(
    `SELECT blocked_until FROM batchwise_ledger WHERE name = ? ${dialect.lock("batchwise_ledger")}`,
    name,
  );
  const { tokens, requests, batches } = yield* bookedOn(name, now);
  return {
    tokens: limits.tokens - tokens,
    requests: limits.requests - requests,
    batches: limits.batches - batches,
    blocked: (known?.blocked_until ?? 0) > now,
  };
}

export function* bookedOn(ledger: string, now: number): Steps<LedgerLimits> {
  const sums = yield* get<LedgerLimits>(
    `SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(requests), 0) AS requests, count(*) AS batches
     FROM batchwise_batch WHERE ledger = ? AND release_at > ?`,
    ...[ledger, now],
  );
  return { tokens: sums?.tokens ?? 0, requests: sums?.requests ?? 0, batches: sums?.batches ?? 0 };
}

const SETS: Readonly<Record<keyof Omit<LedgerChanges, "name" | "ifBlockedUntil">, string>> = {
  learnedTokens: "learned_tokens = ?",
  learnedAt: "learned_at = ?",
  blockedUntil: "blocked_until = ?",
  blockedAtLeast: "blocked_until = CASE WHEN blocked_until > ? THEN blocked_until ELSE ? END",
  strikes: "strikes = ?",
  note: "note = ?",
  outage: "outage = ?",
};

/**
 * In the order of their names, so that two transactions never wait for each other. Returns which of
 * them, as given, have changed their ledger.
 */
export function* writeLedgers(changes: readonly LedgerChanges[]): Steps<boolean[]> {
  const written = changes.map(() => false);
  const sorted = [...changes.entries()].sort(([, a], [, b]) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  for (const [place, change] of sorted) written[place] = yield* writeLedger(change);
  return written;
}

function* writeLedger({ name, ifBlockedUntil, ...changes }: LedgerChanges): Steps<boolean> {
  yield* openLedger(name);
  const fields = Object.entries(changes) as [keyof typeof SETS, SqlValue][];
  if (fields.length === 0 && ifBlockedUntil === undefined) return true;
  const sets = fields.map(([field]) => SETS[field]).join(", ") || "name = name";
  const [still, ...wanted] = ifBlockedUntil === undefined ? [""] : [" AND blocked_until = ?", ifBlockedUntil];
  const values = fields.flatMap(([field, value]) => (field === "blockedAtLeast" ? [value, value] : [value]));
  const changed = yield* run(`UPDATE batchwise_ledger SET ${sets} WHERE name = ?${still}`, ...values, name, ...wanted);
  if (changed > 0 || changes.blockedUntil === undefined) return changed > 0;
  const present = yield* get<{ blocked_until: number }>(
    "SELECT blocked_until FROM batchwise_ledger WHERE name = ?",
    name,
  );
  return present?.blocked_until === changes.blockedUntil;
}

/** All marks by name, after the changes. */
export function* changeMarks(changes: readonly MarkChange[]): Steps<MarkRow[]> {
  for (const change of changes) yield* changeMark(change);
  const rows = yield* all<MarkRow>("SELECT name, value FROM batchwise_mark");
  return rows.map(({ name, value }) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Compares and sets in one statement. */
function* changeMark({ name, expected, value }: MarkChange): Steps<void> {
  if (expected !== null && value !== null) {
    yield* run("UPDATE batchwise_mark SET value = ? WHERE name = ? AND value = ?", value, name, expected);
  } else if (expected !== null) {
    yield* run("DELETE FROM batchwise_mark WHERE name = ? AND value = ?", name, expected);
  } else if (value !== null) {
    yield* run("INSERT INTO batchwise_mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, value);
  }
}
