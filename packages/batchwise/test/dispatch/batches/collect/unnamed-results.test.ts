// Gemini answers inline requests without their metadata: the account sends files from then on, and
// the batch goes again.

import { GoogleGenAI } from "@google/genai";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { fakeProvider } from "batchwise/dispatch/testing";
import { expect, test } from "vitest";
import { drive } from "../../support/drive.ts";
import { ask, isAtRest, world } from "../../support/world.ts";

test("inline results without metadata are read again in a file, uncharged, and so are all later ones", async () => {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time });
  const edit = (body: string): string => body.replaceAll(/"metadata":\{"key":"[^"]*"\},?/g, "");
  fake.inject({ on: ["gemini.retrieve", "gemini.list"], times: 10_000, reply: { edit } });
  const httpOptions = { baseUrl: "http://fake.test", fetch: fake.fetch };
  const account = geminiAccount({ client: new GoogleGenAI({ apiKey: "key", httpOptions }) });
  const told: string[] = [];
  const onError = (error: unknown): number => told.push((error as Error).message);
  const options = { accounts: [account], thresholds: { maxRequests: 3, maxAgeMs: 1_000 }, onError };
  const first = await start(options);
  await first.enqueueMany(["r0", "r1", "r2"].map((name) => ask(name)));
  const begunAt = time.now();
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(time.now() - begunAt).toBeLessThan(2 * 3_600_000);
  const outcomes = await Promise.all(["r0", "r1", "r2"].map((name) => first.result(name)));
  expect(outcomes.map(({ status, attempts }) => [status, attempts])).toEqual(outcomes.map(() => ["succeeded", 1]));
  expect([fake.calls("gemini.create"), fake.batches().length]).toEqual([2, 2]);
  expect(told.filter((message) => message.includes('The account "gemini" sends files from now on'))).toHaveLength(1);
  await first.stop();

  // Another process, or the next start, knows it too.
  const uploads = fake.calls("geminiFiles.upload");
  const next = await start(options);
  await next.enqueue(ask("r3"));
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(await next.result("r3")).toMatchObject({ status: "succeeded", attempts: 1 });
  expect([fake.calls("gemini.create"), fake.calls("geminiFiles.upload") - uploads > 0]).toEqual([3, true]);
  await next.stop();
});
