// `runDue` on the stores that platforms without a process use: runs that overlap, on connections of
// their own, end a job and leave no lease behind.

import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { leases } from "../../../dispatch/support/due-runs.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { openStore, type Place } from "../stores/open-store.ts";

const REQUESTS = 12;
const RUNS = 200;

const places: readonly [string, () => Promise<Place>][] = [
  ["Postgres", async () => ({ kind: "postgres", config: await postgresPlace() })],
  ["Redis", async () => ({ kind: "redis", ...(await redisPlace()) })],
];

test.each(places)("on %s, runs that overlap end each request once", async (_name, makePlace) => {
  const place = await makePlace();
  const fake = fakeProvider({ plan: { validateMs: 0, runMs: 0, finalizeMs: 0 } });
  const processes = await Promise.all([0, 1].map(() => openStore(place)));
  const [one, other] = processes.map(({ store, end }) => {
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const dispatcher = createDispatcher({
      ...{ store, accounts: [openaiAccount({ client, pollMs: 20 })], thresholds: { maxAgeMs: 0, maxRequests: 4 } },
    });
    onTestFinished(async () => {
      await dispatcher.stop();
      await store.close();
      await end();
    });
    return dispatcher;
  });
  if (one === undefined || other === undefined) throw new Error("Both are there.");
  const body = (n: number) => ({ model: "m", messages: [{ role: "user", content: `${n}` }] });
  await one.enqueueMany(Array.from({ length: REQUESTS }, (_, n) => ({ id: `r${n}`, body: body(n) })));
  let open = REQUESTS;
  for (let runs = 0; runs < RUNS && open > 0; runs += 1) {
    const reports = await Promise.all([one, other, one].map((each) => each.runDue({ maxMs: 5_000 })));
    open = Math.min(...reports.map((report) => report.open));
  }
  expect((await one.stats()).outcomes).toMatchObject({ succeeded: REQUESTS, failed: 0 });
  expect([...fake.runs().values()]).toEqual(Array.from({ length: REQUESTS }, () => 1));
  const [{ store }] = processes as [(typeof processes)[0]];
  expect(await leases(store, Date.now())).toBe(0);
  expect((await one.runDue({ maxMs: 5_000 })).open).toBe(0);
});
