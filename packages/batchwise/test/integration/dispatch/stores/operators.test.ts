// The operators' methods on the durable stores: two dispatchers with connections of their own, in
// real time.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createDispatcher, type Dispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { afterAll, expect, test } from "vitest";
import { databaseParent } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { openStore, type Place } from "./open-store.ts";

const folder = mkdtempSync(join(databaseParent(), "batchwise-operators-"));
afterAll(() => rmSync(folder, { recursive: true }));

const places: readonly (readonly [name: string, place: () => Promise<Place>])[] = [
  ["SQLite", async () => ({ kind: "sqlite", path: join(folder, "operators.db") })],
  ["Postgres", async () => ({ kind: "postgres", config: await postgresPlace() })],
  ["Redis", async () => ({ kind: "redis", ...pick(await redisPlace()) })],
];

function pick({ port, prefix }: { readonly port: number; readonly prefix: string }) {
  return { port, prefix };
}

async function readAll(dispatcher: Dispatcher): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of dispatcher.outcomes({ untilIdle: true })) ids.push(id);
  return ids;
}

async function twoOn(at: Place, fake: FakeProvider) {
  const opened = await Promise.all([openStore(at), openStore(at)]);
  const [one, two] = opened.map(({ store }) =>
    createDispatcher({
      store,
      accounts: [
        openaiAccount({
          client: new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch }),
          pollMs: 50,
        }),
      ],
      thresholds: { maxRequests: 40, maxAgeMs: 50 },
    }),
  ) as [Dispatcher, Dispatcher];
  return { one, two, end: () => Promise.all(opened.map(({ end }) => end())) };
}

test.each(places)(
  "operators find, pause, cancel, retry and count on %s",
  async (_name, place) => {
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    let isBad = true;
    const fake = fakeProvider({
      plan: { validateMs: 0, runMs: 20, finalizeMs: 0 },
      answer: ({ body }) => {
        if (isBad && JSON.stringify(body).includes("bad")) {
          return { status: 400, body: { error: { message: "No.", code: "odd" } } };
        }
        return { status: 200, body: { choices: [{ message: { content: "a" } }], usage } };
      },
    });
    const { one, two, end } = await twoOn(await place(), fake);
    const request = (id: string, job: string) => ({
      id,
      job,
      body: { model: "m", messages: [{ role: "user", content: id }] },
    });
    await Promise.all([one.start(), two.start()]);

    expect(await one.pauseAccount("openai", "a test")).toBe(true);
    const ids = Array.from({ length: 100 }, (_, index) => `a${index}`);
    await two.enqueueMany([
      ...ids.map((id) => request(id, "a")),
      request("bad", "a"),
      request("b0", "b"),
      request("b1", "b"),
    ]);
    await new Promise((resolve) => {
      setTimeout(resolve, 1_500);
    });
    expect(fake.calls("batches.create")).toBe(0);
    expect((await two.stats()).paused.accounts).toMatchObject([{ name: "openai", reason: "a test" }]);

    const first = await two.requests({ job: "a", statuses: ["waiting"], limit: 60 });
    const second = await one.requests({ job: "a", statuses: ["waiting"], after: first.next as number, limit: 60 });
    expect([...first.requests, ...second.requests].map(({ id }) => id)).toEqual([...ids, "bad"]);
    expect(second.next).toBeNull();
    expect(await one.cancel({ job: "b" })).toEqual({ cancelled: 2, requested: 0, ended: 0, notFound: 0 });
    expect(await one.cancel(["b0", "nobody"])).toEqual({ cancelled: 0, requested: 0, ended: 1, notFound: 1 });

    expect(await two.resumeAccount("openai")).toBe(true);
    expect((await readAll(one)).toSorted()).toEqual([...ids, "bad", "b0", "b1"].toSorted());
    expect((await two.requests({ code: "odd" })).requests).toMatchObject([
      { id: "bad", status: "failed", attempts: 1 },
    ]);
    isBad = false;
    expect(await two.retry({ job: "a" })).toBe(1);
    await readAll(two);
    const none = { failed: 0, cancelled: 0, expired: 0, succeeded: 0 };
    expect(await one.usage()).toMatchObject([
      {
        job: "a",
        model: "m",
        requests: 102,
        ended: { ...none, succeeded: 101, failed: 1 },
        inputTokens: 505,
        outputTokens: 202,
      },
      { job: "b", model: "m", requests: 2, ended: { ...none, cancelled: 2 }, inputTokens: 0 },
    ]);
    await Promise.all([one.stop(), two.stop()]);
    await end();
  },
  60_000,
);
