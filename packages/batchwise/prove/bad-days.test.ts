// Bad days of a real PostgreSQL under a busy dispatcher: a full tablespace, a right that is taken
// away, a locked table, a server that is gone or becomes read-only. A stop ends within ten seconds,
// what hangs is reported, no request is lost or runs twice. Some two minutes. A failover to a
// standby: bad-days-failover.test.ts. Redis: bad-days-redis.test.ts.

import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Store } from "../src/dispatch/contract/store/store.ts";
import { postgresStore } from "../src/dispatch/stores/postgres/index.ts";
import { emptyDisk, fillDisk } from "../test/integration/services/ballast.ts";
import { postgresPlace, startOwnPostgres } from "../test/integration/services/kept.ts";
import { type PostgresService, poolAt, query } from "../test/integration/services/postgres.ts";
import {
  asks,
  busyOn,
  dispatcherOn,
  endsWell,
  enqueueAtLast,
  provider,
  SECOND,
  stopsInTime,
  until,
} from "./bad-days-kit.ts";

describe("PostgreSQL", () => {
  let server: PostgresService;
  beforeAll(async () => {
    server = await startOwnPostgres({ diskMb: 24 });
  });
  afterAll(() => server?.stop());

  function storeAt(place: pg.PoolConfig): Store {
    const pool = poolAt(place);
    onTestFinished(() => pool.end());
    return postgresStore({ pool });
  }

  test("refuses results for a full tablespace: the stop ends in time, the lease is given back or runs out", async () => {
    const place = await server.place();
    const store = storeAt(place);
    const here = await provider();
    const { dispatcher, codes } = await busyOn(store, here, 100);
    fillDisk(server.folder);
    onTestFinished(() => emptyDisk(server.folder));
    await until(() => codes.includes("STORE_FULL"));
    await sleep(5 * SECOND);
    await stopsInTime(dispatcher);
    emptyDisk(server.folder);
    await endsWell(store, here, 100);
  });

  test("refuses one table and takes heartbeats: the stop ends in time, and the lease is given back", async () => {
    const place = await server.place();
    const user = `${place.application_name}_user`;
    await storeAt(place).probe(1, Date.now());
    const all = `IN SCHEMA ${place.application_name} TO ${user}`;
    await query(place, `CREATE ROLE ${user} LOGIN; GRANT USAGE ON SCHEMA ${place.application_name} TO ${user}`);
    await query(place, "GRANT CREATE ON TABLESPACE small TO public");
    await query(place, `GRANT ALL ON ALL TABLES ${all}; GRANT USAGE ON ALL SEQUENCES ${all}`);
    const store = storeAt({ ...place, user });
    const here = await provider();
    const { dispatcher, codes } = await busyOn(store, here, 100);
    await query(place, `REVOKE INSERT ON batchwise_outcome FROM ${user}`);
    await until(() => codes.includes("STORE_FORBIDDEN"));
    await sleep(5 * SECOND);
    await stopsInTime(dispatcher);
    expect(await store.batches({ limit: 1 })).toMatchObject([{ state: "collecting", leaseUntil: 0 }]);
    await query(place, `GRANT INSERT ON batchwise_outcome TO ${user}`);
    await endsWell(store, here, 100);
  });

  test("has a table locked by another session: it is reported, the stop ends in time", async () => {
    const place = await server.place();
    const store = storeAt(place);
    const here = await provider();
    const { dispatcher, codes } = await busyOn(store, here, 100);
    const other = poolAt({ ...place, max: 1, idleTimeoutMillis: 0 });
    onTestFinished(() => other.end());
    await other.query("BEGIN; LOCK TABLE batchwise_request IN ACCESS EXCLUSIVE MODE");
    const late = asks(10, "late");
    const enqueued = dispatcher.enqueueMany(late).catch((error: unknown) => error);
    await until(() => codes.includes("STORE_SLOW"));
    await sleep(10 * SECOND);
    expect(codes.filter((code) => code === "STORE_SLOW")).toHaveLength(1);
    await stopsInTime(dispatcher);
    expect(await enqueued).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    await other.query("ROLLBACK");
    await dispatcherOn(store, here.url).dispatcher.enqueueMany(late);
    await endsWell(store, here, 110);
  });

  test("is gone right after a create: the stop ends in time, and nothing runs twice", async () => {
    const place = await server.place();
    const pool = poolAt(place);
    onTestFinished(() => pool.end());
    const here = await provider();
    let isGone = false;
    const store = postgresStore({
      pool: {
        connect: (done) => {
          if (isGone) done(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }), undefined);
          else pool.connect(done);
        },
      },
    });
    const { dispatcher } = await busyOn(store, here, 100);
    isGone = true;
    await sleep(2 * SECOND);
    await stopsInTime(dispatcher);
    isGone = false;
    await endsWell(store, here, 100);
  });
});

test("a producer that obeys `retryable` loses nothing in a failover of some seconds, and the reader keeps out of the busy pool", async () => {
  const place = await postgresPlace();
  const user = `${place.application_name}_failover`;
  await query(place, `CREATE ROLE ${user} LOGIN SUPERUSER`);
  const readOnly = (value: "on" | "off"): Promise<unknown> =>
    query(place, `ALTER ROLE ${user} SET default_transaction_read_only = ${value}`);
  const pool = poolAt({ ...place, user });
  onTestFinished(() => pool.end());
  const store = postgresStore({ pool });
  const here = await provider();
  const { dispatcher } = dispatcherOn(store, here.url);
  await dispatcher.start();
  const cut = (): Promise<unknown> =>
    query(place, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${user}'`);
  let stored = 0;
  const producing = (async () => {
    for (let n = 0; n < 1_500; n += 1) {
      await enqueueAtLast(dispatcher, `r-${n}`);
      stored += 1;
    }
  })();
  await until(() => stored > 100);
  await readOnly("on");
  await cut();
  await sleep(8 * SECOND);
  const during = stored;
  // Sessions keep what the role had at their login: those of the reader stay read-only.
  await readOnly("off");
  await sleep(6 * SECOND);
  expect(stored).toBeGreaterThan(during);
  await producing;
  await dispatcher.stop();
  await endsWell(store, here, 1_500);
});
