// What a call costs a server when very much is over or waits: counted in rows and commands, not in
// time.

import { postgresStore } from "batchwise/dispatch/postgres";
import { redisStore } from "batchwise/dispatch/redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace, startOwnRedis } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";
import { clientAt } from "../../services/redis.ts";
import { type CostCounter, countingPool } from "./counting-pool.ts";

const CROWD = 20_000;
const FAR = NOW + 1e9;
const LIMIT = 16;

const CALLS: readonly (readonly [string, (store: Store) => Promise<unknown>])[] = [
  ["live batches", (store) => store.batches({ account: "a", states: ["submitting", "unknown"], limit: 100 })],
  [
    "due deliveries",
    (store) =>
      store.deliveries({ now: NOW, reports: [], take: { sinks: ["hook"], limit: LIMIT, leaseUntil: NOW + 60_000 } }),
  ],
  ["a probe", (store) => store.probe(50_000, NOW)],
  ["a seal", (store) => store.seal({ ...sealInput("another"), maxRequests: 5 })],
];

/** Some live work on the store: what has to be found among the crowd. */
async function fill(store: Store): Promise<void> {
  await store.enqueue(requests(40, "r"), NOW);
  const result = await store.seal({ ...sealInput("first"), maxRequests: 20 });
  if (!result.ok) throw new Error(result.reason);
  const items = Array.from({ length: 20 }, (_, ord) => ({
    ...({ ord, kind: "final", status: "succeeded", payload: "{}", code: null, usage: null, charged: true } as const),
  }));
  await store.settle({
    key: "first",
    fence: 1,
    items,
    sinks: ["hook"],
    cancelledPayload: "{}",
    cancelledCode: "c",
    now: NOW,
  });
}

describe(`a Postgres server with ${CROWD} each of done batches, deliveries that wait and requests that wait`, () => {
  const pool = postgresPlace().then(poolAt);
  let counter: CostCounter;
  let store: Store;

  beforeAll(async () => {
    const db = await pool;
    const counted = countingPool(db);
    counter = counted.counter;
    store = postgresStore({ pool: counted.pool });
    await fill(store);
    await db.query(
      `INSERT INTO batchwise_batch (key, lane, account, ledger, state, requests, remaining, bytes, tokens, created_at,
         updated_at, next_at, lease_until, fence, release_at)
       SELECT 'done' || n, 'l', 'a', 'b', 'done', 1, 0, 1, 1, n, n, n, 0, 1, n FROM generate_series(1, ${CROWD}) n`,
    );
    await db.query(
      `INSERT INTO batchwise_delivery (cursor, sink, attempt, next_at)
       SELECT -n, 'hook', 1, 0 FROM generate_series(1, ${CROWD}) n`,
    );
    await db.query(
      `INSERT INTO batchwise_ready
       SELECT -n, (SELECT min(lane) FROM batchwise_request), 9, 0, 1, 1, ${FAR}, NULL, 1, TRUE
       FROM generate_series(1, ${CROWD}) n`,
    );
    await db.query("ANALYZE");
    // The planner's figures are of another time: it takes all of these for due.
    await db.query(`UPDATE batchwise_delivery SET next_at = ${FAR} WHERE cursor < 0`);
  });
  afterAll(async () => (await pool).end());

  test.each(CALLS)("reads few rows for %s", async (_name, call) => {
    const { statements, read } = await counter(() => call(store));
    expect(statements).toBeGreaterThan(0);
    expect(read).toBeLessThan(1_000);
  });
});

describe("a Redis server with thousands of deliveries and requests that wait", () => {
  /** Commands that the server has run by now, those of scripts included. */
  const commands = async (client: ReturnType<typeof clientAt>): Promise<number> => {
    const text = await client.info("commandstats");
    return [...text.matchAll(/calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
  };

  test("runs few commands to take some, and walks through none of the requests", async () => {
    const { port, prefix } = await (await startOwnRedis()).place();
    const client = clientAt(port);
    const store = redisStore({ client, prefix });
    const crowd = 2_000;
    await store.enqueue(requests(crowd, "w"), NOW);
    const result = await store.seal(sealInput("waiting"));
    expect(result.ok).toBe(true);
    const items = Array.from({ length: crowd }, (_, ord) =>
      ord < crowd / 2
        ? ({ ord, kind: "final", status: "succeeded", payload: "{}", code: null, usage: null, charged: true } as const)
        : ({ ord, kind: "requeue", code: "c", charged: true, notBefore: FAR, lane: sealInput("").lane } as const),
    );
    await store.settle({
      key: "waiting",
      fence: 1,
      items,
      sinks: ["hook"],
      cancelledPayload: "{}",
      cancelledCode: "c",
      now: NOW,
    });
    const take = { sinks: ["hook"], limit: crowd, leaseUntil: FAR };
    expect(await store.deliveries({ now: NOW, reports: [], take })).toHaveLength(crowd / 2);
    await fill(store);
    const before = await commands(client);
    expect(await store.deliveries({ now: NOW, reports: [], take: { ...take, limit: LIMIT } })).toHaveLength(LIMIT);
    expect((await commands(client)) - before).toBeLessThan(400);
    expect(await client.zcard(`{${prefix}}:q:${sealInput("").lane}`)).toBe(20);
    expect(await client.zcard(`{${prefix}}:later:${sealInput("").lane}`)).toBe(crowd / 2);
    client.disconnect();
  });
});
