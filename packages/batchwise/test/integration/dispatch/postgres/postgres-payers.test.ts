// Processes that make the same payers known at one moment.

import { setTimeout as sleep } from "node:timers/promises";
import { type PostgresPool, postgresStore } from "batchwise/dispatch/postgres";
import { expect, onTestFinished, test } from "vitest";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";

test("three processes with new payers in common never meet in a deadlock", async () => {
  const place = await postgresPlace();
  const db = poolAt(place);
  const rolledBack: string[] = [];
  let before = async (_text: string): Promise<void> => {};
  const pool: PostgresPool = {
    connect: (done) =>
      db.connect((error, client) => {
        if (client === undefined) return done(error, undefined);
        done(undefined, {
          query: async (query) => {
            await before(query.text);
            if (query.text === "ROLLBACK") rolledBack.push(query.text);
            return client.query(query);
          },
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
          release: (destroy) => client.release(destroy),
        });
      }),
  };
  const stores = [postgresStore({ pool }), postgresStore({ pool }), postgresStore({ pool })] as const;
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    await db.end();
  });
  await stores[0].payers([], []);
  const payer = (name: string) => ({ name, limit: 100, spent: 0 });
  let [running, inserts] = [0, 0];
  const others: Promise<unknown>[] = [];
  /** Starts a call, and resolves when each call that has not ended waits for a lock. */
  const begin = async (call: Promise<unknown>): Promise<void> => {
    running += 1;
    others.push(call.finally(() => (running -= 1)));
    const sql = "SELECT count(*)::int n FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
    while ((await db.query(sql, [place.application_name])).rows[0].n < running) await sleep(5);
  };
  before = async (text) => {
    if (!text.startsWith("INSERT INTO batchwise_payer")) return;
    inserts += 1;
    if (inserts !== 2) return;
    await begin(stores[1].payers([payer("b")], []));
    await begin(stores[2].payers([payer("a"), payer("b")], []));
  };
  await stores[0].payers([payer("a"), payer("b")], []);
  await Promise.all(others);
  expect(others).toHaveLength(2);
  expect(rolledBack).toEqual([]);
});
