// Requests whose deadline passes before their batch is accepted, through the official clients: they
// leave the batch before it is sent again, and are not charged.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, START, world } from "../../support/world.ts";

const MINUTE = 60_000;

const CREATES = ["batches.create", "messages.create"] as const;
const refusedFor = (times: number) =>
  ({ on: CREATES, times, accept: false, reply: { status: 429, headers: { "retry-after": "600" } } }) as const;

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

/** Requests r0, r1, ..., each with a deadline this many minutes after the start, or none. */
async function sent(
  account: (fake: FakeProvider) => Account,
  deadlines: readonly (number | null)[],
  prepare: (fake: FakeProvider) => void,
) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, identify: ({ body }) => JSON.stringify(body.messages) });
  prepare(fake);
  const dispatcher = await start({ accounts: [account(fake)], thresholds: { maxRequests: deadlines.length } });
  await dispatcher.enqueueMany(
    deadlines.map((minutes, index) => ({
      id: `r${index}`,
      body: { model: "m", max_tokens: 50, messages: [{ role: "user", content: `r${index}` }] },
      ...(minutes === null ? {} : { deadlineAt: START + minutes * MINUTE }),
    })),
  );
  await drive(time, fake, () => isAtRest(store, time.now()));
  const outcomes = await Promise.all(deadlines.map((_, index) => dispatcher.result(`r${index}`)));
  const batches = await dispatcher.batches();
  await dispatcher.stop();
  const ran = [...fake.runs()].map(([identity, runs]) => `${/r\d/.exec(identity)?.[0]} ${runs}`).toSorted();
  return { fake, ran, batches, ends: outcomes.map(({ status, error }) => error?.code ?? status) };
}

describe.each(cases)("at $name, which refuses every create for three hours", ({ account }) => {
  test("requests whose deadline passes meanwhile expire unpaid, and the others go in the same batch", async () => {
    const { ran, ends, batches } = await sent(account, [60, null, 30, 600, 60], (fake) => fake.inject(refusedFor(18)));
    const late = "deadline_exceeded";
    expect(ends).toEqual([late, "succeeded", late, "succeeded", late]);
    expect(ran).toEqual(["r1 1", "r3 1"]);
    expect(batches).toMatchObject([{ state: "done", requests: 5, remaining: 0 }]);
  });

  test("a batch whose requests have all expired is not sent", async () => {
    const { fake, ran, ends, batches } = await sent(account, [60, 30], (fake) => fake.inject(refusedFor(18)));
    expect(ends).toEqual(["deadline_exceeded", "deadline_exceeded"]);
    expect(ran).toEqual([]);
    expect(batches).toMatchObject([{ state: "done", remaining: 0 }]);
    expect(fake.faultsHit).toBeLessThan(9);
  });

  test("a create that was accepted unseen before the deadline is found, and its results count", async () => {
    const { ran, ends } = await sent(account, [60, 60], (fake) => fake.inject({ on: CREATES, reply: "drop" }));
    expect(ends).toEqual(["succeeded", "succeeded"]);
    expect(ran).toEqual(["r0 1", "r1 1"]);
  });
});

test("a line that the provider blames is the right request's, also when others have left the batch", async () => {
  const [{ account }] = cases as [(typeof cases)[number]];
  const { ran, ends } = await sent(account, [60, null, 60, null, null], (fake) => {
    fake.inject(refusedFor(18));
    fake.planNext({ failWith: { code: "model_not_found", message: "No such model.", line: 2 } });
  });
  const late = "deadline_exceeded";
  expect(ends).toEqual([late, "succeeded", late, "model_not_found", "succeeded"]);
  expect(ran).toEqual(["r1 1", "r4 1"]);
});
