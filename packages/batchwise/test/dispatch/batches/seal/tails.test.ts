// A tail under the provider's minimum, with the official client: it goes elsewhere, or the user
// hears of it.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { ProviderLimits } from "../../../../src/dispatch/contract/capabilities.ts";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import { drive } from "../../support/drive.ts";
import { ask, isAtRest, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LEAST = 100;

const many = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => ask(`r${from + n}`));

/** A provider that refuses batches of fewer than 100 lines. */
function site() {
  const here = world();
  const fake = fakeProvider({ clock: here.time, limits: { minLines: LEAST } });
  const errors: string[] = [];
  const accountAt = (provider: FakeProvider, name: string, limits: Partial<ProviderLimits>): Account => {
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: provider.fetch });
    return openaiAccount({ client, name, limits, weight: name === "large" ? 100 : 1 });
  };
  const large = accountAt(fake, "large", { minRequests: LEAST });
  const start = (options: Partial<DispatcherOptions> = {}) => {
    const onError = (error: unknown): void => void errors.push(String(error));
    const thresholds = { maxRequests: LEAST, maxAgeMs: 10 * MINUTE };
    return here.start({ accounts: [large], thresholds, onError, ...options });
  };
  const pass = (ms: number): Promise<void> => {
    const end = here.time.now() + ms;
    return drive(here.time, fake, async () => here.time.now() >= end);
  };
  const rest = (): Promise<void> => drive(here.time, fake, () => isAtRest(here.store, here.time.now()));
  return { ...here, fake, errors, large, accountAt, start, pass, rest };
}

test("waits for more, and onError gets once how many are missing and the other ways out", async () => {
  const { fake, errors, start, pass, rest } = site();
  const dispatcher = await start();
  await dispatcher.enqueueMany(many(0, 130));
  await pass(5 * MINUTE);
  expect(errors).toEqual([]);
  await pass(3 * HOUR);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain('30 requests for the model "m" at /v1/chat/completions cannot be sent: "large" takes at');
  expect(errors[0]).toMatch(/they wait\. Ways out: enqueue 70 more, .*onTail: "fail"/);
  expect(fake.batches().map(({ requests }) => requests)).toEqual([100]);
  await pass(24 * HOUR);
  expect(errors).toHaveLength(2);
  await dispatcher.enqueueMany(many(130, 200));
  await rest();
  expect(fake.batches().map(({ requests, state }) => [requests, state])).toEqual([
    [100, "completed"],
    [100, "completed"],
  ]);
});

test("goes to another account that takes it, without a report", async () => {
  const { time, fake, errors, large, accountAt, start, rest } = site();
  const other = fakeProvider({ clock: time });
  const dispatcher = await start({ accounts: [large, accountAt(other, "small", {})], onTail: "fail" });
  await dispatcher.enqueueMany(many(0, 130));
  await rest();
  const outcomes = (await dispatcher.stats()).outcomes;
  expect(outcomes).toMatchObject({ succeeded: 130, failed: 0 });
  expect(other.batches().map(({ requests }) => requests)).toEqual([30]);
  expect([fake.batches().length, errors]).toEqual([1, []]);
});

test("fails where onTail says so, and onError gets the error", async () => {
  const { fake, errors, start, rest } = site();
  const dispatcher = await start({ onTail: "fail" });
  await dispatcher.enqueueMany(many(0, 130));
  await rest();
  expect((await dispatcher.stats()).outcomes).toMatchObject({ succeeded: 100, failed: 30 });
  const outcome = await dispatcher.result("r129");
  expect(outcome).toMatchObject({ status: "failed", attempts: 0, response: null, error: { code: "below_minimum" } });
  expect(outcome.error?.message).toContain('"large" takes at least 100 in a batch');
  expect(errors.filter((error) => error.includes("they fail"))).toHaveLength(1);
  expect(fake.batches()).toHaveLength(1);
});

test("a minimum that half of a token limit cannot reach takes the whole of it", async () => {
  const { time, store, start, accountAt, rest } = site();
  const other = fakeProvider({ clock: time, limits: { minLines: 20 } });
  const dispatcher = await start({
    accounts: [accountAt(other, "tight", { minRequests: 20, maxEnqueuedTokens: 150 })],
  });
  await dispatcher.enqueueMany(many(0, 20));
  const [lane] = (await store.probe(100, time.now())).lanes;
  expect(lane?.tokens).toBeGreaterThan(75);
  dispatcher.flush();
  await rest();
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(20);
});

test("onTail is checked", async () => {
  const { start } = site();
  await expect(start({ onTail: "drop" as never })).rejects.toThrow(/`onTail`/);
});
