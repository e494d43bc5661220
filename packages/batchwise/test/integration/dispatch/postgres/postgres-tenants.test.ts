// Many tenants in one call: their sums take no round trip each, and are those of each.

import { type PostgresPool, postgresStore } from "batchwise/dispatch/postgres";
import { expect, onTestFinished, test } from "vitest";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";

const TENANTS = 500;
const FEW = 40;

test("an enqueue, a settle and a retry of many tenants are a few statements", async () => {
  const db = poolAt(await postgresPlace());
  let statements = 0;
  const pool: PostgresPool = {
    connect: (done) =>
      db.connect((error, client) => {
        if (client === undefined) return done(error, undefined);
        done(undefined, {
          query: (query) => {
            statements += 1;
            return client.query(query);
          },
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
          release: (destroy) => client.release(destroy),
        });
      }),
  };
  const store = postgresStore({ pool });
  onTestFinished(async () => {
    await store.close();
    await db.end();
  });
  await store.probe(1, NOW);

  const some = requests(2 * TENANTS, "r").map((one, n) => ({ ...one, job: "j", tenant: `t${n % TENANTS}` }));
  statements = 0;
  await store.enqueue(some, NOW);
  expect(statements).toBeLessThan(FEW);

  expect(await store.seal(sealInput("batch"))).toMatchObject({ ok: true });
  const usage = { inputTokens: 5, cachedTokens: 4, outputTokens: 3, reasoningTokens: 2 };
  const ending = { kind: "final", status: "succeeded", payload: "{}", code: null, usage, charged: true } as const;
  const items = some.map((_, ord) => ({ ord, ...ending }));
  statements = 0;
  await store.settle({
    key: "batch",
    fence: 1,
    items,
    sinks: [],
    cancelledPayload: "{}",
    cancelledCode: "c",
    now: NOW,
  });
  expect(statements).toBeLessThan(FEW);

  const others = requests(TENANTS, "again").map((one, n) => ({ ...one, job: "again", tenant: `t${n}` }));
  const ids = others.map(({ id }) => id);
  await store.enqueue(others, NOW);
  await store.amend({ kind: "cancel", ids, payload: "{}", code: "c" }, [], NOW);
  statements = 0;
  await store.amend({ kind: "retry", ids, lanes: others.map(({ lane }) => lane) }, [], NOW);
  expect(statements).toBeLessThan(FEW);
  const again = await store.usage({ job: "again" });
  expect(again.map(({ requests: count }) => count)).toEqual(others.map(() => 2));

  const sums = await store.usage({ job: "j" });
  expect(new Set(sums.map(({ tenant }) => tenant)).size).toBe(TENANTS);
  for (const sum of sums) {
    expect(sum).toMatchObject({ requests: 2, ended: { succeeded: 2, failed: 0, cancelled: 0, expired: 0 } });
    expect(sum).toMatchObject({ inputTokens: 10, cachedTokens: 8, outputTokens: 6, reasoningTokens: 4 });
  }
});
