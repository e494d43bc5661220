// A retry and a prune of the same request at one moment.

import { type PostgresPool, postgresStore } from "batchwise/dispatch/postgres";
import { expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";

test("a request that is pruned while it is retried is not found, and waiting ones still wait", async () => {
  const db = poolAt(await postgresPlace());
  let before = async (_text: string): Promise<void> => {};
  const pool: PostgresPool = {
    connect: (done) =>
      db.connect((error, client) => {
        if (client === undefined) return done(error, undefined);
        done(undefined, {
          query: async (query) => {
            await before(query.text);
            return client.query(query);
          },
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
          release: (destroy) => client.release(destroy),
        });
      }),
  };
  const stores: Store[] = [postgresStore({ pool }), postgresStore({ pool: db })];
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    await db.end();
  });
  const [store, other] = stores as [Store, Store];
  const rows = requests(2, "r");
  await store.enqueue(rows, NOW);
  await store.amend({ kind: "cancel", ids: ["r0"], payload: "{}", code: "c" }, [], NOW);
  const old = { before: NOW, batchesBefore: NOW, statuses: ["cancelled"], after: 0, limit: 10, now: NOW } as const;
  let pruned = 0;
  before = async (text) => {
    if (!text.includes("DELETE FROM batchwise_outcome")) return;
    before = async () => {};
    pruned = (await other.prune(old)).requests;
  };
  const retry = { kind: "retry", ids: ["r0", "r1"], lanes: rows.map(({ lane }) => lane) } as const;
  const answers = await store.amend(retry, [], NOW);
  expect(pruned).toBe(1);
  expect(answers.map(({ result }) => result)).toEqual(["not_found", "waiting"]);
});
