// A dispatcher on the virtual clock of `batchwise/testing`, from its start at 0: thresholds,
// polling, leases, deadlines, retries and deliveries happen when a test moves the clock, on every
// store that this process has.

import { DatabaseSync } from "node:sqlite";
import { createDispatcher, type DispatcherOptions, type LoggedOutcome, memoryStore } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import { fakeProvider } from "batchwise/dispatch/testing";
import { type Clock, type VirtualClock, virtualClock } from "batchwise/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";

const HOUR = 3_600_000;

function body(content: string) {
  return { model: "gpt-4o-mini", messages: [{ role: "user", content }] };
}

/** A dispatcher whose provider answers on the same clock. */
async function start(clock: VirtualClock, options: Partial<DispatcherOptions> = {}) {
  const fake = fakeProvider({ clock });
  const client = new OpenAI({ apiKey: "any", baseURL: "http://fake.test/v1", fetch: fake.fetch, maxRetries: 0 });
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const accounts = [openaiAccount({ client })];
  const dispatcher = createDispatcher({ store: memoryStore(), accounts, onError, ...options, clock });
  await dispatcher.start();
  onTestFinished(async () => {
    const stopped = dispatcher.stop();
    await clock.advance(HOUR);
    await stopped;
  });
  return { dispatcher, fake, errors };
}

test.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore({ database: new DatabaseSync(":memory:") })],
])(
  "a batch is sent when its oldest request is two hours old, and is delivered when it has run, on %s",
  async (_, make) => {
    const clock = virtualClock();
    const outcomes: LoggedOutcome[] = [];
    const onOutcome = (outcome: LoggedOutcome) => void outcomes.push(outcome);
    const { dispatcher, fake, errors } = await start(clock, { store: make(), onOutcome });
    await dispatcher.enqueue({ id: "a", body: body("first") });
    await clock.advance(HOUR);
    await dispatcher.enqueue({ id: "b", body: body("second") });
    await clock.advance(HOUR - 1);
    expect(fake.batches()).toHaveLength(0);
    await clock.advance(1);
    expect(fake.batches()).toMatchObject([{ requests: 2 }]);
    expect(outcomes).toEqual([]);
    await clock.advance(HOUR);
    expect(outcomes.map(({ id, status }) => [id, status])).toEqual([
      ["a", "succeeded"],
      ["b", "succeeded"],
    ]);
    expect((await dispatcher.result("a")).status).toBe("succeeded");
    expect([...fake.runs().values()]).toEqual([1, 1]);
    expect(errors).toEqual([]);
  },
);

test("a request with a deadline is sent in time for it, and expires at it where its account is paused", async () => {
  const clock = virtualClock();
  const { dispatcher, fake } = await start(clock, { thresholds: { maxAgeMs: 1_000 * HOUR } });
  await dispatcher.enqueue({ id: "a", body: body("soon"), deadlineAt: 60 * HOUR });
  await clock.advance(HOUR);
  expect(fake.batches()).toHaveLength(0);
  await clock.advance(59 * HOUR);
  expect(fake.batches()).toHaveLength(1);
  await dispatcher.pauseAccount("openai");
  await dispatcher.enqueue({ id: "b", body: body("late"), deadlineAt: 61 * HOUR });
  await clock.advance(2 * HOUR);
  expect((await dispatcher.result("b")).status).toBe("expired");
  expect(fake.batches()).toHaveLength(1);
});

test("a webhook that fails is called again later in virtual time, and its answer is waited for where it takes real time", async () => {
  const clock = virtualClock();
  const calledAt: number[] = [];
  const post = async (): Promise<Response> => {
    calledAt.push(clock.now());
    await new Promise((resolve) => setTimeout(resolve, 5));
    return new Response(null, { status: calledAt.length === 1 ? 500 : 204 });
  };
  const webhook = { url: "https://hooks.test/", secret: "secret", fetch: post };
  const { dispatcher } = await start(clock, { webhook, thresholds: { maxAgeMs: 0 } });
  await dispatcher.enqueue({ id: "a", body: body("told") });
  await clock.advance(2 * HOUR);
  expect(calledAt).toHaveLength(2);
  expect((calledAt[1] ?? 0) - (calledAt[0] ?? 0)).toBeGreaterThanOrEqual(1_000);
});

test("a process that dies passes its batch to another when its lease has ended", async () => {
  const clock = virtualClock();
  const store = memoryStore();
  const life = { isOver: false };
  const mortal: Clock = {
    now: () => clock.now(),
    setTimeout: (callback, delayMs) => clock.setTimeout(() => life.isOver || callback(), delayMs),
    clearTimeout: (handle) => clock.clearTimeout(handle),
  };
  const first = createDispatcher({
    ...{ store, clock: mortal, thresholds: { maxAgeMs: 0 } },
    accounts: [openaiAccount({ client: new OpenAI({ apiKey: "any", baseURL: "http://unused.test/v1" }) })],
    failpoint: () => {
      life.isOver = true;
      return new Promise(() => {});
    },
  });
  await first.start();
  await first.enqueue({ id: "a", body: body("left") });
  await clock.advance(1_000);
  expect(life.isOver).toBe(true);
  const second = await start(clock, { store });
  await clock.advance(60_000);
  expect(second.fake.calls("batches.create")).toBe(0);
  await clock.advance(2 * HOUR);
  expect((await second.dispatcher.result("a")).status).toBe("succeeded");
});

test("time stands still while work is held, and continues when the work takes too long", async () => {
  const clock = virtualClock();
  const rung: number[] = [];
  const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  void clock.hold(sleep(20)).then(() => rung.push(clock.now()));
  void clock.hold(new Promise(() => {}), 30);
  await clock.advance(1_000);
  expect(rung).toEqual([0]);
  expect(clock.now()).toBe(1_000);
  await expect(clock.hold(Promise.reject(new Error("work")))).rejects.toThrow("work");
});
