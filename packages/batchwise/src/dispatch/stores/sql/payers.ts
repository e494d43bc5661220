// The limits, spending and reservations of payers: a row for each. A batch keeps its payers and its
// reservation with each until its last member is settled. Guarantees that several rows are locked
// in the order of their names, and that one transaction at a time inserts rows, so that none
// deadlock.

import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { PayerChange, PayerRow } from "../../contract/store/payers.ts";
import type { Dialect } from "./dialect.ts";
import { NEVER } from "./ledgers.ts";
import { all, get, run, runAll, type Steps } from "./steps.ts";

/** A batch's own part: both null and 0 without payers. */
export interface Paid {
  readonly id: number;
  readonly requests: number;
  /** JSON of their names. */
  readonly payers: string | null;
  readonly reserved: number;
}

/** Locks the payers until the transaction ends. Returns what is left of the least of them. */
export function* moneyLeft(dialect: Dialect, names: readonly string[]): Steps<number> {
  const rows = yield* all<{ room: number }>(
    `SELECT most - spent - reserved AS room FROM batchwise_payer WHERE ${dialect.among("name", "text")}
     ORDER BY name ${dialect.lock("batchwise_payer")}`,
    names,
  );
  return rows.length < names.length ? 0 : Math.min(...rows.map(({ room }) => room));
}

/** Reserves for the members of a new batch. Returns the sum of their prices. */
export function* reserve(dialect: Dialect, batch: number, names: readonly string[]): Steps<number> {
  const sum = yield* get<{ price: number }>(
    `SELECT coalesce(sum(r.price), 0) AS price FROM batchwise_member m JOIN batchwise_request r ON r.seq = m.seq
     WHERE m.batch = ?`,
    batch,
  );
  const price = sum?.price ?? 0;
  const payers = JSON.stringify(names);
  yield* run("UPDATE batchwise_batch SET payers = ?, reserved = ? WHERE id = ?", payers, price, batch);
  yield* run(`UPDATE batchwise_payer SET reserved = reserved + ? WHERE ${dialect.among("name", "text")}`, price, names);
  return price;
}

/** Books what these settled members cost, and releases the reservation with the last one. */
export function* charge(
  dialect: Dialect,
  { payers, requests, reserved }: Paid,
  settled: readonly Pick<Settlement, "price">[],
  remaining: number,
): Steps<void> {
  if (payers === null || settled.length === 0) return;
  const share = Math.ceil(reserved / Math.max(1, requests));
  const spent = settled.reduce((sum, { price = 0 }) => sum + (price === "share" ? share : price), 0);
  const released = remaining === 0 ? reserved : 0;
  if (spent === 0 && released === 0) return;
  const names = JSON.parse(payers) as string[];
  if (names.length > 1) yield* lock(dialect, names);
  const sets = "spent = spent + ?, reserved = reserved - ?";
  yield* run(`UPDATE batchwise_payer SET ${sets} WHERE ${dialect.among("name", "text")}`, spent, released, names);
}

/** Locks the existing payers, in the order of the database, until the transaction ends. */
function lock(dialect: Dialect, names: readonly string[]): Steps<unknown> {
  return all(
    `SELECT name FROM batchwise_payer WHERE ${dialect.among("name", "text")}
     ORDER BY name ${dialect.lock("batchwise_payer")}`,
    names,
  );
}

export function* changePayers(
  dialect: Dialect,
  changes: readonly PayerChange[],
  names: readonly string[],
): Steps<PayerRow[]> {
  const changed = changes.map(({ name }) => name);
  if (changes.length > 0) {
    // One transaction at a time inserts rows: rows that another one is inserting cannot be locked
    // in order.
    yield* runAll(dialect.takeTurns(" payers"));
    yield* lock(dialect, changed);
  }
  for (const { name, limit, spent } of changes) {
    yield* run(
      `INSERT INTO batchwise_payer (name, most, spent) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET most = excluded.most`,
      ...[name, Math.min(limit, NEVER), spent],
    );
  }
  const wanted = [...new Set([...names, ...changed])];
  const rows = yield* all<PayerRow>(
    `SELECT name, most AS "limit", spent, reserved FROM batchwise_payer WHERE ${dialect.among("name", "text")}`,
    wanted,
  );
  return rows.map(({ limit, ...row }) => ({ ...row, limit: limit >= NEVER ? Number.POSITIVE_INFINITY : limit }));
}
