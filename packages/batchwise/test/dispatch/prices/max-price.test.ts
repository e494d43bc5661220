// Limits of price: of jobs and tenants, in virtual time, against the fake.

import { expect, test } from "vitest";
import { PriceLimitError } from "../../../src/dispatch/contract/errors.ts";
import type { JobProgress } from "../../../src/dispatch/contract/jobs.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { payerName } from "../../../src/dispatch/format/encode.ts";
import { runBatch } from "../../../src/dispatch/run-batch.ts";
import { all, HOUR, jobWorld, MINUTE, runsOf } from "../support/job-world.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { world } from "../support/world.ts";

/** A tenth of a cent for each token. */
const prices = { m: { input: 1_000, output: 1_000, batchDiscount: 0 } };
const USED = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };

/** Each costs 2 cents, and reserves its prompt and 40 tokens more. */
function requests(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    body: { model: "m", max_tokens: 40, messages: [{ role: "user", content: `r${n}` }] },
  }));
}

function priced() {
  return jobWorld({
    plan: { runMs: 10 * MINUTE },
    answer: () => ({
      status: 200,
      body: { choices: [{ message: { role: "assistant", content: "yes" } }], usage: USED },
    }),
  });
}

test("a job ends at its maxPrice with the figures, and the same call with a higher one continues", async () => {
  const { run, settle, fake, store } = priced();
  const told: unknown[] = [];
  const progress: JobProgress[] = [];
  const job = {
    ...{ requests: requests(40), prices },
    onError: (error: unknown) => told.push(error),
    onProgress: (now: JobProgress) => progress.push(now),
  };
  const error: unknown = await settle(all(run({ ...job, maxPrice: 0.5 }))).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(PriceLimitError);
  const { spent, reserved, limit, message } = error as PriceLimitError;
  expect({ reserved, limit }).toEqual({ reserved: 0, limit: 0.5 });
  expect(spent).toBeGreaterThan(0.4);
  expect(spent).toBeLessThanOrEqual(0.5);
  expect(message).toMatch(
    /^The job "night" has reached its `maxPrice` of \$0\.5: \$0\.4\d are spent, \$0 are reserved, and its next request/,
  );
  expect(told.filter((one) => one instanceof PriceLimitError)).toHaveLength(1);
  expect(progress.some(({ maxPrice }) => (maxPrice?.reserved ?? 0) > 0)).toBe(true);
  expect(progress.at(-1)?.maxPrice).toEqual({ limit: 0.5, spent, reserved: 0 });
  const ran = runsOf(fake).length;
  expect(ran).toBe(Math.round(spent / 0.02));
  expect(await settle(all(run({ ...job, maxPrice: 2 })))).toHaveLength(40);
  expect(runsOf(fake)).toEqual(requests(40).map(() => 1));
  const [row] = await store.payers([], [payerName("job", "night")]);
  expect(row).toMatchObject({ spent: 800_000_000, reserved: 0 });
});

test("a limit that does not allow the first request ends the job at once, and costs nothing", async () => {
  const { run, settle, fake } = priced();
  const job = run({ requests: requests(3), prices, maxPrice: 0.01 });
  await expect(settle(all(job))).rejects.toMatchObject({ code: "PRICE_LIMIT", spent: 0, limit: 0.01 });
  expect(fake.calls("batches.create")).toBe(0);
});

test("a later run gives a limit, too, or lifts it", async () => {
  const { run, settle } = priced();
  await expect(settle(all(run({ requests: requests(3), prices, maxPrice: 0.01 })))).rejects.toThrow(
    "has reached its `maxPrice`",
  );
  await expect(settle(all(run({ requests: requests(3), prices })))).rejects.toThrow(
    'An earlier run gave the job "night" a `maxPrice` of 0.01: give one again, or Infinity to lift it.',
  );
  expect(await settle(all(run({ requests: requests(3), prices, maxPrice: Infinity })))).toHaveLength(3);
});

test("usage without a limit counts; requests that wait without one are refused in words", async () => {
  const { run, settle, time } = priced();
  expect(await settle(all(run({ requests: requests(10), prices })))).toHaveLength(10);
  const more = run({ requests: requests(12), prices, maxPrice: 0.2 });
  await expect(settle(all(more))).rejects.toMatchObject({ code: "PRICE_LIMIT", spent: 0.2 });
  const begun = run({ requests: requests(5), prices, job: "third" });
  const first = begun.next();
  await time.advance(1_000);
  const late = run({ requests: requests(5), prices, job: "third", maxPrice: 1 });
  await expect(settle(late.next())).rejects.toThrow(
    'Requests of the job "third" wait or run that were enqueued without',
  );
  await settle(first);
  await settle(all(begun));
});

