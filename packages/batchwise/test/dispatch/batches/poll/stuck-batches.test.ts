// Batches that do not end, through the official clients: they are reported and polled at growing
// intervals, and an operator can cancel or abandon them.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeFault, type FakePlan, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { some } from "../../support/breadth.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const names = ["r0", "r1", "r2", "r3"];

const cases: readonly { readonly name: string; account(fake: FakeProvider): Account }[] = [
  {
    name: "OpenAI",
    account: (fake) =>
      openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }) }),
  },
  {
    name: "Anthropic",
    account: (fake) =>
      anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch }) }),
  },
];

/** Four requests in one batch; the first batch goes by `plan`. */
async function sent(account: (fake: FakeProvider) => Account, plan: Partial<FakePlan>, faults: FakeFault[] = []) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, identify: ({ body }) => JSON.stringify(body.messages) });
  fake.planNext(plan);
  for (const fault of faults) fake.inject(fault);
  const told: { readonly code?: string; readonly message: string }[] = [];
  const onError = (error: unknown): number => told.push(error as Error);
  const thresholds = { maxRequests: names.length, maxAgeMs: MINUTE };
  const dispatcher = await start({ accounts: [account(fake)], thresholds, onError });
  await dispatcher.enqueueMany(
    names.map((id) => ({ id, body: { model: "m", max_tokens: 50, messages: [{ role: "user", content: id }] } })),
  );
  const rest = (): Promise<void> => drive(time, fake, () => isAtRest(store, time.now()));
  const until = (at: number): Promise<void> => drive(time, fake, async () => time.now() >= at);
  const ends = async (): Promise<string[]> => {
    const outcomes = await Promise.all(names.map((name) => dispatcher.result(name)));
    return outcomes.map(({ status, error }) => error?.code ?? status);
  };
  const begunAt = time.now();
  const keyOf = async (): Promise<string> => (await dispatcher.batches()).at(-1)?.key ?? "";
  const stuck = (): string[] => told.filter(({ code }) => code === "BATCH_STUCK").map(({ message }) => message);
  return { ...{ time, fake, dispatcher, stuck, rest, until, ends, keyOf }, after: (ms: number) => until(begunAt + ms) };
}

/** Its lines have run, and it never gets any further. */
const ENDLESS: Partial<FakePlan> = { finalizeMs: 30 * DAY, cancelMs: 30 * DAY };

describe.each(some(2, cases))("at $name, a batch that never ends", ({ account }) => {
  test("is reported after 26 hours, then once a day, and polled ever less often", async () => {
    const { fake, after, stuck, dispatcher } = await sent(account, ENDLESS);
    await after(25 * HOUR);
    expect(stuck()).toEqual([]);
    await after(28 * HOUR);
    expect(stuck()).toHaveLength(1);
    expect(stuck()[0]).toMatch(
      /has not ended after 26 h: it is running, and the provider says (finalizing|in_progress)/,
    );
    const calls = (): number => fake.calls("batches.retrieve") + fake.calls("messages.retrieve");
    const atFirst = calls();
    expect(atFirst).toBeLessThan(700);
    await after(7 * DAY);
    expect(stuck()).toHaveLength(6);
    expect(calls() - atFirst).toBeLessThan(180);
    await dispatcher.stop();
  });

  test("and is abandoned has its requests run in another, and its own results count for nothing", async () => {
    const { after, dispatcher, keyOf, rest, ends, fake } = await sent(account, ENDLESS);
    await after(HOUR);
    const key = await keyOf();
    expect(await dispatcher.abandon(key, { requests: "requeue" })).toBe(4);
    await rest();
    expect(await ends()).toEqual(names.map(() => "succeeded"));
    expect([...fake.runs().values()]).toEqual([2, 2, 2, 2]);
    const [batch] = (await dispatcher.batches({ keys: [key] })) ?? [];
    expect(batch).toMatchObject({ state: "done", providerBatchId: null, lastError: { code: "batch_abandoned" } });
    expect(batch?.orphans).toMatchObject([{ action: "cancelled" }]);
    expect(fake.calls("batches.cancel") + fake.calls("messages.cancel")).toBe(1);
    expect(await dispatcher.abandon(key, { requests: "requeue" })).toBe(0);
    await dispatcher.stop();
  });

  test("is abandoned also when its provider refuses to cancel it; its requests can end with it", async () => {
    const refusal: FakeFault = { on: ["batches.cancel", "messages.cancel"], accept: false, reply: { status: 500 } };
    const { after, dispatcher, keyOf, rest, ends, fake } = await sent(account, ENDLESS, [refusal]);
    await after(HOUR);
    expect(await dispatcher.abandon(await keyOf(), { requests: "end" })).toBe(4);
    await rest();
    expect(await ends()).toEqual(names.map(() => "batch_abandoned"));
    expect((await dispatcher.result("r0")).status).toBe("cancelled");
    expect((await dispatcher.batches())[0]?.orphans).toMatchObject([{ action: "ignored" }]);
    expect([...fake.runs().values()]).toEqual([1, 1, 1, 1]);
    await dispatcher.stop();
  });
});

