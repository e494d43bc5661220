// A provider whose validation names one bad line at a time, and a lane with only bad lines, through
// the official clients: the lane pauses after a few refusals and is reported, and requests that
// were not named wait.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account, AccountOptions } from "../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { drive } from "../support/drive.ts";
import { isAtRest, START, type World, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LANE = { endpoint: "/v1/chat/completions", model: "m" } as const;

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);
const ask = (id: string, model = "m"): DispatchRequest => ({
  id,
  body: { model, messages: [{ role: "user", content: `Say ${id}.` }] },
});

const account = (fake: FakeProvider, more: AccountOptions = {}): Account =>
  openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }), ...more });

const badField = { code: "unknown_parameter", message: "Unknown parameter: 'temprature'.", param: "body.temprature" };
const noModel = { code: "model_not_found", message: "The model 'm' does not exist.", param: "body.model" };

interface Site extends World {
  readonly fake: FakeProvider;
  readonly told: string[];
  /** One more process on the store; the first one has `dispatcher`. */
  spawn(): Promise<Dispatcher>;
  readonly dispatcher: Dispatcher;
  run(done: () => Promise<boolean>): Promise<void>;
  runFor(ms: number): Promise<void>;
}

async function site(options: FakeOptions, more: Partial<DispatcherOptions> = {}): Promise<Site> {
  const here = world();
  const { time } = here;
  const fake = fakeProvider({ clock: time, limits: { namedFaults: 1 }, ...options });
  const told: string[] = [];
  const onError = (error: unknown): number => told.push(String((error as Error).message));
  const thresholds = { maxRequests: 20, maxAgeMs: MINUTE };
  const spawn = (): Promise<Dispatcher> => here.start({ accounts: [account(fake)], thresholds, onError, ...more });
  const run = (done: () => Promise<boolean>): Promise<void> => drive(time, fake, done);
  const runFor = (ms: number): Promise<void> => {
    const until = time.now() + ms;
    return run(async () => time.now() >= until);
  };
  return { ...here, fake, told, spawn, dispatcher: await spawn(), run, runFor };
}

const pausedWords = (told: readonly string[]): readonly string[] =>
  told.filter((words) => words.includes("The others wait"));

