// Reads the outcome log and its delivery log as the contract's rows, and ends requests.

import type {
  DeliveryLogRow,
  DeliveryRow,
  DeliveryState,
  OutcomeQuery,
  OutcomeRow,
} from "../../contract/store/outcome-rows.ts";
import type { Dialect, Ending } from "./dialect.ts";
import { atMost } from "./statement.ts";
import { all, runAll, type Steps } from "./steps.ts";
import { UsageAdditions } from "./usage.ts";

type RawOutcome = Omit<OutcomeRow, "deliveries">;

const OUTCOME = `
  SELECT o.cursor, r.id, o.status, o.payload, o.attempts, r.generation, r.tenant, r.job, o.code, t.metadata,
    o.recorded_at AS "recordedAt", e.key AS "batchKey"
  FROM batchwise_outcome o JOIN batchwise_request r ON r.seq = o.seq JOIN batchwise_body t ON t.seq = o.seq
  LEFT JOIN batchwise_batch e ON e.id = o.batch`;

export function* readOutcomes(dialect: Dialect, query: OutcomeQuery): Steps<OutcomeRow[]> {
  const raws = "after" in query ? yield* outcomesAfter(dialect, query) : yield* byIds(dialect, query.ids);
  if (!query.deliveries) return raws.map((raw) => ({ ...raw, deliveries: null }));
  const cursors = raws.map(({ cursor }) => cursor);
  const deliveries = yield* deliveryStates(dialect, cursors);
  return raws.map((raw) => ({ ...raw, deliveries: deliveries.get(raw.cursor) ?? [] }));
}

function outcomesAfter(dialect: Dialect, query: Extract<OutcomeQuery, { after: number }>): Steps<RawOutcome[]> {
  const { after, limit, dead, job } = query;
  if (dead !== undefined) {
    return all<RawOutcome>(
      `${OUTCOME} WHERE o.cursor IN (
         SELECT cursor FROM batchwise_delivery WHERE sink = ? AND state = 'dead' AND cursor > ? ORDER BY cursor LIMIT ?
       ) ORDER BY o.cursor`,
      ...[dead, after, atMost(limit)],
    );
  }
  if (job !== undefined) {
    const its = `o.job IS NOT NULL AND ${dialect.ofOne("o.job", "o.cursor", "?")}`;
    return all<RawOutcome>(`${OUTCOME} WHERE ${its} LIMIT ?`, job, after, job, atMost(limit));
  }
  return all<RawOutcome>(`${OUTCOME} WHERE o.cursor > ? ORDER BY o.cursor LIMIT ?`, after, atMost(limit));
}

function* byIds(dialect: Dialect, ids: readonly string[]): Steps<RawOutcome[]> {
  const rows = yield* all<RawOutcome>(`${OUTCOME} WHERE ${dialect.among("r.id", "text")}`, ids);
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => known.get(id) ?? []);
}

/** A delivery and the number of its attempt. */
export interface Taken {
  readonly cursor: number;
  readonly sink: string;
  readonly attempt: number;
}

/** The taken deliveries with their outcomes, without logs. */
export function* withOutcomes(dialect: Dialect, taken: readonly Taken[]): Steps<DeliveryRow[]> {
  if (taken.length === 0) return [];
  const cursors = [...new Set(taken.map(({ cursor }) => cursor))];
  const raws = yield* all<RawOutcome>(`${OUTCOME} WHERE ${dialect.among("o.cursor", "bigint")}`, cursors);
  const outcomes = new Map(raws.map((raw) => [raw.cursor, { ...raw, deliveries: null }]));
  return taken.flatMap(({ cursor, sink, attempt }) => {
    const outcome = outcomes.get(cursor);
    return outcome === undefined ? [] : { sink, attempt, outcome };
  });
}

export interface RawDelivery extends Taken {
  readonly state: DeliveryState["state"];
  readonly next_at: number;
}

/** The delivery logs of these outcomes, with names of sinks. */
function* deliveryStates(dialect: Dialect, cursors: readonly number[]): Steps<Map<number, DeliveryState[]>> {
  const among = dialect.among("cursor", "bigint");
  const rows = yield* all<RawDelivery>(
    `SELECT cursor, sink, state, attempt, next_at FROM batchwise_delivery WHERE ${among}`,
    cursors,
  );
  const logs = yield* all<Taken & DeliveryLogRow>(
    `SELECT cursor, sink, attempt, at, status_code AS "statusCode", error FROM batchwise_delivery_log WHERE ${among}
     ORDER BY at, attempt`,
    cursors,
  );
  const byDelivery = new Map<string, DeliveryLogRow[]>(rows.map((row) => [keyOf(row), []]));
  for (const { cursor, sink, ...log } of logs) byDelivery.get(keyOf({ cursor, sink }))?.push(log);
  const states = new Map<number, DeliveryState[]>(cursors.map((cursor) => [cursor, []]));
  for (const row of rows.sort((a, b) => (a.sink < b.sink ? -1 : 1))) {
    const { sink, state, attempt, next_at } = row;
    states.get(row.cursor)?.push({ sink, state, attempt, nextAt: next_at, log: byDelivery.get(keyOf(row)) ?? [] });
  }
  return states;
}

export function keyOf({ cursor, sink }: Pick<Taken, "cursor" | "sink">): string {
  return `${cursor} ${sink}`;
}

/**
 * Ends requests; call it last in a transaction. `batch`: the one in which they end; null if they
 * waited. Writes the sums of usage first: a wait for a row of these blocks no other transaction.
 */
export function* end(
  dialect: Dialect,
  endings: readonly Ending[],
  batch: number | null,
  sinks: readonly string[],
  now: number,
): Steps<void> {
  if (endings.length === 0) return;
  const sums = new UsageAdditions();
  for (const { status, usage, ...owner } of endings) sums.ended(owner, status, usage);
  yield* runAll(dialect.addUsage(sums));
  yield* dialect.record(endings, batch, sinks, now);
}
