// A failover of a real PostgreSQL with two standbys behind a proxy, under two busy processes that
// are not restarted: the primary dies, the proxy first leads to a standby that stays a reader, then
// to the one that is promoted. Replication is synchronous: nothing that was acknowledged is lost,
// and each request runs once. Half a minute.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { postgresStore } from "../src/dispatch/stores/postgres/index.ts";
import { startOwnPostgres } from "../test/integration/services/kept.ts";
import { type PostgresService, poolAt, query } from "../test/integration/services/postgres.ts";
import { startTcpProxy } from "../test/integration/services/tcp-proxy.ts";
import { endsWell, provider, SECOND, until } from "./bad-days-kit.ts";
import type { FailoverWork, Said } from "./failover-child.ts";

class Busy {
  readonly acknowledged: string[] = [];
  readonly reported: string[] = [];
  readonly gaveUp: string[] = [];
  readonly #child: ChildProcess;

  constructor(work: FailoverWork) {
    const script = new URL("failover-child.ts", import.meta.url).pathname;
    this.#child = spawn(process.execPath, ["--no-warnings", script, JSON.stringify(work)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void this.#child.kill("SIGKILL"));
    createInterface({ input: this.#child.stdout as NonNullable<ChildProcess["stdout"]> }).on("line", (line) => {
      const said = JSON.parse(line) as Said;
      if ("acknowledged" in said) this.acknowledged.push(said.acknowledged);
      else if ("reported" in said) this.reported.push(said.reported);
      else this.gaveUp.push(said.gaveUp);
    });
  }

  async stop(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.stdin?.end();
    await closed;
  }
}

/** A primary, and two standbys that both have what it acknowledges. */
async function startServers() {
  const primary = await startOwnPostgres({ fsync: false });
  const place = await primary.place();
  const standbys: PostgresService[] = [];
  for (let count = 0; count < 2; count += 1) {
    standbys.push(await startOwnPostgres({ fsync: false, standbyOf: primary.port }));
  }
  await query(place, "ALTER SYSTEM SET synchronous_standby_names = '2 (*)'");
  await query(place, "SELECT pg_reload_conf()");
  const states = "SELECT count(*)::int AS count FROM pg_stat_replication WHERE sync_state = 'sync'";
  await until(async () => (await query(place, states)).rows[0].count === 2);
  let isAlive = true;
  const kill = async (): Promise<void> => {
    if (isAlive) await primary.stop();
    isAlive = false;
  };
  onTestFinished(async () => {
    await kill();
    for (const standby of standbys) await standby.stop();
  });
  const [next, reader] = standbys.map(({ port }) => ({ ...place, port }));
  return { place, next: next as pg.PoolConfig, reader: reader as pg.PoolConfig, kill };
}

async function sessions(at: pg.PoolConfig): Promise<number> {
  const sql = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'busy'";
  return (await query(at, sql)).rows[0].count;
}

test("two busy processes follow a failover: no session stays on the reader, nothing acknowledged is lost or runs twice", async () => {
  const { place, next, reader, kill } = await startServers();
  const proxy = await startTcpProxy(Number(place.port));
  onTestFinished(() => proxy.close());
  const here = await provider();
  const limits = { max: 4, idleTimeoutMillis: 0, connectionTimeoutMillis: 2 * SECOND, application_name: "busy" };
  const config = { ...place, ...limits, port: proxy.port };
  const busy = ["a", "b"].map((name) => new Busy({ name, config, url: here.url }));
  // A busy machine takes a while to start them.
  await until(() => busy.every(({ acknowledged }) => acknowledged.length > 200), 300 * SECOND);

  proxy.lead(Number(reader.port));
  await kill();
  await until(() => busy.every(({ reported }) => reported.includes("STORE_READ_ONLY")));
  await sleep(4 * SECOND);
  const before = busy.map(({ acknowledged }) => acknowledged.length);
  await query(next, "SELECT pg_promote()");
  proxy.lead(Number(next.port));
  const movedAt = Date.now();
  await until(() => busy.every(({ acknowledged }, n) => acknowledged.length > (before[n] ?? 0) + 200));
  // A session is left once it is used for a write: the last ones were idle.
  await until(async () => (await sessions(reader)) === 0, 30 * SECOND);
  console.log(`no session on the reader ${((Date.now() - movedAt) / SECOND).toFixed(1)} s after the address moved`);
  await Promise.all(busy.map((one) => one.stop()));

  expect(busy.flatMap(({ gaveUp }) => gaveUp)).toEqual([]);
  const acknowledged = busy.flatMap((one) => one.acknowledged);
  const pool = poolAt(next);
  onTestFinished(() => pool.end());
  const store = postgresStore({ pool });
  const rows = await store.requests({ ids: acknowledged });
  expect(rows).toHaveLength(acknowledged.length);
  // The last call of each may have been stored without an answer.
  const all = await query(next, "SELECT count(*)::int AS count FROM batchwise_request");
  expect(all.rows[0].count).toBeLessThanOrEqual(acknowledged.length + busy.length);
  await endsWell(store, here, all.rows[0].count);
  console.log(`${acknowledged.length} acknowledged, all ended once`);
});