describe("every line of a lane is bad, and validation names one", () => {
  test.each([
    ["a wrong parameter in the defaults", badField, 3],
    ["a model that does not exist", noModel, 1],
  ])("%s pauses the lane, reports it, and holds the rest", async (_name, fault, named) => {
    const { fake, dispatcher, told, runFor } = await site({ faultOf: () => fault });
    await dispatcher.enqueueMany(names(60).map((id) => ask(id)));
    await runFor(3 * HOUR);
    const { outcomes, paused } = await dispatcher.stats();
    expect(outcomes.failed).toBeGreaterThanOrEqual(named);
    expect(fake.calls("batches.create")).toBeLessThan(14);
    expect(outcomes.failed).toBeLessThan(14);
    expect(told.some((words) => words.includes(fault.code) && words.includes(fault.message))).toBe(true);
    expect(pausedWords(told).length).toBeGreaterThan(0);
    expect(paused.lanes).toMatchObject([{ ...LANE, reason: expect.stringContaining(fault.code) as string }]);
    await dispatcher.stop();
  });

  test("one request that passes validation lets the others continue", async () => {
    const here: { isMended: boolean } = { isMended: false };
    const { fake, dispatcher, store, time, run, runFor } = await site({
      faultOf: () => (here.isMended ? null : badField),
    });
    await dispatcher.enqueueMany(names(60).map((id) => ask(id)));
    await runFor(HOUR);
    const { outcomes: before } = await dispatcher.stats();
    here.isMended = true;
    await run(() => isAtRest(store, time.now()));
    const { outcomes, paused } = await dispatcher.stats();
    expect(outcomes.failed).toBe(before.failed);
    expect(outcomes.succeeded).toBe(60 - before.failed);
    expect(paused.lanes).toEqual([]);
    expect([...fake.runs().values()].every((runs) => runs === 1)).toBe(true);
    await dispatcher.stop();
  });

  test("an operator lets them continue at once, also in a later process", async () => {
    const here: { isMended: boolean } = { isMended: false };
    const faultOf = (): typeof noModel | null => (here.isMended ? null : noModel);
    const { fake, dispatcher, spawn, store, time, run, runFor } = await site({ faultOf });
    await dispatcher.enqueueMany(names(40).map((id) => ask(id)));
    await runFor(2 * HOUR);
    await dispatcher.stop();
    const creates = fake.calls("batches.create");
    const later = await spawn();
    await runFor(10 * MINUTE);
    expect(fake.calls("batches.create") - creates).toBeLessThan(2);
    expect((await later.stats()).paused.lanes).toHaveLength(1);
    here.isMended = true;
    const resumedAt = time.now();
    expect(await later.resumeLane(LANE)).toBe(true);
    expect(await later.resumeLane(LANE)).toBe(false);
    await run(() => isAtRest(store, time.now()));
    expect(time.now() - resumedAt).toBeLessThan(HOUR);
    await later.stop();
  });

  test("other lanes continue meanwhile", async () => {
    const { fake, dispatcher, runFor } = await site({ faultOf: ({ body }) => (body.model === "m" ? noModel : null) });
    await dispatcher.enqueueMany([...names(20).map((id) => ask(id)), ask("other", "n")]);
    await runFor(HOUR);
    expect((await dispatcher.result("other")).status).toBe("succeeded");
    expect(fake.calls("batches.create")).toBeLessThan(12);
    await dispatcher.stop();
  });

  test("the lane continues at another account that takes it", async () => {
    const here = world();
    const bad = fakeProvider({ clock: here.time, limits: { namedFaults: 1 }, faultOf: () => noModel });
    const good = fakeProvider({ clock: here.time, seed: 2 });
    const accounts = [account(bad, { name: "bad" }), account(good, { name: "good" })];
    const dispatcher = await here.start({ accounts, thresholds: { maxRequests: 5, maxAgeMs: MINUTE } });
    await dispatcher.enqueueMany(names(40).map((id) => ask(id)));
    const open = { get: () => bad.open + good.open };
    await drive(here.time, Object.defineProperty({ open: 0 }, "open", open), () =>
      isAtRest(here.store, here.time.now()),
    );
    const { outcomes } = await dispatcher.stats();
    expect(outcomes.failed).toBeLessThan(6);
    expect(outcomes.succeeded).toBeGreaterThan(34);
    expect(here.time.now() - START).toBeLessThan(2 * HOUR);
    await dispatcher.stop();
  });

  test("a lane that never fills sends its request by itself at once, and its deadlines hold", async () => {
    const { fake, dispatcher, store, time, run, runFor } = await site(
      { faultOf: () => noModel },
      { thresholds: { maxRequests: 4, maxAgeMs: 12 * HOUR } },
    );
    const deadlineAt = time.now() + 3 * HOUR;
    await dispatcher.enqueueMany(
      names(4)
        .map((id) => ask(id))
        .map((one) => ({ ...one, deadlineAt })),
    );
    await runFor(10 * MINUTE);
    expect(fake.calls("batches.create")).toBe(3);
    await run(() => isAtRest(store, time.now()));
    expect(time.now()).toBeLessThan(deadlineAt + MINUTE);
    await dispatcher.stop();
  });

  test("processes that seal at once send one single request between them", async () => {
    const { fake, dispatcher, spawn, runFor } = await site({ faultOf: () => noModel });
    const others = [await spawn(), await spawn()];
    await dispatcher.enqueueMany(names(60).map((id) => ask(id)));
    await runFor(3 * HOUR);
    expect(fake.calls("batches.create")).toBeLessThan(16);
    for (const each of [dispatcher, ...others]) await each.stop();
  });
});

describe("bad lines among good ones", () => {
  test("are split out, although there are more than three with one code", async () => {
    const isBad = (content: string): boolean => /Say r(3|7|11|15|16|31|38)\./.test(content);
    const { fake, dispatcher, store, time, run } = await site({
      faultOf: ({ body }) => (isBad(JSON.stringify(body)) ? badField : null),
    });
    await dispatcher.enqueueMany(names(40).map((id) => ask(id)));
    await run(() => isAtRest(store, time.now()));
    const { outcomes } = await dispatcher.stats();
    expect(outcomes).toMatchObject({ failed: 7, succeeded: 33 });
    expect([...fake.runs().values()].every((runs) => runs === 1)).toBe(true);
    expect(time.now() - START).toBeLessThan(3 * HOUR);
    await dispatcher.stop();
  });

  test("one at a time between good batches never pause the lane", async () => {
    const { dispatcher, told, store, time, run } = await site({
      faultOf: ({ body }) => (/bad/.test(JSON.stringify(body)) ? badField : null),
    });
    for (let round = 0; round < 5; round += 1) {
      await dispatcher.enqueueMany([ask(`bad${round}`), ...names(3).map((id) => ask(`${round}-${id}`))]);
      await run(() => isAtRest(store, time.now()));
    }
    expect((await dispatcher.stats()).outcomes).toMatchObject({ failed: 5, succeeded: 15 });
    expect(pausedWords(told)).toEqual([]);
    await dispatcher.stop();
  });
});
