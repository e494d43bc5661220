// Steps of the wall clock, through the official client: a short one has no effect, and a lasting
// one is accepted after ten minutes. Times that a wrong clock has written are corrected.

import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { DispatchRequest, Outcome } from "../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { drive } from "../support/drive.ts";
import { isAtRest, SimProcess, START, seeded, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const ask = (id: string, deadlineAt?: number): DispatchRequest => ({
  id,
  body: { model: "m", messages: [{ role: "user", content: id }] },
  ...(deadlineAt === undefined ? {} : { deadlineAt }),
});

/** A store, a fake OpenAI, and processes whose clocks the test can set. */
function site(runMs: number, maxAgeMs: number = 5 * MINUTE) {
  const here = world();
  const { time, store } = here;
  const fake = fakeProvider({ clock: time, plan: { runMs } });
  const errors: string[] = [];
  const start = async (skewMs = 0) => {
    const process = new SimProcess(time, skewMs);
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const dispatcher = createDispatcher({
      store: process.wrap(store),
      accounts: [openaiAccount({ client })],
      clock: process.clock,
      random: seeded(skewMs + 1),
      thresholds: { maxRequests: 3, maxAgeMs },
      onError: (error) => errors.push(String(error)),
    });
    await dispatcher.start();
    return { process, dispatcher };
  };
  const pass = (ms: number): Promise<void> => {
    const end = time.now() + ms;
    return drive(time, fake, async () => time.now() >= end);
  };
  const outcomes = async (): Promise<[string, Outcome["status"]][]> =>
    (await store.outcomes({ after: 0, limit: 100 })).map(({ id, status }) => [id, status]);
  return { ...here, fake, errors, start, pass, outcomes };
}

test.each([
  ["ahead", DAY],
  ["back", -DAY],
])("a wall clock that steps a day %s for two minutes delays no poll and expires no request", async (_way, ms) => {
  const { time, store, fake, errors, start, pass, outcomes } = site(40 * MINUTE);
  const { process, dispatcher } = await start();
  await dispatcher.enqueueMany(["a", "b", "c"].map((id) => ask(id)));
  await pass(20 * MINUTE);
  await dispatcher.enqueueMany([ask("waits", time.now() + 6 * HOUR), ask("d"), ask("e")]);
  process.step(ms, 2 * MINUTE);
  await dispatcher.enqueue(ask("late", time.now() + 5 * HOUR));
  await pass(2 * HOUR);
  expect(await isAtRest(store, time.now())).toBe(true);
  expect((await outcomes()).sort()).toEqual(["a", "b", "c", "d", "e", "late", "waits"].map((id) => [id, "succeeded"]));
  expect([...fake.runs().values()].every((runs) => runs === 1)).toBe(true);
  expect(errors.filter((error) => error.includes("The wall clock stepped by"))).toHaveLength(1);
});

test("a step that lasts is believed after ten minutes, and expires no request before", async () => {
  const { time, start, pass, outcomes, errors } = site(HOUR, 3 * HOUR);
  const { process, dispatcher } = await start();
  process.step(DAY);
  await dispatcher.enqueue(ask("a", time.now() + 6 * HOUR));
  await pass(9 * MINUTE);
  expect(await outcomes()).toEqual([]);
  await pass(3 * MINUTE);
  expect(await outcomes()).toEqual([["a", "expired"]]);
  expect(errors.map((error) => /stepped|believed/.exec(error)?.[0])).toEqual(["stepped", "believed"]);
});

test("no create is sent while the clock is in doubt", async () => {
  const { fake, start, pass } = site(HOUR);
  const { process, dispatcher } = await start();
  process.step(-DAY);
  await dispatcher.enqueueMany(["a", "b", "c"].map((id) => ask(id)));
  await pass(9 * MINUTE);
  expect(fake.batches()).toHaveLength(0);
  await pass(3 * MINUTE);
  expect(fake.batches()).toHaveLength(1);
});

test("work that a process with a clock a day ahead has put off is due for the next one, without a second run", async () => {
  const { time, store, fake, start, pass, outcomes } = site(30 * MINUTE);
  const ahead = await start(DAY);
  await ahead.dispatcher.enqueueMany(["a", "b", "c", "d"].map((id) => ask(id)));
  await pass(4 * MINUTE);
  expect(fake.batches()).toHaveLength(1);
  ahead.process.kill();
  await start();
  await pass(2 * HOUR);
  expect(time.now()).toBeLessThan(START + 3 * HOUR);
  expect(await isAtRest(store, time.now())).toBe(true);
  expect(await outcomes()).toHaveLength(4);
  expect([...fake.runs().values()]).toEqual([1, 1, 1, 1]);
});
