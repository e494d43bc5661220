// Prunes old outcomes and requests, and deletes batches and groups that no row refers to. A
// request's row keeps only its id and digest, and the index of ids is not touched, because its
// order is random. Bodies are in arrival order and outcomes in order of recording, so a run visits
// some thousands of them twice and writes each page once. In between an outcome has no body and is
// not visible. Each step runs inside the caller's transaction.

import type { PruneInput, PruneStep } from "../../contract/store/pruning.ts";
import { addToBatches, removeBatches } from "../sql/batches.ts";
import { forgetTombstones, GroupWalk } from "../sql/remains.ts";
import type { Connection } from "./database.ts";
import { sqlite } from "./dialect.ts";

/** Number of outcomes that are processed together and read by one call. */
const WINDOW = 50_000;
const LOOK = 2_000;
/** Outcomes per request of a step: their rows are smaller. */
const MANY = 4;
/** Maximum bytes of bodies deleted in one transaction, unless a single one is larger. */
const MOST_BYTES = 16_000_000;

interface Seen {
  readonly cursor: number;
  readonly seq: number;
  readonly status: string;
  readonly recorded_at: number;
  readonly bytes: number;
  readonly is_pruned: number;
  readonly waits: number;
}

/** The remaining work of a run's window. Only a plan: each step checks its rows again. */
interface Plan {
  readonly of: PruneInput;
  /** The last outcome read, and how many were. */
  last: number;
  seen: number;
  isLooking: boolean;
  /** No outcomes follow this window, or they are too recent. */
  isEnd: boolean;
  /** Requests to prune; once all are found, last arrival first. */
  readonly requests: Seen[];
  /** Cursors of outcomes to delete after them, highest first. */
  readonly cursors: number[];
}

/**
 * The runs of one store. A call that continues an unknown run, for example after a restart, makes a
 * new plan.
 */
export class Pruning {
  #plan: Plan | null = null;
  readonly #groups: GroupWalk = new GroupWalk(sqlite);

