// How Postgres reads pages of the largest batch, and of many requests: what a call reads of the
// tables grows with its page and not with what lies behind it. Counted in rows, not in time.

import { postgresStore } from "batchwise/dispatch/postgres";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RequestMatch } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";
import { type CostCounter, countingPool } from "../stores/counting-pool.ts";

const MEMBERS = 50_000;
const ENDED = 20_000;
const WAITING = 20_000;
const FAILED = 20;
const { lane } = sealInput("");
const PAGE = 60;

/**
 * A batch of all members; those that ended, the last of them failed, of a job each ten; those that
 * wait, all too late.
 */
async function fill(db: Pool): Promise<void> {
  const all = ENDED + MEMBERS + WAITING;
  await db.query(`INSERT INTO batchwise_lane (name) VALUES ('${lane}')`);
  await db.query(
    `INSERT INTO batchwise_request (id, lane, priority, rank, tenant, created_at, bytes, tokens, deadline_at, job)
     SELECT 'r' || n, 1, 0, n, '', n, 9, 1, 5, 'j' || n * 10 / ${all} FROM generate_series(1, ${all}) n`,
  );
  await db.query(`INSERT INTO batchwise_body SELECT n, 'd', NULL, '{}' FROM generate_series(1, ${all}) n`);
  await db.query(
    `INSERT INTO batchwise_batch (key, lane, account, ledger, state, requests, remaining, bytes, tokens, created_at,
       updated_at, next_at, lease_until, fence, release_at)
     SELECT key, '${lane}', 'a', 'a', 'running', ${MEMBERS}, ${MEMBERS}, 1, 1, 1, 1, 1, 0, 1, 1
     FROM unnest(ARRAY['over', 'open']) AS key`,
  );
  await db.query(
    `INSERT INTO batchwise_outcome (cursor, seq, status, attempts, recorded_at, payload, batch, job, code)
     SELECT n, n, CASE WHEN n > ${ENDED - FAILED} THEN 'failed' ELSE 'succeeded' END, 1, 1, '{}', 1,
       'j' || n * 10 / ${all}, CASE WHEN n > ${ENDED - FAILED} THEN 'bad' END FROM generate_series(1, ${ENDED}) n`,
  );
  await db.query(`UPDATE batchwise_log SET cursor = ${ENDED}`);
  await db.query(
    `INSERT INTO batchwise_member (batch, ord, seq) SELECT 2, n - 1, n + ${ENDED} FROM generate_series(1, ${MEMBERS}) n`,
  );
  await db.query(
    `INSERT INTO batchwise_ready (seq, lane, priority, rank, bytes, tokens, not_before, deadline_at, created_at)
     SELECT n, 1, 0, n, 9, 1, 0, 5, n FROM generate_series(${ENDED + MEMBERS + 1}, ${all}) n`,
  );
}

/** The statistics stay those of empty tables until the next ANALYZE. */
async function forgetGrowth(db: Pool): Promise<void> {
  await db.query("ANALYZE");
  const { rows } = await db.query<{ name: string }>(
    "SELECT oid::regclass::text AS name FROM pg_class WHERE relname LIKE 'batchwise%' AND relkind = 'r'",
  );
  for (const { name } of rows) await db.query(`ALTER TABLE ${name} SET (autovacuum_enabled = off)`);
}

const find = (match: RequestMatch) => async (store: Store) => (await store.find({ match, after: 0, limit: PAGE })).rows;
const page = (fromOrd: number, more: object) => (store: Store) =>
  store.requests({ batchKey: "open", fromOrd, limit: PAGE, ...more });

type Call = readonly [name: string, rows: number, call: (store: Store) => Promise<readonly unknown[]>];

/** Of these the tables have a few rows for each of the page. */
const PAGES: readonly Call[] = [
  ["members from the first, with bodies", PAGE, page(0, { bodies: true })],
  ["members from the middle, with bodies", PAGE, page(MEMBERS / 2, { bodies: true })],
  ["members near the end, with their history", PAGE, page(MEMBERS - PAGE, { history: true })],
  ["outcomes from the first", PAGE, (store) => store.outcomes({ after: 0, limit: PAGE })],
  ["outcomes near the end", PAGE, (store) => store.outcomes({ after: ENDED - PAGE, limit: PAGE })],
  ["outcomes of a job, the first", PAGE, (store) => store.outcomes({ after: 0, limit: PAGE, job: "j1" })],
  ["outcomes of a job, late ones", PAGE, (store) => store.outcomes({ after: ENDED - 1_000, limit: PAGE, job: "j2" })],
];

/**
 * The planner must know how many these are, as the server's own ANALYZE tells it within a minute.
 */
const CHANGES: readonly Call[] = [
  [
    "what expires, of many with one deadline",
    PAGE,
    (store) => store.amend({ kind: "expire", limit: PAGE, payload: "{}", code: "c" }, [], 9),
  ],
  [
    "what moves, of many with one deadline",
    PAGE,
    (store) => store.amend({ kind: "move", lane, to: `${lane}-2`, before: 9, limit: PAGE }, [], 9),
  ],
];

/** A call looks at a thousand. */
const FINDS: readonly Call[] = [
  ["failed requests", FAILED, find({ states: ["failed"] })],
  ["waiting requests", PAGE, find({ states: ["ready"] })],
  ["requests in batches", PAGE, find({ states: ["claimed"] })],
  ["requests that wait or failed", PAGE, find({ states: ["ready", "failed"] })],
  ["requests that ended with a code", FAILED, find({ code: "bad" })],
  ["requests of a job that is late in the table", PAGE, find({ job: "j9" })],
];

/** Without statistics, Postgres reads all of the batch. */
const OF_A_BATCH: Call = ["requests that ended in a batch", PAGE, find({ batchKey: "over" })];

describe(`a Postgres server with a batch of ${MEMBERS}`, () => {
  const pool = postgresPlace().then(poolAt);
  let counter: CostCounter;
  let store: Store;

  beforeAll(async () => {
    const db = await pool;
    const counted = countingPool(db);
    counter = counted.counter;
    store = postgresStore({ pool: counted.pool });
    await store.probe(1, NOW);
    await forgetGrowth(db);
    await fill(db);
  });
  afterAll(async () => (await pool).end());

  describe.each(["that takes all tables for empty", "after ANALYZE"])("%s", (when) => {
    beforeAll(async () => {
      if (when === "after ANALYZE") await (await pool).query("ANALYZE");
    });

    test.each(when === "after ANALYZE" ? [...PAGES, ...CHANGES] : PAGES)(
      "reads few rows for a page of %s",
      async (_name, rows, call) => {
        let given = 0;
        const { read } = await counter(async () => {
          given = (await call(store)).length;
        });
        expect(given).toBe(rows);
        expect(read).toBeLessThan(20 * PAGE);
      },
    );

    test.each(when === "after ANALYZE" ? [...FINDS, OF_A_BATCH] : FINDS)(
      "finds %s with one look",
      async (_name, rows, call) => {
        let given = 0;
        const { read } = await counter(async () => {
          given = (await call(store)).length;
        });
        expect(given).toBe(rows);
        expect(read).toBeLessThan(10_000);
      },
    );
  });

  test("counts the waiting requests of a lane without a walk through it", async () => {
    const { read } = await counter(async () => {
      const lanes = (await store.probe(WAITING / 2, 9)).lanes.filter((one) => one.lane === lane);
      expect(lanes).toMatchObject([{ ready: WAITING / 2, bytes: (WAITING / 2) * 9, tokens: WAITING / 2 }]);
    });
    expect(read).toBeLessThan(2_000);
  });
});
