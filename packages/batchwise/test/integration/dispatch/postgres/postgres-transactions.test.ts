// Requests that are enqueued in a transaction of the caller's, on a real PostgreSQL: they exist if,
// and only if, the transaction is committed, and a call that is refused leaves the transaction as
// it was.

import { type BatchLine, createDispatcher, type DispatchRequest } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type PostgresStore, postgresStore } from "batchwise/dispatch/postgres";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import type pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";

type Given = DispatchRequest | BatchLine;

async function shop(poolSize = 10) {
  const place = await postgresPlace();
  const pool = poolAt({ ...place, max: poolSize });
  onTestFinished(() => pool.end());
  await pool.query("CREATE TABLE orders (id TEXT PRIMARY KEY)");
  const fake = fakeProvider({ plan: { validateMs: 0, runMs: 20, finalizeMs: 0 } });
  const store = postgresStore({ pool });
  const dispatcher = dispatcherOn(store, fake);
  onTestFinished(() => dispatcher.stop());
  return { place, pool, fake, store, dispatcher };
}

function dispatcherOn(store: PostgresStore, fake: FakeProvider, model = "m") {
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  return createDispatcher({
    store,
    accounts: [openaiAccount({ client, pollMs: 20 })],
    thresholds: { maxRequests: 100, maxAgeMs: 50 },
    requestDefaults: { model },
  });
}

const ask = (id: string, content = id): DispatchRequest => ({ id, body: { messages: [{ role: "user", content }] } });

/** BEGIN, the work, COMMIT; or ROLLBACK, where the work fails. */
async function inTransaction<Result>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

const TABLES = ["request", "body", "ready", "usage", "lane", "share", "share_added"];

/** How many rows there are of each kind that an enqueue writes. */
async function rowsIn(pool: pg.Pool): Promise<Record<string, number>> {
  const counts = TABLES.map((name) => `(SELECT count(*)::int FROM batchwise_${name}) AS ${name}`);
  return (await pool.query(`SELECT ${counts.join(", ")}`)).rows[0];
}

const NOTHING = Object.fromEntries(TABLES.map((name) => [name, 0]));

describe("requests in a transaction of the caller's", () => {
  test("are sent once it is committed, not before, and end like others", async () => {
    const { pool, fake, store, dispatcher } = await shop();
    await dispatcher.start();
    const line: BatchLine = {
      custom_id: "line",
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: "m", messages: [{ role: "user", content: "line" }] },
    };
    const enqueued = await inTransaction(pool, async (client) => {
      await client.query("INSERT INTO orders VALUES ('o1')");
      const { body } = ask("", "no id");
      const answers = await store.enqueueIn(client, [ask("o1"), line, { body }]);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await expect(dispatcher.result("o1")).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(fake.calls("batches.create")).toBe(0);
      return answers;
    });

    expect(enqueued.map(({ existing }) => existing)).toEqual([false, false, false]);
    const [first, second, third] = enqueued.map(({ id }) => id);
    expect([first, second]).toEqual(["o1", "line"]);
    expect(third).toMatch(/^[0-9A-Z]{26}$/);
    const outcomes = await Promise.all(enqueued.map(({ id }) => dispatcher.result(id)));
    expect(outcomes.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "succeeded"]);
    expect((await pool.query("SELECT id FROM orders")).rows).toEqual([{ id: "o1" }]);
  }, 30_000);

  test("are found by a process whose sealer has looked ever less often, within seconds where it enqueued them", async () => {
    const { pool, store, dispatcher } = await shop();
    await dispatcher.start();
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    await inTransaction(pool, (client) => store.enqueueIn(client, [ask("late")]));
    const committed = performance.now();
    await dispatcher.result("late");
    expect(performance.now() - committed).toBeLessThan(3_500);
  }, 30_000);

  test("disappear completely when it is rolled back, and their ids are free", async () => {
    const { pool, store, dispatcher } = await shop();
    await dispatcher.stats();
    const failed = inTransaction(pool, async (client) => {
      await client.query("INSERT INTO orders VALUES ('o1')");
      await store.enqueueIn(client, [{ ...ask("o1"), job: "orders", tenant: "t" }, ask("o2")]);
      throw new Error("out of stock");
    });
    await expect(failed).rejects.toThrow("out of stock");

    expect(await rowsIn(pool)).toEqual(NOTHING);
    expect(await dispatcher.usage()).toEqual([]);
    expect((await dispatcher.stats()).lanes).toEqual([]);
    await expect(dispatcher.result("o1")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await dispatcher.enqueue(ask("o1", "another text"))).toEqual({ id: "o1", existing: false });
  });

  test("are existing where they were enqueued before, by whom and in whatever transaction", async () => {
    const { pool, store, dispatcher } = await shop();
    const { body } = ask("", "no id");
    const made = await dispatcher.enqueue({ body });
    await dispatcher.enqueue(ask("a"));
    const again = await inTransaction(pool, async (client) => {
      await store.enqueueIn(client, [ask("b")]);
      return store.enqueueIn(client, [ask("a"), ask("b"), ask("c"), ask("c"), { id: made.id, body }]);
    });
    expect(again.map(({ existing }) => existing)).toEqual([true, true, false, true, true]);
    expect(await dispatcher.enqueue(ask("c"))).toEqual({ id: "c", existing: true });
    expect(await rowsIn(pool)).toMatchObject({ request: 4, ready: 4 });
  });

  test("share a lane with others by tokens: one tenant's many transactions do not delay another's requests", async () => {
    const { pool, store, dispatcher } = await shop();
    for (let n = 0; n < 60; n += 1) {
      await inTransaction(pool, (client) => store.enqueueIn(client, [{ ...ask(`a${n}`), tenant: "a" }]));
    }
    await dispatcher.enqueueMany([
      { ...ask("b0"), tenant: "b" },
      { ...ask("b1"), tenant: "b" },
    ]);
    const { rows } = await pool.query(
      `SELECT r.id FROM batchwise_ready y JOIN batchwise_request r USING (seq) ORDER BY y.priority DESC, y.rank, y.seq`,
    );
    expect(rows.map(({ id }) => id).slice(0, 5)).toEqual(["a0", "b0", "a1", "b1", "a2"]);

    await dispatcher.start();
    await Promise.all(["a59", "b1"].map((id) => dispatcher.result(id)));
    await dispatcher.enqueue({ ...ask("c"), tenant: "c" });
    await dispatcher.result("c");
    const left = await rowsIn(pool);
    expect((left.share ?? 0) + (left.share_added ?? 0)).toBeLessThanOrEqual(3);
  }, 30_000);
});