  step(db: Connection, input: PruneInput): PruneStep {
    const plan = this.#plan !== null && isOf(this.#plan, input) ? this.#plan : newPlan(input);
    this.#plan = null;
    const [requests, kept] = advance(db, plan, input);
    if (plan.isLooking || plan.requests.length + plan.cursors.length > 0) {
      // Kept only if the call succeeds; a failed call is planned again.
      this.#plan = plan;
      return { requests, batches: 0, kept, next: input.after };
    }
    const batches = db.follow(removeBatches(sqlite, input));
    const isEnd =
      plan.isEnd &&
      batches < input.limit &&
      db.follow(forgetTombstones(input)) < input.limit &&
      db.follow(this.#groups.step());
    return { requests, batches, kept, next: isEnd ? null : plan.last };
  }
}

function newPlan(of: PruneInput): Plan {
  return { of, last: of.after, seen: 0, isLooking: true, isEnd: false, requests: [], cursors: [] };
}

function isOf({ of }: Plan, { before, after, statuses }: PruneInput): boolean {
  return of.before === before && of.after === after && String(of.statuses) === String(statuses);
}

/** Does the next part of the plan. Returns the numbers of requests pruned and kept. */
function advance(db: Connection, plan: Plan, input: PruneInput): readonly [requests: number, kept: number] {
  const kept = plan.isLooking ? look(db, plan, input) : 0;
  if (plan.isLooking) return [0, kept];
  if (plan.requests.length > 0) {
    const requests = removeSome(db, plan.requests, input);
    if (plan.requests.length > 0 || plan.cursors.length > MANY * input.limit) return [requests, kept];
    removeOutcomes(db, plan.cursors, MANY * input.limit);
    return [requests, kept];
  }
  removeOutcomes(db, plan.cursors, MANY * input.limit);
  return [0, kept];
}

/** Adds the next outcomes of the log to the plan. Returns the number of outcomes that must stay. */
function look(db: Connection, plan: Plan, input: PruneInput): number {
  const page = db.all<Seen>(
    `SELECT o.cursor, o.seq, o.status, o.recorded_at, r.bytes, r.pruned IS NOT NULL AS is_pruned,
       EXISTS (SELECT 1 FROM batchwise_delivery d WHERE d.cursor = o.cursor AND d.state = 'waiting') AS waits
     FROM batchwise_outcome o JOIN batchwise_request r ON r.seq = o.seq
     WHERE o.cursor > ? ORDER BY o.cursor LIMIT ?`,
    ...[plan.last, LOOK],
  );
  const chosen = page.filter((seen) => mayGo(seen, input));
  const free = chosen.filter(({ waits }) => waits === 0);
  plan.requests.push(...free);
  for (const { cursor, is_pruned } of page) if (is_pruned === 1) plan.cursors.push(cursor);
  for (const { cursor } of free) plan.cursors.push(cursor);
  plan.last = page.at(-1)?.cursor ?? plan.last;
  plan.seen += page.length;
  plan.isEnd = page.length < LOOK || !page.some(({ recorded_at }) => recorded_at <= input.before);
  plan.isLooking = !plan.isEnd && plan.seen < WINDOW;
  if (!plan.isLooking) {
    plan.requests.sort((a, b) => b.seq - a.seq);
    plan.cursors.sort((a, b) => b - a);
  }
  return chosen.length - free.length;
}

function mayGo({ recorded_at, status, is_pruned }: Seen, { before, statuses }: PruneInput): boolean {
  return is_pruned === 0 && recorded_at <= before && (statuses as readonly string[]).includes(status);
}

/**
 * Takes the next requests off the plan, within the limits of count and bytes. Returns how many were
 * pruned.
 */
function removeSome(db: Connection, requests: Seen[], { limit, now }: PruneInput): number {
  const some: number[] = [];
  let bytes = 0;
  for (let next = requests.at(-1); next !== undefined && some.length < limit; next = requests.at(-1)) {
    bytes += next.bytes;
    if (some.length > 0 && bytes > MOST_BYTES) break;
    some.push(next.cursor);
    requests.pop();
  }
  return some.length === 0 ? 0 : remove(db, some, now);
}

interface Free {
  readonly cursor: number;
  readonly seq: number;
  readonly batch: number | null;
}

/**
 * Prunes the requests of these outcomes, except those retried, pruned or waiting again since the
 * plan.
 */
function remove(db: Connection, some: readonly number[], now: number): number {
  const free = db.all<Free>(
    `SELECT o.cursor, o.seq, o.batch FROM json_each(?) j JOIN batchwise_outcome o ON o.cursor = j.value
     JOIN batchwise_request r ON r.seq = o.seq AND r.pruned IS NULL
     WHERE NOT EXISTS (SELECT 1 FROM batchwise_delivery d WHERE d.cursor = o.cursor AND d.state = 'waiting')`,
    JSON.stringify(some),
  );
  const seqs = JSON.stringify(free.map(({ seq }) => seq));
  const cursors = JSON.stringify(free.map(({ cursor }) => cursor));
  db.run(
    `UPDATE batchwise_request SET pruned = (SELECT digest FROM batchwise_body b WHERE b.seq = batchwise_request.seq),
       lane = 0, priority = 0, rank = 0, tenant = '', job = '', created_at = ?, not_before = 0, deadline_at = NULL, bytes = 0,
       tokens = 0, attempts = 0, generation = 0 ${AMONG("seq")}`,
    now,
    seqs,
  );
  db.run(`DELETE FROM batchwise_body ${AMONG("seq")}`, seqs);
  const left = db.all<{ batch: number }>(`DELETE FROM batchwise_history ${AMONG("seq")} RETURNING batch`, seqs);
  db.follow(addToBatches(sqlite, "gone", [...free, ...left]));
  for (const table of ["delivery", "delivery_log"]) {
    db.run(`DELETE FROM batchwise_${table} ${AMONG("cursor")}`, cursors);
  }
  return free.length;
}

const AMONG = (column: string): string => `WHERE ${column} IN (SELECT value FROM json_each(?))`;

function removeOutcomes(db: Connection, cursors: number[], limit: number): void {
  const some = JSON.stringify(cursors.splice(-limit));
  db.run(
    `DELETE FROM batchwise_outcome WHERE cursor IN (
       SELECT o.cursor FROM json_each(?) j JOIN batchwise_outcome o ON o.cursor = j.value
       JOIN batchwise_request r ON r.seq = o.seq WHERE r.pruned IS NOT NULL
     )`,
    some,
  );
}
