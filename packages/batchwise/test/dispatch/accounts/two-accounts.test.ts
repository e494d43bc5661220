// Two accounts, where a move of requests from one to the other would do harm: results would be
// lost, a fleet would stand still, or requests would go to and fro. Official clients, virtual time.

import { createDispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeFault, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { xaiAccount } from "batchwise/dispatch/xai";
import { describe, expect, test } from "vitest";
import { drive } from "../support/drive.ts";
import { all, jobWorld, plain } from "../support/job-world.ts";
import { accountOf, clientOf, type Fetch, unreachable } from "../support/openai-accounts.ts";
import { ask, isAtRest, SimProcess, seeded, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function bothOf(fakes: readonly FakeProvider[]) {
  return {
    get open() {
      return fakes.reduce((sum, fake) => sum + fake.open, 0);
    },
  };
}

test("a batch that is stopped for credit keeps its results, though another account is free", async () => {
  const place = world();
  const stopping = fakeProvider({ clock: place.time, dialect: "xai" });
  const other = fakeProvider({ clock: place.time, dialect: "xai" });
  const accounts = [
    xaiAccount({ name: "stopping", client: clientOf(stopping.fetch), weight: 100 }),
    xaiAccount({ name: "other", client: clientOf(other.fetch) }),
  ];
  const stopped = (body: string): string =>
    body
      .replace('"cancel_by_xai_message":null', '"cancel_by_xai_message":"Your team has insufficient credits."')
      .replace(/"num_pending":\d/, '"num_pending":0')
      .replace(/"num_success":\d/, '"num_success":4');
  const told: string[] = [];
  const onError = (error: unknown) => told.push(String(error));
  const dispatcher = await place.start({ accounts, thresholds: { maxAgeMs: MINUTE }, onError });
  stopping.planNext({ runMs: 4 * HOUR });
  await dispatcher.enqueueMany(
    ["a", "b", "c", "d"].map((id) => ({ ...ask(id), body: { ...ask(id).body, model: "grok-4" } })),
  );
  const both = bothOf([stopping, other]);
  await drive(place.time, both, async () => stopping.batches().length === 1);
  await place.time.advance(2 * HOUR + 2 * MINUTE);
  stopping.inject({ on: ["batches.retrieve", "batches.list"], times: 100, reply: { edit: stopped } });
  await drive(place.time, both, async () => told.length > 0);
  await drive(place.time, both, () => isAtRest(place.store, place.time.now()));
  expect(told.join()).toContain("insufficient credits");
  expect([stopping.calls("batches.create"), other.calls("batches.create")]).toEqual([1, 0]);
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(4);
  await dispatcher.stop();
});

test("two accounts whose keys are refused do not pass their requests to each other again and again", async () => {
  const place = world();
  const fakes = [fakeProvider({ clock: place.time }), fakeProvider({ clock: place.time })];
  for (const fake of fakes) {
    const error = { message: "No.", type: "invalid_request_error", code: "invalid_api_key" };
    const reply = { status: 401, body: { error } };
    fake.inject({ on: ["files.create", "batches.create"], accept: false, times: 10_000, reply });
  }
  const accounts = fakes.map((fake, index) => accountOf(`account ${index}`, fake.fetch));
  const thresholds = { maxRequests: 5, maxAgeMs: 1_000 };
  const dispatcher = await place.start({ accounts, thresholds, onError: () => {} });
  await dispatcher.enqueueMany(Array.from({ length: 20 }, (_, index) => ask(`r${index}`)));
  const end = place.time.now() + 6 * HOUR;
  await drive(place.time, bothOf(fakes), async () => place.time.now() >= end);
  const batches = await place.store.batches({ limit: 1_000 });
  expect(batches.reduce((sum, { requests }) => sum + requests, 0)).toBeLessThanOrEqual(60);
  await dispatcher.stop();
});

test("a process without a network pauses no account for the others", async () => {
  const place = world();
  const plan = { runMs: MINUTE };
  const fakes = [fakeProvider({ clock: place.time, plan }), fakeProvider({ clock: place.time, plan })];
  const begin = async (fetchOf: (fake: FakeProvider) => Fetch, seed: number) => {
    const { clock } = new SimProcess(place.time);
    const dispatcher = createDispatcher({
      ...{ store: place.store, clock, random: seeded(seed), owner: `process ${seed}`, onError: () => {} },
      accounts: fakes.map((fake, index) => accountOf(`account ${index}`, fetchOf(fake))),
      thresholds: { maxRequests: 5, maxAgeMs: 30_000 },
    });
    await dispatcher.start();
    return dispatcher;
  };
  const cut = await begin(() => unreachable, 1);
  const whole = await begin((fake) => fake.fetch, 2);
  const end = place.time.now() + HOUR;
  let [next, count, paused] = [place.time.now(), 0, 0];
  await drive(place.time, bothOf(fakes), async () => {
    const now = place.time.now();
    if (now >= next) {
      next += MINUTE;
      count += 1;
      await (count % 2 === 0 ? cut : whole).enqueueMany([ask(`a${count}`), ask(`b${count}`)]);
      const { ledgers } = await place.store.probe(1, now);
      paused += ledgers.filter(({ blockedUntil }) => blockedUntil > now).length;
    }
    return now >= end;
  });
  expect([count > 50, paused]).toEqual([true, 0]);
  await Promise.all([cut.stop(), whole.stop()]);
});

test("a call that failed once excludes no account where only the other takes larger batches", async () => {
  const here = jobWorld({ plan: { runMs: MINUTE } });
  let lists = 0;
  const first = accountOf("first", async (input, init) => {
    const request = new Request(input as Request, init);
    if (request.method === "GET" && lists++ === 0) return unreachable(input, init);
    return here.fake.fetch(request);
  });
  const client = clientOf(fakeProvider({ clock: here.time }).fetch);
  const accounts = [first, openaiAccount({ name: "large", client, limits: { minRequests: 100 } })];
  const begunAt = here.time.now();
  const outcomes = await here.settle(all(here.run({ requests: plain(25), accounts, onError: () => {} })));
  expect(outcomes).toHaveLength(25);
  expect(here.time.now() - begunAt).toBeLessThan(10 * MINUTE);
});

describe("a key that an operator has mended is used at once", () => {
  const noKey = { message: "No.", type: "invalid_request_error", code: "invalid_api_key" };
  const refusal: FakeFault = {
    ...{ on: ["files.create", "batches.create"], accept: false, times: 10_000 },
    reply: { status: 401, body: { error: noKey } },
  };

  test.each(["model", "account"] as const)(
    "where the other account has taken the batches and has none any more: ledgers by %s",
    async (ledgerScope) => {
      const here = jobWorld({ plan: { runMs: MINUTE } });
      const other = fakeProvider({ clock: here.time, plan: { runMs: MINUTE } });
      here.fake.inject(refusal);
      const accounts = [accountOf("mended", here.fake.fetch), accountOf("other", other.fetch)].map((account) =>
        Object.assign(account, { capabilities: { ...account.capabilities, ledgerScope } }),
      );
      const told: unknown[] = [];
      const onError = (error: unknown) => told.push(error);
      expect(await here.settle(all(here.run({ requests: plain(25), accounts, onError })))).toHaveLength(25);
      expect([told.length > 0, here.fake.calls("batches.create")]).toEqual([true, 0]);
      here.fake.heal();
      const begunAt = here.time.now();
      const again = here.run({ requests: plain(5), job: "next", accounts: accounts.slice(0, 1) });
      expect(await here.settle(all(again))).toHaveLength(5);
      expect(here.time.now() - begunAt).toBeLessThan(5 * MINUTE);
      expect((await here.store.probe(1, here.time.now())).ledgers).toContainEqual(
        expect.objectContaining({ name: "mended", blockedUntil: 0 }),
      );
    },
  );

  test("where the batch that carries the news is taken: the account is not blamed", async () => {
    const here = jobWorld({ plan: { runMs: MINUTE } });
    here.fake.inject(refusal);
    const accounts = [accountOf("mended", here.fake.fetch)];
    const onError = (): void => {};
    await expect(here.settle(all(here.run({ requests: plain(25), accounts, onError })))).rejects.toThrow();
    here.fake.heal();
    const transition = here.store.transition.bind(here.store);
    let ends = 0;
    here.store.transition = async (key, fence, changes, now) => {
      const isEnd = changes.ledgers?.some(({ blockedUntil }) => blockedUntil === 0) ?? false;
      if (isEnd) ends += 1;
      return isEnd && ends === 1 ? { ok: false, reason: "fence" } : transition(key, fence, changes, now);
    };
    const told: unknown[] = [];
    const again = here.run({ requests: plain(25), accounts, onError: (error) => told.push(error) });
    expect(await here.settle(all(again))).toHaveLength(25);
    expect([told, ends]).toEqual([[], 2]);
  });

  test("where the other key is refused, too, and holds the batches", async () => {
    const here = jobWorld({ plan: { runMs: MINUTE } });
    const other = fakeProvider({ clock: here.time });
    for (const fake of [here.fake, other]) fake.inject(refusal);
    const accounts = [accountOf("mended", here.fake.fetch), accountOf("other", other.fetch)];
    const onError = (): void => {};
    const first = here.settle(all(here.run({ requests: plain(25), accounts, onError })));
    await expect(first).rejects.toMatchObject({ code: "ACCOUNT_REFUSED" });
    const held = await here.store.batches({ states: ["sealed"], limit: 100 });
    expect(held.map(({ account }) => account)).toContain("other");
    here.fake.heal();
    const begunAt = here.time.now();
    expect(await here.settle(all(here.run({ requests: plain(25), accounts, onError })))).toHaveLength(25);
    expect(here.time.now() - begunAt).toBeLessThan(5 * MINUTE);
  });
});
