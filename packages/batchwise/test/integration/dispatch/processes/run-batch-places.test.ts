// One job on each durable store, in real time: left in the middle, then run by two at a time.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type DispatchRequest, runBatch } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { afterAll, expect, test } from "vitest";
import { databaseParent } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { openStore, type Place } from "../stores/open-store.ts";

const COUNT = 1_200;
const folder = mkdtempSync(join(databaseParent(), "batchwise-jobs-"));
afterAll(() => rmSync(folder, { recursive: true }));

const places: readonly (readonly [name: string, place: () => Promise<Place>])[] = [
  ["SQLite", async () => ({ kind: "sqlite", path: join(folder, "jobs.db") })],
  ["Postgres", async () => ({ kind: "postgres", config: await postgresPlace() })],
  [
    "Redis",
    async () => {
      const { port, prefix } = await redisPlace();
      return { kind: "redis", port, prefix };
    },
  ],
];

test.each(places)(
  "a job on %s is left in the middle, resumed by two at a time, and complete in both",
  async (_, at) => {
    const place = await at();
    const fake = fakeProvider({ plan: ({ index }) => ({ validateMs: 0, runMs: 100 * index, finalizeMs: 0 }) });
    const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const requests: DispatchRequest[] = Array.from({ length: COUNT }, (_, n) => ({
      body: { model: "m", messages: [{ role: "user", content: `Say ${n}.` }] },
    }));
    const run = async (most: number): Promise<number[]> => {
      const { store, end } = await openStore(place);
      const accounts = [openaiAccount({ client, pollMs: 50 })];
      const indexes: number[] = [];
      for await (const { index } of runBatch({
        ...{ store, accounts, job: "j", requests, thresholds: { maxRequests: 200 } },
      })) {
        if (indexes.push(Number(index)) === most) break;
      }
      await end();
      return indexes.toSorted((a, b) => a - b);
    };
    expect((await run(250)).length).toBe(250);
    const all = requests.map((_, index) => index);
    expect(await Promise.all([run(COUNT + 1), run(COUNT + 1)])).toEqual([all, all]);
    expect([fake.runs().size, Math.max(...fake.runs().values())]).toEqual([COUNT, 1]);
  },
);
