// The dispatcher with the real adapters and official clients on the strict fake, in virtual time.
// The provider counts its calls and lines.

import {
  type FakeFault,
  type FakeOptions,
  type FakeProvider,
  fakeFaults,
  fakeProvider,
} from "batchwise/dispatch/testing";
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../src/dispatch/contract/types.ts";
import { anthropicCase, openaiCase } from "./providers/account-cases.ts";
import type { Adapter } from "./providers/account-suite.ts";
import { settler } from "./support/drive.ts";
import { ask, isAtRest, type World, world } from "./support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const REQUESTS = 24;

interface Run {
  readonly fake: FakeProvider;
  readonly outcomes: readonly Outcome[];
}

/** Runs virtual time until nothing waits and nothing runs. */
async function rest({ time, store }: World, fake: FakeProvider, withinMs: number): Promise<void> {
  const settle = settler(time, fake);
  for (const end = time.now() + withinMs; !(await isAtRest(store, time.now())); await time.advance(15_000)) {
    if (time.now() >= end) throw new Error(`It did not come about within ${withinMs / HOUR} virtual hours.`);
    await settle();
  }
}

/** Sends two dozen requests in batches of eight through one account, and waits for all outcomes. */
async function run(each: Adapter, options: FakeOptions, faults: readonly FakeFault[] = []): Promise<Run> {
  const here: World = world();
  const fake = fakeProvider({ clock: here.time, identify: ({ body }) => JSON.stringify(body.messages), ...options });
  for (const fault of faults) fake.inject(fault);
  const dispatcher = await here.start({
    accounts: [each.account({ fetch: fake.fetch })],
    thresholds: { maxRequests: 8 },
  });
  const names = Array.from({ length: REQUESTS }, (_, n) => `request ${n}`);
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  const answers = Promise.all(names.map((name) => dispatcher.result(name)));
  await rest(here, fake, 96 * HOUR);
  await dispatcher.stop();
  return { fake, outcomes: await answers };
}

function expectAllOnce({ fake, outcomes }: Run): void {
  expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: REQUESTS }, () => "succeeded"));
  for (const [n, { response }] of outcomes.entries()) {
    expect(response?.body.choices).toMatchObject([{ message: { content: `echo: request ${n}` } }]);
  }
  expect([...fake.runs().values()]).toEqual(Array.from({ length: REQUESTS }, () => 1));
}

describe.each([openaiCase, anthropicCase])("$name under the dispatcher", (each) => {
  test("runs every request once", async () => {
    const { fake, outcomes } = await run(each, {});
    expectAllOnce({ fake, outcomes });
    expect(fake.calls(each.create)).toBe(fake.batches().length);
  });

  test.each<[string, FakeOptions, FakeFault[]]>([
    ["a create is accepted and its answer lost", {}, [fakeFaults.acceptThenDrop]],
    ["a create is lost on the way", {}, [fakeFaults.rejectThenDrop]],
    ["a create is answered with 500 although it was accepted", {}, [fakeFaults.errorAfterAccept]],
    ["a create is refused for the rate", {}, [fakeFaults.rateLimited]],
    ["a create is accepted after the client gave up", {}, [{ on: each.create, delayMs: 100_000 }]],
    ["lists lag behind a lost answer", { listLagMs: 90_000 }, [fakeFaults.acceptThenDrop]],
    ["the provider's clock is a minute ahead", { clockSkewMs: MINUTE }, [fakeFaults.acceptThenDrop]],
    ["a download is cut", {}, [fakeFaults.cutDownload]],
    ["result lines come twice", { plan: { duplicateLines: 3 } }, []],
    ["the money is gone for a while", {}, [{ ...fakeFaults.creditExhausted }, { ...fakeFaults.quotaExhausted }]],
    [
      "polls fail for a while",
      {},
      [
        {
          on: ["batches.retrieve", "messages.retrieve", "batches.list", "messages.list"],
          times: 5,
          reply: { status: 503 },
        },
      ],
    ],
  ])("runs every request once when %s", async (_case, options, faults) => {
    const seen = await run(each, options, faults);
    expectAllOnce(seen);
    expect(seen.fake.faultsHit > 0).toBe(faults.length > 0);
  });

  test("tries lost, failed and expired requests again", async () => {
    const plan: FakeOptions["plan"] = ({ index }) => {
      if (index === 0) return { missingLines: 2 };
      if (index === 1) return { runMs: 48 * HOUR, expiredShare: 0.5 };
      return index === 2 ? { failedShare: 0.5 } : {};
    };
    const { outcomes } = await run(each, { plan });
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: REQUESTS }, () => "succeeded"));
  });
});

test("an enqueued limit holds batches back and charges no attempt", async () => {
  const { fake, outcomes } = await run(openaiCase, { limits: { enqueuedTokens: 60 } });
  expectAllOnce({ fake, outcomes });
  expect(outcomes.map(({ attempts }) => attempts)).toEqual(Array.from({ length: REQUESTS }, () => 1));
  expect(fake.batches().some(({ state }) => state === "failed")).toBe(true);
});

test("a line that validation blames fails by itself; its neighbours run once", async () => {
  const here = world();
  const fake = fakeProvider({ clock: here.time, identify: ({ body }) => JSON.stringify(body.messages) });
  fake.planNext({ failWith: { code: "invalid_request", message: "Bad line.", line: 2 } });
  const dispatcher = await here.start({
    accounts: [openaiCase.account({ fetch: fake.fetch })],
    thresholds: { maxRequests: 3 },
  });
  await dispatcher.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
  const answers = Promise.all(["a", "b", "c"].map((name) => dispatcher.result(name)));
  await rest(here, fake, 24 * HOUR);
  await dispatcher.stop();
  expect((await answers).map(({ status, error }) => [status, error?.code])).toEqual([
    ["succeeded", undefined],
    ["failed", "invalid_request"],
    ["succeeded", undefined],
  ]);
  expect([...fake.runs().values()]).toEqual([1, 1]);
});

test.each<[string, FakeFault, string[]]>([
  ["ours was accepted", fakeFaults.acceptThenDrop, []],
  ["ours never arrived", fakeFaults.rejectThenDrop, ["foreign"]],
])(
  "a stranger's batch of the same size at Anthropic is distinguished from ours in the end: %s",
  async (_case, fault, actions) => {
    const here = world();
    const fake = fakeProvider({ clock: here.time, identify: ({ body }) => JSON.stringify(body.messages) });
    fake.addForeign({ requests: 8, surface: "anthropic" });
    fake.inject(fault);
    const dispatcher = await here.start({
      accounts: [anthropicCase.account({ fetch: fake.fetch })],
      thresholds: { maxRequests: 8 },
    });
    await dispatcher.enqueueMany(Array.from({ length: 8 }, (_, n) => ask(`request ${n}`)));
    await rest(here, fake, 24 * HOUR);
    const batches = await dispatcher.batches();
    expect(batches.map(({ state }) => state)).toEqual(["done"]);
    expect(batches[0]?.orphans.map(({ action }) => action)).toEqual(actions);
    expect([...fake.runs().values()]).toEqual(Array.from({ length: 8 }, () => 1));
    await dispatcher.stop();
  },
);
