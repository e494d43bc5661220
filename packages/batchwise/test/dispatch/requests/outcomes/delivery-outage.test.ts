// Long outages of callbacks and webhooks, with the official client: deliveries are kept, listed,
// and made in the end.

import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import { drive } from "../../support/drive.ts";
import { ask, isAtRest, START, world } from "../../support/world.ts";

const HOUR = 3_600_000;
const COUNT = 5;

interface Now {
  now(): number;
}

/** Five requests at OpenAI, and a dispatcher that delivers their outcomes. */
async function dispatched(options: (clock: Now) => Partial<DispatcherOptions>) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const errors: string[] = [];
  const onError = (error: unknown): void => void errors.push(String(error));
  const accounts = [openaiAccount({ client })];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: COUNT }, onError, ...options(time) });
  await dispatcher.enqueueMany(Array.from({ length: COUNT }, (_, n) => ask(`r${n}`)));
  const until = (at: number): Promise<void> => drive(time, fake, async () => time.now() >= at);
  const rest = (): Promise<void> => drive(time, fake, () => isAtRest(store, time.now()));
  return { dispatcher, errors, until, rest };
}

/** A receiver that answers 503 until this time. */
function receiver(upAt: number) {
  const taken: string[] = [];
  let posts = 0;
  const options = (clock: Now): Partial<DispatcherOptions> => {
    const fetch: typeof globalThis.fetch = async (_target, init) => {
      posts += 1;
      if (clock.now() < upAt) return new Response(null, { status: 503 });
      taken.push((JSON.parse(String(init?.body)) as { data: { id: string } }).data.id);
      return new Response(null, { status: 204 });
    };
    return { webhook: { url: "https://example.test/hook", secret: "s", fetch } };
  };
  return { options, taken, posts: () => posts };
}

const all = Array.from({ length: COUNT }, (_, n) => `r${n}`);

test.each([14, 100])(
  "a callback that is down for %i h gets every outcome, and all of them wait until then",
  async (hours) => {
    const heard: string[] = [];
    const { dispatcher, until, rest } = await dispatched((clock) => ({
      onOutcome: ({ id }) => {
        if (clock.now() < START + hours * HOUR) throw new Error("Down.");
        heard.push(id);
      },
    }));
    await until(START + (hours - 0.1) * HOUR);
    expect([(await dispatcher.stats()).deliveriesWaiting, heard]).toEqual([COUNT, []]);
    expect(await dispatcher.deadLetters({ sink: "callback" })).toEqual([]);
    await rest();
    expect(heard.sort()).toEqual(all);
  },
);

test("a webhook that is down for 14 h gets every outcome by one of its twelve tries", async () => {
  const hook = receiver(START + 14 * HOUR);
  const { rest } = await dispatched(hook.options);
  await rest();
  expect(hook.taken.sort()).toEqual(all);
});

test("a webhook that is down for days is given up after twelve tries, listed, and posted again by redeliver", async () => {
  const hook = receiver(START + 60 * HOUR);
  const { dispatcher, errors, until, rest } = await dispatched(hook.options);
  await until(START + 48 * HOUR);
  expect([hook.posts(), (await dispatcher.stats()).deliveriesWaiting]).toEqual([12 * COUNT, 0]);
  const dead = await dispatcher.deadLetters();
  expect(dead.map(({ outcome }) => outcome.id).sort()).toEqual(all);
  expect(dead[0]).toMatchObject({ sink: "webhook", tries: 12, statusCode: 503, outcome: { cursor: 1 } });
  expect(errors.filter((error) => error.includes('redeliver({ sink: "webhook", after: 0 })'))).toHaveLength(1);
  expect(await dispatcher.deadLetters({ after: 1, limit: 2 })).toHaveLength(2);

  expect(await dispatcher.redeliver({ sink: "webhook", after: 2 })).toBe(3);
  expect((await dispatcher.stats()).deliveriesWaiting).toBe(3);
  await until(START + 100 * HOUR);
  expect(hook.taken).toHaveLength(3);
  expect(await dispatcher.redeliver()).toBe(2);
  await rest();
  expect(hook.taken.sort()).toEqual(all);
  expect(await dispatcher.deadLetters()).toEqual([]);
  expect(await dispatcher.redeliver()).toBe(0);
});

test("the arguments of redeliver are checked", async () => {
  const { dispatcher } = await dispatched(() => ({}));
  await expect(dispatcher.redeliver({ sink: "mail" as never })).rejects.toThrow(/`sink`/);
  await expect(dispatcher.redeliver({ after: -1 })).rejects.toThrow(/`after`/);
  await expect(dispatcher.deadLetters({ limit: 0 })).rejects.toThrow(/`limit`/);
});
