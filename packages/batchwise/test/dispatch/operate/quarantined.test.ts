// A job that reads until nothing is left, with the official client, while the provider has
// forgotten its batches.

import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { QuarantinedError } from "../../../src/dispatch/contract/errors.ts";
import type { LoggedOutcome } from "../../../src/dispatch/contract/types.ts";
import { keyOf, request, sealInput } from "../../../src/dispatch-testing/conformance/store/case.ts";
import { drive } from "../support/drive.ts";
import { anthropic, MINUTE, operatorWorld, requests } from "../support/operator-world.ts";
import { ask, world } from "../support/world.ts";

const HOUR = 3_600_000;

test("a log read until idle gives its outcomes, and then says which batches wait for an operator", async () => {
  const { time, start } = world();
  const fake = fakeProvider({ clock: time, plan: ({ index }) => ({ runMs: index === 0 ? 60_000 : 2 * HOUR }) });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const accounts = [openaiAccount({ client })];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: 50, maxAgeMs: 1_000 } });
  await dispatcher.enqueueMany(Array.from({ length: 200 }, (_, n) => ask(`r${n}`)));
  const end = time.now() + HOUR;
  await drive(time, fake, async () => time.now() >= end);
  const lost = { status: 404, body: { error: { message: "No such batch.", code: null } } };
  fake.inject({ on: ["batches.retrieve", "batches.list"], times: 1_000, accept: false, reply: lost });
  const read: LoggedOutcome[] = [];
  const job = (async (): Promise<unknown> => {
    try {
      for await (const outcome of dispatcher.outcomes({ untilIdle: true })) read.push(outcome);
      return "ended";
    } catch (error) {
      return error;
    }
  })();
  let said: unknown = null;
  void job.then((value) => {
    said = value;
  });
  await drive(time, fake, async () => said !== null);
  expect(read).toHaveLength(50);
  expect(said).toBeInstanceOf(QuarantinedError);
  const aside = await dispatcher.batches({ states: ["quarantined"] });
  expect(aside).toHaveLength(3);
  expect(said).toMatchObject({ code: "QUARANTINED", keys: aside.map(({ key }) => key) });
  expect(String(said)).toContain("150 requests have no outcome");

  fake.heal();
  expect(await dispatcher.resume((said as QuarantinedError).keys)).toBe(3);
  let count = 0;
  const rest = (async (): Promise<void> => {
    for await (const _ of dispatcher.outcomes({ untilIdle: true })) count += 1;
  })();
  let isOver = false;
  void rest.then(() => {
    isOver = true;
  });
  await drive(time, fake, async () => isOver);
  expect(count).toBe(200);
  expect([...fake.runs().values()].every((runs) => runs === 1)).toBe(true);
  await dispatcher.stop();
});

test("a batch that was found by its size and is then forgotten waits for an operator, and is not sent again", async () => {
  const { open, fake, pass, rest } = operatorWorld({ plan: { runMs: 2 * HOUR } });
  fake.inject({ on: "messages.create", reply: "drop" });
  const dispatcher = await open(anthropic.account(fake));
  await dispatcher.enqueueMany(requests(4));
  await pass(10 * MINUTE);
  expect(await dispatcher.batches()).toMatchObject([{ state: "running" }]);
  fake.inject({ on: "messages.retrieve", times: 1_000, accept: false, reply: { status: 404 } });
  await pass(HOUR);
  const [batch] = await dispatcher.batches();
  expect(batch?.state).toBe("quarantined");
  fake.heal();
  expect(await dispatcher.resume(batch?.key as string)).toBe(1);
  await rest();
  expect([...fake.runs().values()]).toEqual([1, 1, 1, 1]);
  await dispatcher.stop();
});

test("a batch that its provider did not know for hours is found again, within the hour, and runs once", async () => {
  const { time, start } = world();
  const fake = fakeProvider({ clock: time, plan: { runMs: 60_000 } });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const accounts = [openaiAccount({ client })];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: 5, maxAgeMs: 1_000 } });
  const names = Array.from({ length: 5 }, (_, n) => `r${n}`);
  const body = { error: { message: "No such batch.", code: null } };
  const lost = { status: 404, body };
  const backAt = time.now() + 3 * HOUR;
  fake.inject({ on: ["batches.retrieve", "batches.list"], until: backAt, accept: false, reply: lost });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  const [asideAt, lookedUntil] = [time.now() + HOUR, backAt - 1];
  await drive(time, fake, async () => time.now() >= asideAt);
  expect((await dispatcher.batches()).map(({ state }) => state)).toEqual(["quarantined"]);
  const before = fake.calls("batches.retrieve");
  await drive(time, fake, async () => time.now() >= lookedUntil);
  expect(fake.calls("batches.retrieve") - before).toBeLessThanOrEqual(2);
  await drive(time, fake, async () => (await dispatcher.batches()).every(({ state }) => state === "done"));
  expect(time.now() - backAt).toBeLessThan(75 * MINUTE);
  const outcomes = await Promise.all(names.map((name) => dispatcher.result(name)));
  expect(outcomes.map(({ status, attempts }) => [status, attempts])).toEqual(names.map(() => ["succeeded", 1]));
  expect([...fake.runs().values()]).toEqual(names.map(() => 1));
  await dispatcher.stop();
});

test("a batch that vanished is found again behind 100 newer ones that wait for an operator; failed looks are reported once", async () => {
  const { open, fake, pass, time, store, told } = operatorWorld({ plan: { runMs: MINUTE } });
  const dispatcher = await open(anthropic.account(fake));
  const retrieve = { on: "messages.retrieve", times: 1_000, accept: false } as const;
  fake.inject({ ...retrieve, reply: { status: 404 } });
  await dispatcher.enqueueMany(requests(4));
  await pass(HOUR);
  expect(await dispatcher.batches()).toMatchObject([{ state: "quarantined" }]);
  for (let n = 1; n <= 100; n += 1) {
    const now = time.now();
    await store.enqueue([request(`other-${n}`)], now);
    const place = { account: "anthropic", ledger: "anthropic", now, leaseUntil: now, maxRequests: 1 };
    await store.seal(sealInput(n, place));
    await store.transition(keyOf(n), 1, { state: "quarantined" }, now);
  }
  fake.heal();
  fake.inject({ ...retrieve, reply: { status: 503 } });
  const [calls, before] = [fake.calls("messages.retrieve"), told.length];
  await pass(4 * HOUR);
  expect(fake.calls("messages.retrieve") - calls).toBeGreaterThanOrEqual(3);
  expect(told.slice(before)).toEqual(["ACCOUNT_UNAVAILABLE"]);
  fake.heal();
  await pass(75 * MINUTE);
  expect((await store.batches({ limit: 200, states: ["done"] })).map(({ requests }) => requests)).toEqual([4]);
  await dispatcher.stop();
});