describe("a call that is refused", () => {
  const conflict = ask("taken", "another text");
  test.each<readonly [string, readonly Given[], string, RegExp]>([
    ["an id is taken by another body", [ask("n1"), conflict, ask("n2")], "DUPLICATE_ID", /^requests\[1\]: .*Nothing/],
    ["one of them cannot be sent", [ask("n1"), { body: {} }], "UNKNOWN_ENDPOINT", /^requests\[1\]: /],
    ["it is no array", ask("n1") as unknown as Given[], "INVALID_REQUEST", /array/],
  ])("has stored nothing, and the transaction continues, where %s", async (_what, given, code, message) => {
    const { pool, store, dispatcher } = await shop();
    await dispatcher.enqueue(ask("taken"));
    await inTransaction(pool, async (client) => {
      await client.query("INSERT INTO orders VALUES ('o1')");
      const before = await store.enqueueIn(client, [ask("before")]);
      expect(before).toEqual([{ id: "before", existing: false }]);
      const refused = store.enqueueIn(client, given);
      await expect(refused).rejects.toMatchObject({ name: "DispatchError", code });
      await expect(refused).rejects.toThrow(message);
      await store.enqueueIn(client, [ask("after")]);
    });
    const { requests } = await dispatcher.requests();
    expect(requests.map(({ id }) => id)).toEqual(["taken", "before", "after"]);
    expect((await pool.query("SELECT id FROM orders")).rows).toEqual([{ id: "o1" }]);
  });

  test("undoes nothing of another call on the same client that runs at the same time", async () => {
    const { pool, store, dispatcher } = await shop();
    await dispatcher.enqueue(ask("taken"));
    const settled = await inTransaction(pool, (client) =>
      Promise.allSettled([
        store.enqueueIn(client, [ask("a")]),
        store.enqueueIn(client, [...Array.from({ length: 1_100 }, (_, n) => ask(`r${n}`)), conflict]),
        store.enqueueIn(client, [ask("b")]),
      ]),
    );
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await dispatcher.requests()).requests.map(({ id }) => id)).toEqual(["taken", "a", "b"]);
  });
});

