// A limit of price together with requests that wait for a cache: what is short of money holds no
// others back for an hour, and a limit holds with first requests, too.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { expect, test } from "vitest";
import { PriceLimitError } from "../../src/dispatch/contract/errors.ts";
import { payerName } from "../../src/dispatch/format/encode.ts";
import { all, HOUR, jobWorld, MINUTE } from "./support/job-world.ts";

/** A tenth of a cent for each token, and a tenth of that for one that a cache has. */
const prices = { m: { input: 1_000, cachedInput: 100, output: 1_000, batchDiscount: 0 } };

/** Jobs of so many requests for each of these prefixes, each of some 180 tokens. */
function rig(prefixes: number, each: number) {
  const made = jobWorld({ plan: { validateMs: 0, runMs: 10 * MINUTE, finalizeMs: 0 } });
  const client = new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: made.fake.fetch });
  const system = (prefix: number) => ({
    role: "system",
    content: [
      { type: "text", text: `${prefix}: long words. `.repeat(40), cache_control: { type: "ephemeral", ttl: "1h" } },
    ],
  });
  const requests = Array.from({ length: prefixes * each }, (_, n) => ({
    id: `r${n}`,
    body: { model: "m", max_tokens: 10, messages: [system(Math.floor(n / each)), { role: "user", content: `${n}` }] },
  }));
  const job = (maxPrice: number) =>
    made.run({
      ...{ accounts: [anthropicAccount({ client, primeCache: true })], requests, prices, maxPrice },
      thresholds: { maxRequests: 1_000, maxAgeMs: 5 * MINUTE },
    });
  const spent = async () => (await made.store.payers([], [payerName("job", "night")]))[0];
  return { ...made, job, spent, sizes: () => made.fake.batches().map(({ requests }) => requests) };
}

test("a job within its maxPrice sends the first ones ahead, and the rest costs the price of cached tokens", async () => {
  const { job, settle, sizes, spent } = rig(2, 20);
  const outcomes = await settle(all(job(100)));
  // A job stores its first request alone, before anything says that others share its prefix.
  expect(sizes()).toEqual([1, 2, 37]);
  const usages = outcomes.flatMap(({ usage }) => usage ?? []);
  expect(usages.filter(({ cachedTokens }) => cachedTokens > 0)).toHaveLength(37);
  const dollars = usages.map(
    ({ inputTokens, cachedTokens, outputTokens }) =>
      (inputTokens - cachedTokens + cachedTokens / 10 + outputTokens) / 1_000,
  );
  const row = await spent();
  expect(row?.reserved).toBe(0);
  expect((row?.spent ?? 0) / 1e9).toBeCloseTo(dollars.reduce((sum, one) => sum + one, 0));
});

test("a job that cannot pay its first request ends at once, and announces nothing", async () => {
  const { job, settle, sizes, store, time } = rig(1, 20);
  const begunAt = time.now();
  expect(await settle(all(job(0.01))).catch((error: unknown) => error)).toBeInstanceOf(PriceLimitError);
  expect(sizes()).toEqual([]);
  expect(time.now() - begunAt).toBeLessThan(10 * MINUTE);
  expect((await store.marks([], time.now())).filter(({ name }) => name.startsWith("cache "))).toEqual([]);
});

test("first requests that cannot be paid hold the others back no longer than those that run", async () => {
  const { job, settle, sizes, time, spent } = rig(12, 10);
  const begunAt = time.now();
  expect(await settle(all(job(1))).catch((error: unknown) => error)).toBeInstanceOf(PriceLimitError);
  expect(sizes().length).toBeGreaterThan(0);
  expect(time.now() - begunAt).toBeLessThan(HOUR);
  const row = await spent();
  expect([row?.reserved, (row?.spent ?? 0) <= 1e9]).toEqual([0, true]);
});
