// Lanes of split batches' parts on a real Postgres server: they go with the last of their requests,
// and none goes while another transaction is about to use it, wherever the two meet.

import { type PostgresPool, postgresStore } from "batchwise/dispatch/postgres";
import type pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { SettleResult } from "../../../../src/dispatch/contract/store/calls.ts";
import type { PostgresClient } from "../../../../src/dispatch/stores/postgres/database.ts";
import { comeAndGo, pruneAll } from "../../../dispatch/stores/places.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";

const GROUP = "/v1/embeddings b.0 m";
const LANE = sealInput("").lane;

async function place(): Promise<pg.Pool> {
  const pool = poolAt(await postgresPlace());
  onTestFinished(() => pool.end());
  return pool;
}

async function lanesIn(pool: pg.Pool): Promise<{ id: string; name: string }[]> {
  return (await pool.query("SELECT id, name FROM batchwise_lane ORDER BY id DESC")).rows;
}

function signal(): { readonly promise: Promise<void>; give(): void } {
  let give = (): void => {};
  const promise = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { promise, give };
}

/**
 * A pool whose clients stop before the first statement that has this text, until they are released.
 */
function stopping(pool: pg.Pool, before: string) {
  const reached = signal();
  const gone = signal();
  onTestFinished(gone.give);
  const wrapped = (client: pg.PoolClient): PostgresClient => ({
    query: async (query) => {
      if (query.text.includes(before)) {
        reached.give();
        await gone.promise;
      }
      return client.query(query);
    },
    on: (event, listener) => client.on(event, listener),
    off: (event, listener) => client.off(event, listener),
    release: (destroy) => client.release(destroy),
  });
  const stopped: PostgresPool = {
    connect: (done) => pool.connect((error, client) => done(error, client === undefined ? undefined : wrapped(client))),
  };
  return { pool: stopped, reached: reached.promise, letGo: gone.give };
}

/** The part's lane is there and free; a batch of two requests is about to be sent back to it. */
async function freeGroup(pool: pg.Pool): Promise<(store: ReturnType<typeof postgresStore>) => Promise<SettleResult>> {
  const store = postgresStore({ pool });
  await store.enqueue(requests(2, "r"), NOW);
  await store.seal(sealInput("b"));
  await pool.query("INSERT INTO batchwise_lane (id, name) VALUES (-1000, $1)", [GROUP]);
  const items = [0, 1].map(
    (ord) => ({ ord, kind: "requeue", code: "c", charged: false, notBefore: NOW, lane: GROUP }) as const,
  );
  const input = { key: "b", fence: 1, items, sinks: [], cancelledPayload: "{}", cancelledCode: "c", now: NOW };
  return (by) => by.settle(input);
}

/** Both requests wait in the part's lane, and can be claimed there. */
async function expectInGroup(pool: pg.Pool): Promise<void> {
  const store = postgresStore({ pool });
  const rows = await store.requests({ ids: ["r0", "r1"] });
  expect(rows.map(({ state, lane }) => [state, lane])).toEqual([
    ["ready", GROUP],
    ["ready", GROUP],
  ]);
  expect(await store.seal({ ...sealInput("part"), lane: GROUP })).toMatchObject({ ok: true, batch: { requests: 2 } });
}

test("lanes of halves go with the last of their requests, and the lane that requests are enqueued in stays", async () => {
  const pool = await place();
  const store = postgresStore({ pool });
  await comeAndGo(store);
  expect(await lanesIn(pool)).toHaveLength(51);
  await pruneAll(store);
  expect((await lanesIn(pool)).map(({ name }) => name)).toEqual([LANE]);
});

test("more of them than one call looks at go in one run", async () => {
  const pool = await place();
  const store = postgresStore({ pool });
  await store.enqueue(requests(1, "r"), NOW);
  await pool.query("INSERT INTO batchwise_lane (id, name) SELECT -n, 'group ' || n FROM generate_series(1000, 4500) n");
  await pool.query("UPDATE batchwise_request SET lane = -2000");
  await pruneAll(store);
  expect((await lanesIn(pool)).map(({ name }) => name)).toEqual([LANE, "group 2000"]);
});

test("a prune passes over a group that a settle is using", async () => {
  const pool = await place();
  const settle = await freeGroup(pool);
  const settling = stopping(pool, "INSERT INTO batchwise_history");
  const settled = settle(postgresStore({ pool: settling.pool }));
  await settling.reached;
  await pruneAll(postgresStore({ pool }));
  settling.letGo();
  expect(await settled).toMatchObject({ ok: true, applied: 2 });
  await expectInGroup(pool);
});

test("a settle waits for a prune that deletes its group, and creates it again", async () => {
  const pool = await place();
  const settle = await freeGroup(pool);
  const pruning = stopping(pool, "DELETE FROM batchwise_lane");
  const pruned = pruneAll(postgresStore({ pool: pruning.pool }));
  await pruning.reached;
  const settled = settle(postgresStore({ pool }));
  const waiting = `SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR KEY SHARE%'`;
  await vi.waitFor(async () => expect((await pool.query(waiting)).rowCount).toBe(1), { timeout: 5_000 });
  pruning.letGo();
  await pruned;
  expect(await settled).toMatchObject({ ok: true, applied: 2 });
  await expectInGroup(pool);
});

test("a group stays if requests came into it while a prune was about to remove it", async () => {
  const pool = await place();
  const settle = await freeGroup(pool);
  const pruning = stopping(pool, "FOR UPDATE OF batchwise_lane SKIP LOCKED");
  const pruned = pruneAll(postgresStore({ pool: pruning.pool }));
  await pruning.reached;
  expect(await settle(postgresStore({ pool }))).toMatchObject({ ok: true, applied: 2 });
  pruning.letGo();
  await pruned;
  await expectInGroup(pool);
});