describe("two transactions at once", () => {
  /**
   * Two that enqueue for two models, in opposite order, and both have done their first when they do
   * their second.
   */
  async function crossing(setUp: Awaited<ReturnType<typeof shop>>, idsOf: (model: string, who: string) => string) {
    const { pool, store } = setUp;
    let arrived = 0;
    let meet = (): void => {};
    const met = new Promise<void>((resolve) => {
      meet = resolve;
    });
    const caller = (who: string, models: readonly [string, string]) =>
      inTransaction(pool, async (client) => {
        const request = (model: string): DispatchRequest => {
          const { body } = ask("", model);
          return { id: idsOf(model, who), body: { ...body, model } };
        };
        await store.enqueueIn(client, [request(models[0])]);
        arrived += 1;
        if (arrived === 2) meet();
        await met;
        return store.enqueueIn(client, [request(models[1])]);
      });
    return Promise.allSettled([caller("x", ["m1", "m2"]), caller("y", ["m2", "m1"])]);
  }

  test("never wait for each other in lanes that are known, in whatever order, nor hold up an enqueue", async () => {
    const setUp = await shop();
    const { dispatcher, pool, store } = setUp;
    const known = ["m1", "m2"].map((model) => ({ id: model, body: { ...ask("", "text").body, model } }));
    await dispatcher.enqueueMany(known);
    const results = await crossing(setUp, (model, who) => `${model} ${who}`);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    await inTransaction(pool, async (client) => {
      await store.enqueueIn(
        client,
        known.map((request) => ({ ...request, id: `${request.id} in` })),
      );
      await dispatcher.enqueueMany(known.map((request) => ({ ...request, id: `${request.id} out` })));
    });
    expect(await rowsIn(pool)).toMatchObject({ request: 10, lane: 2 });
  }, 30_000);

  test("that make the same two lanes in opposite order do not hang: one is refused, and can be run again", async () => {
    const setUp = await shop();
    const idOf = (model: string, who: string): string => `${model} ${who}`;
    await setUp.dispatcher.stats();
    const results = await crossing(setUp, idOf);
    const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    expect(refused).toMatchObject([{ code: "STORE_UNAVAILABLE", retryable: true }]);
    expect(refused[0].message).toMatch(/in the way .*run the whole transaction again/);
    expect(await rowsIn(setUp.pool)).toMatchObject({ request: 2, ready: 2, lane: 2 });
    const again = await crossing(setUp, (model, who) => `${model} ${who} again`);
    expect(again.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  }, 30_000);

  test("with the same ids in opposite order, in one call each, both succeed: each request is stored once", async () => {
    const { pool, store, dispatcher } = await shop();
    const ids = Array.from({ length: 2_500 }, (_, n) => `r${n}`);
    await dispatcher.enqueue(ask("first"));
    const enqueueAll = (some: readonly string[]) =>
      inTransaction(pool, (client) =>
        store.enqueueIn(
          client,
          some.map((id) => ask(id)),
        ),
      );
    const answers = await Promise.all([enqueueAll(ids), enqueueAll(ids.toReversed())]);
    expect(answers.flat().filter(({ existing }) => !existing)).toHaveLength(2_500);
    expect(await rowsIn(pool)).toMatchObject({ request: 2_501 });
  }, 30_000);

  test("with the same job: one enqueue waits for the other's end, and both are counted", async () => {
    const { pool, store, dispatcher } = await shop();
    await dispatcher.enqueue({ ...ask("a"), job: "j" });
    let outside = Promise.resolve<unknown>(null);
    let isOver = false;
    await inTransaction(pool, async (client) => {
      await store.enqueueIn(client, [{ ...ask("b"), job: "j" }]);
      outside = dispatcher.enqueue({ ...ask("c"), job: "j" }).then(() => expect(isOver).toBe(true));
      await new Promise((resolve) => setTimeout(resolve, 300));
      isOver = true;
    });
    await outside;
    expect(await dispatcher.usage()).toMatchObject([{ job: "j", requests: 3 }]);
  });

  test("one with snapshots of its own is refused where the other was first, and loses nothing", async () => {
    const { pool, store, dispatcher } = await shop();
    const client = await pool.connect();
    await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
    await client.query("SELECT * FROM orders");
    await dispatcher.enqueue(ask("a"));
    const refused = store.enqueueIn(client, [ask("a")]);
    await expect(refused).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    await client.query("ROLLBACK");
    client.release();
    const again = await inTransaction(pool, (other) => store.enqueueIn(other, [ask("a")]));
    expect(again).toEqual([{ id: "a", existing: true }]);
  });
});