test("requests for a model without a price are refused, with the words that help", async () => {
  const { run, settle, store } = priced();
  const job = run({ requests: requests(2), maxPrice: 5 });
  await expect(settle(all(job))).rejects.toThrow(
    'requests[0]: The model "m" has no price, so its requests cannot count against `maxPrice`: add it, `prices: { ...defaultPrices, "m": { input, output } }`',
  );
  expect((await store.probe(1, 0)).lanes).toEqual([]);
});

test("a maxPrice that is none is refused", () => {
  const { store } = priced();
  const base = { store, accounts: [new SimProvider({ time: world().time }).account()] };
  const job = { ...base, job: "j", requests: [] };
  expect(() => runBatch({ ...job, maxPrice: -1 })).toThrow(
    "Expected `maxPrice` to be a number of US dollars of at least 0",
  );
  expect(() => runBatch({ ...job, maxPrice: { job: Number.NaN } })).toThrow("Expected `maxPrice.job`");
  expect(() => createDispatcher({ ...base, maxPrice: { tenants: { acme: "5" as never } } })).toThrow(
    'Expected `maxPrice.tenants["acme"]`',
  );
  expect(() => createDispatcher({ ...base, maxPrice: { jobs: {} } as never })).toThrow(
    "Unknown option `maxPrice.jobs`",
  );
});

test("a tenant at its limit waits, reported once, while others continue; two processes share the limit", async () => {
  const { time, store, start, until } = world();
  const provider = new SimProvider({ time, plan: () => ({ runMs: MINUTE }) });
  const errors: unknown[] = [];
  // 7 tokens are used of each, and its prompt and 10 are reserved.
  const options = {
    ...{ accounts: [provider.account()], prices, thresholds: { maxAgeMs: 0, maxRequests: 4 } },
    maxPrice: { tenants: { acme: 0.1 } },
    onError: (error: unknown) => errors.push(error),
  };
  const one = await start(options);
  const other = await start(options);
  const body = (n: number) => ({ model: "m", max_tokens: 10, messages: [{ role: "user", content: `r${n}` }] });
  for (let n = 0; n < 30; n += 1) {
    await (n % 2 === 0 ? one : other).enqueue({ id: `a${n}`, tenant: "acme", body: body(n) });
    await one.enqueue({ id: `b${n}`, tenant: "other", body: body(100 + n) });
  }
  await until(async () => (await one.stats()).outcomes.succeeded >= 30 + 10);
  await time.advance(2 * HOUR);
  const [row] = await store.payers([], [payerName("tenant", "acme")]);
  expect(row?.reserved).toBe(0);
  expect(row?.spent).toBeGreaterThan(70_000_000);
  expect(row?.spent).toBeLessThanOrEqual(100_000_000);
  const usage = await one.usage();
  expect(usage.find(({ tenant }) => tenant === "other")?.ended.succeeded).toBe(30);
  expect(usage.find(({ tenant }) => tenant === "acme")?.price).toBeCloseTo((row?.spent ?? 0) / 1e9);
  // Once in each process.
  expect(errors.filter((error) => error instanceof PriceLimitError)).toHaveLength(2);
  expect(String(errors.find((error) => error instanceof PriceLimitError))).toContain(
    'The tenant "acme" has reached its `maxPrice`',
  );
  await Promise.all([one.stop(), other.stop()]);
  const later = await start({ ...options, maxPrice: { tenants: { acme: 1 } } });
  await until(async () => (await later.stats()).outcomes.succeeded === 60);
  await later.stop();
});

test("cancels, abandoned batches and failures return their reservations", async () => {
  const { time, store, start, until } = world();
  const provider = new SimProvider({ time, plan: () => ({ runMs: HOUR, statusOf: () => 400 }) });
  const accounts = [provider.account()];
  const options = { accounts, prices, thresholds: { maxAgeMs: 0 }, maxPrice: { tenants: { acme: 1 } } };
  const dispatcher = await start(options);
  const reserved = async (): Promise<number> =>
    (await store.payers([], [payerName("tenant", "acme")]))[0]?.reserved ?? -1;
  const send = async (id: string): Promise<string> => {
    await dispatcher.enqueue({
      id,
      tenant: "acme",
      body: { model: "m", max_tokens: 10, messages: [{ role: "user", content: id }] },
    });
    await until(async () => (await reserved()) > 0);
    return (await dispatcher.batches({ states: ["sealed", "submitting", "submitted", "running"] }))[0]?.key as string;
  };
  const ways: ((key: string, id: string) => Promise<unknown>)[] = [
    (_key, id) => dispatcher.cancel(id),
    (key) => dispatcher.cancelBatch(key),
    (key) => dispatcher.abandon(key, { requests: "end" }),
    async () => undefined,
  ];
  for (const [n, way] of ways.entries()) {
    const key = await send(`r${n}`);
    await time.advance(MINUTE);
    await way(key, `r${n}`);
    await until(async () => (await reserved()) === 0);
  }
  expect(await store.payers([], [payerName("tenant", "acme")])).toMatchObject([{ spent: 0, reserved: 0 }]);
  await dispatcher.stop();
});
