// Calls to the provider of an unused account in a day, by one process and by three, through the
// official client. An unknown batch must still be found.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { drive } from "../../support/drive.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, type World, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function account(fake: FakeProvider): Account {
  return openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }) });
}

const thresholds = { maxRequests: 2 };

function rig() {
  const here = world();
  const fake = fakeProvider({ clock: here.time });
  const until = (at: number): Promise<void> => drive(here.time, fake, async () => here.time.now() >= at);
  /** A process of its own; by default the sweeps of all of them begin at different times. */
  const start = () => here.start({ accounts: [account(fake)], thresholds, random: Math.random });
  const calls = async (ms: number): Promise<number> => {
    const before = fake.calls();
    await until(here.time.now() + ms);
    return fake.calls() - before;
  };
  return { ...here, fake, start, until, calls };
}

describe.each([1, 3])("an idle account under %i processes on one store", (processes) => {
  test("costs at most 24 calls a day, also on the first day", async () => {
    const { start, until, calls, time } = rig();
    const begunAt = time.now();
    const all = [];
    for (let index = 0; index < processes; index += 1) {
      all.push(await start());
      await until(begunAt + index * 3.5 * MINUTE);
    }
    const first = await calls(DAY);
    expect(first).toBeLessThanOrEqual(24);
    expect(first).toBeGreaterThanOrEqual(12);
    expect(await calls(DAY)).toBeLessThanOrEqual(24);
    for (const dispatcher of all) await dispatcher.stop();
  });

  test("costs no more a day once it was used, and an hour has passed", async () => {
    const { start, calls, store, time, fake } = rig();
    const all = [];
    for (let index = 0; index < processes; index += 1) all.push(await start());
    await all[0]?.enqueueMany([ask("a"), ask("b")]);
    await drive(time, fake, () => isAtRest(store, time.now()));
    await calls(HOUR + 10 * MINUTE);
    expect(await calls(DAY)).toBeLessThanOrEqual(24);
    for (const dispatcher of all) await dispatcher.stop();
  });

  test("is swept every ten minutes by one of them while a batch is open", async () => {
    const { start, calls, fake, until, time } = rig();
    fake.planNext({ runMs: 20 * HOUR });
    const all = [];
    for (let index = 0; index < processes; index += 1) all.push(await start());
    await all[0]?.enqueueMany([ask("a"), ask("b")]);
    await until(time.now() + HOUR);
    const before = fake.calls("files.list");
    await calls(4 * HOUR);
    expect(fake.calls("files.list") - before).toBeGreaterThanOrEqual(23);
    expect(fake.calls("files.list") - before).toBeLessThanOrEqual(25);
    for (const dispatcher of all) await dispatcher.stop();
  });
});

describe("an idle account costs at most 24 calls a day", () => {
  const shapes = [{ name: "azure" }, { name: "groq" }, { name: "together" }] as const;
  test.each(shapes)("and at $name as well", async ({ name }) => {
    const { time, start } = world();
    const fake = fakeProvider({ clock: time, dialect: name });
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const dispatcher = await start({ accounts: [openaiAccount({ client, service: name })], thresholds });
    const end = time.now() + DAY;
    await drive(time, fake, async () => time.now() >= end);
    expect(fake.calls()).toBeGreaterThan(1);
    expect(fake.calls()).toBeLessThanOrEqual(24);
    await dispatcher.stop();
  });

  test("and with hundreds of batches of other clients", async () => {
    const { start, calls, fake, time } = rig();
    for (let count = 0; count < 450; count += 1) fake.addForeign({ requests: 3 });
    await time.advance(HOUR);
    const dispatcher = await start();
    const first = await calls(DAY);
    expect(first).toBeGreaterThan(6);
    expect(first).toBeLessThanOrEqual(24);
    await dispatcher.stop();
  });
});

test("processes that start one after the other, as in a crash loop, sweep once", async () => {
  const { start, until, fake, time } = rig();
  for (let count = 0; count < 20; count += 1) {
    const dispatcher = await start();
    await until(time.now() + 20_000);
    await dispatcher.stop();
  }
  expect(fake.calls()).toBe(2);
});

test("when the process that sweeps dies, another continues at the time the next sweep was due", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time, plan: () => ({ runMs: 20 * HOUR }) });
  const first = new SimProcess(here.time);
  const clock = first.clock;
  const sweeping = { store: first.wrap(here.store), accounts: [first.wrap(sim.account())], clock, thresholds };
  const dispatcher = await here.start(sweeping);
  await dispatcher.enqueueMany([ask("a"), ask("b")]);
  await here.time.advance(25 * MINUTE);
  first.kill();
  const second = await here.start({ accounts: [sim.account()], thresholds });
  const before = sim.calls.get("list") ?? 0;
  await here.time.advance(10 * MINUTE);
  expect((sim.calls.get("list") ?? 0) - before).toBe(1);
  await second.stop();
});

/**
 * A process that falls asleep after its last look at the clock, with its create about to go out.
 */
async function sleptOver(here: World, sim: SimProvider, ms: number) {
  const sleeper = new SimProcess(here.time);
  const plain = sim.account();
  const late: Account = {
    ...plain,
    create: async (input, call) => {
      await new Promise((resolve) => here.time.setTimeout(() => resolve(null), ms));
      return plain.create(input, call);
    },
  };
  const { clock } = sleeper;
  const options = { store: sleeper.wrap(here.store), accounts: [sleeper.wrap(late)], clock, thresholds };
  const dispatcher = await here.start(options);
  await dispatcher.enqueueMany([ask("a"), ask("b")]);
  await here.time.advance(1_000);
  sleeper.sleep(ms);
  return sleeper;
}

describe("a batch unknown to the store, on an account that has become idle", () => {
  test("is found within ten minutes where the process that sent it late is awake", async () => {
    const here = world();
    const sim = new SimProvider({ time: here.time, plan: () => ({ runMs: 5 * HOUR }) });
    await sleptOver(here, sim, 14 * HOUR);
    await here.start({ accounts: [sim.account()], thresholds });
    await here.time.advance(14 * HOUR + MINUTE);
    expect(sim.batches.map(({ state }) => state)).toEqual(["done", "running"]);
    await here.time.advance(10 * MINUTE);
    expect(sim.batches.map(({ state }) => state)).toEqual(["done", "cancelled"]);
  });

  test("is found at the next sweep, within some two hours, where that process has died", async () => {
    const here = world();
    const sim = new SimProvider({ time: here.time, plan: () => ({ runMs: 5 * HOUR }) });
    const sleeper = await sleptOver(here, sim, 14 * HOUR);
    await here.start({ accounts: [sim.account()], thresholds });
    await here.time.advance(10 * HOUR);
    sleeper.kill();
    await here.time.advance(4 * HOUR + MINUTE);
    expect(sim.batches.map(({ state }) => state)).toEqual(["done", "running"]);
    await here.time.advance(130 * MINUTE);
    expect(sim.batches.map(({ state }) => state)).toEqual(["done", "cancelled"]);
  });
});