describe.each(some(2, cases))("at $name, a batch that was let go while its cancel failed", ({ account }) => {
  const refusal = (times: number): FakeFault => {
    return { on: ["batches.cancel", "messages.cancel"], times, accept: false, reply: { status: 503 } };
  };
  const cancels = (fake: FakeProvider): number => fake.calls("batches.cancel") + fake.calls("messages.cancel");

  test("is cancelled some minutes later", async () => {
    const plan = { runMs: 20 * HOUR };
    const { after, dispatcher, keyOf, fake } = await sent(account, plan, [refusal(2)]);
    await after(HOUR);
    expect(await dispatcher.abandon(await keyOf(), { requests: "end" })).toBe(4);
    expect((await dispatcher.batches())[0]?.orphans).toMatchObject([{ action: "ignored" }]);
    await after(1.5 * HOUR);
    expect(fake.batches()).toMatchObject([{ state: expect.stringMatching(/cancel|ended/) }]);
    expect((await dispatcher.batches())[0]).toMatchObject({ state: "done", orphans: [{ action: "cancelled" }] });
    const asked = cancels(fake);
    await after(4 * HOUR);
    expect(cancels(fake)).toBe(asked);
    await dispatcher.stop();
  });

  test("is reported once it could not be cancelled for a day, and not polled after that", async () => {
    const { after, dispatcher, keyOf, fake, stuck } = await sent(account, ENDLESS, [refusal(10_000)]);
    await after(HOUR);
    await dispatcher.abandon(await keyOf(), { requests: "end" });
    await after(23 * HOUR);
    expect(stuck()).toEqual([]);
    await after(30 * HOUR);
    expect(stuck()).toEqual([expect.stringMatching(/could not be cancelled in 144 tries/)]);
    const asked = cancels(fake);
    await after(40 * HOUR);
    expect(cancels(fake)).toBe(asked);
    await dispatcher.stop();
  });
});

describe.each(some(2, cases))("at $name, a batch that is cancelled by its key", ({ account }) => {
  test("keeps the results of finished requests, and the others end as cancelled", async () => {
    const { after, dispatcher, keyOf, rest, ends, fake } = await sent(account, { runMs: 4 * HOUR });
    await after(2.5 * HOUR);
    expect(await dispatcher.cancelBatch(await keyOf())).toBe(4);
    await rest();
    expect((await ends()).toSorted()).toEqual(["cancelled", "cancelled", "succeeded", "succeeded"]);
    expect(fake.batches()).toMatchObject([{ state: "cancelled" }]);
    expect(await dispatcher.cancelBatch(await keyOf())).toBe(0);
    await dispatcher.stop();
  });

  test("is not sent where it has not been", async () => {
    const create: FakeFault = {
      on: ["batches.create", "messages.create"],
      times: 9,
      accept: false,
      reply: { status: 429 },
    };
    const { after, dispatcher, keyOf, rest, ends, fake } = await sent(account, {}, [create]);
    await after(2 * MINUTE);
    await dispatcher.cancelBatch(await keyOf());
    await rest();
    expect(await ends()).toEqual(names.map(() => "cancelled"));
    expect(fake.batches()).toEqual([]);
    await dispatcher.stop();
  });
});

describe.each(some(2, cases))("at $name", ({ account }) => {
  const reads = ["batches.retrieve", "messages.retrieve"] as const;

  test("a batch that was put aside and is cancelled by its key ends, and so do its requests", async () => {
    const gone: FakeFault = { on: reads, times: 1_000, accept: false, reply: { status: 404 } };
    const { after, dispatcher, keyOf, rest, ends } = await sent(account, ENDLESS, [gone]);
    await after(2 * HOUR);
    expect(await dispatcher.batches()).toMatchObject([{ state: "quarantined" }]);
    expect(await dispatcher.cancelBatch(await keyOf())).toBe(4);
    await rest();
    expect(await ends()).toEqual(names.map(() => "cancelled"));
    await dispatcher.stop();
  });

  test("abandoning waits for the call about the batch that is under way", async () => {
    const { after, dispatcher, keyOf, rest, ends, fake } = await sent(account, ENDLESS);
    await after(HOUR);
    fake.inject({ on: reads, replyDelayMs: 40_000 });
    const asked = fake.calls();
    await after(HOUR + 5.5 * MINUTE);
    while (fake.calls() === asked) await after(HOUR + 6 * MINUTE);
    const abandoned = dispatcher.abandon(await keyOf(), { requests: "end" });
    await rest();
    expect(await abandoned).toBe(4);
    expect(await ends()).toEqual(names.map(() => "batch_abandoned"));
    await dispatcher.stop();
  });
});

test("a key that no batch has is not found", async () => {
  const [{ account }] = cases as [(typeof cases)[number]];
  const { dispatcher } = await sent(account, {});
  await expect(dispatcher.abandon("nobody", { requests: "end" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(dispatcher.cancelBatch("nobody")).rejects.toMatchObject({ code: "NOT_FOUND" });
  const wrong = { requests: "drop" as "end" };
  await expect(dispatcher.abandon("nobody", wrong)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await dispatcher.stop();
});
