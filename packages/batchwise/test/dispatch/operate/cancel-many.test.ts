// Cancels of many requests, while the loops of two dispatchers run, through the official clients.

import { describe, expect, test } from "vitest";
import { anthropic, HOUR, MINUTE, openai, operatorWorld, request, requests } from "../support/operator-world.ts";

describe.each([openai, anthropic])("at $name", (service) => {
  test("a job is cancelled: waiting requests end at once, its batches are stopped, others continue", async () => {
    const { open, fake, pass, rest, store, time } = operatorWorld({ plan: { runMs: 20 * HOUR } });
    const one = await open(service.account(fake));
    const two = await open(service.account(fake));
    await one.enqueueMany(requests(8, { job: "a" }));
    await pass(5_000);
    await two.pauseAccount(service.account(fake).name);
    await two.enqueueMany([...requests(5, { job: "a" }, "later"), request("other", { job: "b" })]);
    // Without tags the second batch has another size than the first, so one request may wait.
    const sent = (await store.batches({ limit: 2 })).reduce((sum, { requests: count }) => sum + count, 0);
    expect(sent).toBeGreaterThan(6);
    expect(await one.cancel({ job: "a" })).toEqual({ cancelled: 13 - sent, requested: sent, ended: 0, notFound: 0 });
    // Without the hurry, the next poll would come after minutes.
    await pass(5_000);
    expect(fake.batches().map(({ state }) => state)).toEqual(["cancelling", "cancelling"]);
    await two.resumeAccount(service.account(fake).name);
    await rest();
    const { requests: all } = await two.requests({ job: "a" });
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set(["cancelled"]));
    expect((await two.result("other")).status).toBe("succeeded");
    expect(await one.cancel({ job: "a" })).toEqual({ cancelled: 0, requested: 0, ended: 0, notFound: 0 });
    const { outcomes } = await store.probe(1, time.now());
    expect(outcomes).toMatchObject({ cancelled: 13, succeeded: 1 });
    await one.stop();
    await two.stop();
  });
});

test("ids are counted by their result, an id that comes twice once", async () => {
  const { open, fake, pass, rest } = operatorWorld();
  const dispatcher = await open(openai.account(fake));
  await dispatcher.enqueueMany(requests(4, {}, "done"));
  await rest();
  await dispatcher.enqueueMany(requests(5));
  await pass(5_000);
  const counts = await dispatcher.cancel(["done0", "r0", "r1", "r0", "r4", "nobody"]);
  expect(counts).toEqual({ cancelled: 1, requested: 2, ended: 1, notFound: 1 });
  expect(await dispatcher.cancel([])).toEqual({ cancelled: 0, requested: 0, ended: 0, notFound: 0 });
  expect(await dispatcher.cancel("r2")).toBe("requested");
  await dispatcher.stop();
});

test("thousands are cancelled in pages", async () => {
  const { open, fake } = operatorWorld();
  const dispatcher = await open(openai.account(fake), { thresholds: { maxAgeMs: HOUR } });
  await dispatcher.enqueueMany(requests(3_500, { tenant: "t" }));
  expect(await dispatcher.cancel({ tenant: "t", statuses: ["waiting"] })).toMatchObject({ cancelled: 3_500 });
  await dispatcher.enqueueMany(requests(2_500, {}, "more"));
  const ids = requests(2_500, {}, "more").map(({ id }) => id as string);
  expect(await dispatcher.cancel(ids)).toMatchObject({ cancelled: 2_500 });
  await dispatcher.stop();
});

test("a quarantined batch whose requests are all cancelled ends, also one id at a time", async () => {
  const { open, fake, pass, rest } = operatorWorld({ plan: { runMs: 2 * HOUR } });
  const dispatcher = await open(openai.account(fake));
  await dispatcher.enqueueMany(requests(8));
  await pass(10 * MINUTE);
  fake.inject({ on: "batches.retrieve", times: 1_000, accept: false, reply: { status: 404 } });
  fake.inject({ on: "batches.list", times: 1_000, accept: false, reply: { status: 500 } });
  await pass(HOUR);
  expect((await dispatcher.stats()).batches.quarantined).toBe(2);
  expect(await dispatcher.cancel(["r0", "r1", "r2", "r3", "r4", "r5", "r6"])).toMatchObject({ requested: 7 });
  await pass(MINUTE);
  expect((await dispatcher.stats()).batches.quarantined).toBe(1);
  expect(await dispatcher.cancel("r7")).toBe("requested");
  await rest();
  expect((await dispatcher.stats()).outcomes.cancelled).toBe(8);
  await dispatcher.stop();
});

test("a filter that would cancel everything by mistake is refused, with the words to type", async () => {
  const { open, fake } = operatorWorld();
  const dispatcher = await open(openai.account(fake));
  await dispatcher.enqueueMany(requests(3));
  const wrong = async (filter: unknown, message: string): Promise<void> => {
    await expect(dispatcher.cancel(filter as object)).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(message),
    });
  };
  await wrong(
    {},
    "cancel({}) would be for every request. Give one of `statuses`, `batch`, `tenant`, `job`; " +
      'for all, { statuses: ["waiting", "in_batch"] }',
  );
  await wrong({ job: undefined }, "Expected `job` to be a name, not an empty string, got `undefined`");
  await wrong({ job: undefined, statuses: ["waiting"] }, "Expected `job` to be a name");
  await wrong({ tenant: "" }, "Expected `tenant` to be a name");
  await wrong({ statuses: [] }, "Expected `statuses` to be an array with statuses in it");
  await wrong({ statuses: ["failed"] }, 'Expected `statuses` to be "waiting" or "in_batch"');
  await wrong({ ids: ["r0"] }, "pass the ids themselves: cancel(ids)");
  await wrong({ model: "m" }, "Unknown option `model`");
  await wrong(undefined, "Expected `which` to be an id, an array of ids or a filter, got `undefined`");
  await wrong([1], "Expected `ids` to be a string");
  expect((await dispatcher.requests({ statuses: ["waiting"] })).requests).toHaveLength(3);
  expect(await dispatcher.cancel({ statuses: ["waiting", "in_batch"] })).toMatchObject({ cancelled: 3 });
  await dispatcher.stop();
});
