// Outcomes of one job: which they are, and when the iteration ends.

import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import { QuarantinedError } from "../../../../src/dispatch/contract/errors.ts";
import { drive } from "../../support/drive.ts";
import { ask, world } from "../../support/world.ts";

const HOUR = 3_600_000;

interface Read {
  readonly ids: string[];
  end: unknown;
}

/** Reads a job's outcomes until it is idle; `end` is "ended" or the rejection. */
function reading(dispatcher: Dispatcher, job: string, untilIdle: true | Promise<void> = true): Read {
  const read: Read = { ids: [], end: null };
  const work = async (): Promise<void> => {
    for await (const outcome of dispatcher.outcomes({ job, untilIdle })) {
      expect(outcome.job).toBe(job);
      read.ids.push(outcome.id);
    }
  };
  work().then(
    () => {
      read.end = "ended";
    },
    (error: unknown) => {
      read.end = error;
    },
  );
  return read;
}

function rig(plan: NonNullable<Parameters<typeof fakeProvider>[0]>["plan"] = {}) {
  const { time, start } = world();
  const fake = fakeProvider({ clock: time, plan });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const options = { accounts: [openaiAccount({ client })], thresholds: { maxRequests: 50, maxAgeMs: 1_000 } };
  return { time, fake, start: () => start(options) };
}

test("a job's outcomes end when it has ended, whatever else runs", async () => {
  const { time, fake, start } = rig(({ index }) => ({ runMs: index === 0 ? 60_000 : 5 * HOUR }));
  const dispatcher = await start();
  await dispatcher.enqueueMany(["a1", "a2"].map((id) => ({ ...ask(id), job: "a" })));
  await drive(time, fake, async () => (await dispatcher.stats()).inBatches === 2);
  await dispatcher.enqueue({ ...ask("b1"), job: "b" });
  const read = reading(dispatcher, "a");
  await drive(time, fake, async () => read.end !== null);
  expect([read.end, read.ids.toSorted()]).toEqual(["ended", ["a1", "a2"]]);
  expect((await dispatcher.stats()).inBatches).toBe(1);
  const [, first] = await dispatcher.batches();
  expect((await dispatcher.result("a1")).batch).toBe(first?.key);
  await dispatcher.stop();
});

test("a job that was never enqueued has no outcomes and ends at once", async () => {
  const { time, fake, start } = rig();
  const dispatcher = await start();
  await dispatcher.enqueue(ask("other"));
  const read = reading(dispatcher, "none");
  await drive(time, fake, async () => read.end !== null);
  expect([read.end, read.ids]).toEqual(["ended", []]);
  await dispatcher.stop();
});

test("a request that is retried is waited for again", async () => {
  const { time, fake, start } = rig();
  const dispatcher = await start();
  await dispatcher.enqueueMany([
    { ...ask("a1"), job: "a" },
    { ...ask("a2"), job: "a" },
  ]);
  expect(await dispatcher.cancel("a1")).toBe("cancelled");
  expect(await dispatcher.retry("a1")).toBe(1);
  const read = reading(dispatcher, "a");
  await drive(time, fake, async () => read.end !== null);
  expect([read.end, read.ids.toSorted()]).toEqual(["ended", ["a1", "a2"]]);
  await dispatcher.stop();
});

test("a job whose last requests wait for an operator is reported with only their batches", async () => {
  const { time, fake, start } = rig({ runMs: 2 * HOUR });
  const dispatcher = await start();
  const asks = (job: string) => Array.from({ length: 50 }, (_, n) => ({ ...ask(`${job}${n}`), job }));
  await dispatcher.enqueueMany([...asks("a"), ...asks("b")]);
  await drive(time, fake, async () => (await dispatcher.batches({ states: ["running"] })).length === 2);
  const lost = { status: 404, body: { error: { message: "No such batch.", code: null } } };
  fake.inject({ on: ["batches.retrieve", "batches.list"], times: 1_000, accept: false, reply: lost });
  const [a, b] = [reading(dispatcher, "a"), reading(dispatcher, "b")];
  await drive(time, fake, async () => a.end !== null && b.end !== null);
  const keys = await Promise.all([a, b].map(async ({ end }) => (end as QuarantinedError).keys));
  expect(a.end).toBeInstanceOf(QuarantinedError);
  expect(keys.map((list) => list.length)).toEqual([1, 1]);
  expect(keys[0]).not.toEqual(keys[1]);
  expect(String(a.end)).toContain("50 requests have no outcome");
  await dispatcher.stop();
});

test("a job's name is checked", async () => {
  const { start } = rig();
  const dispatcher = await start();
  expect(() => dispatcher.outcomes({ job: "" })).toThrow("Expected `job` to be a name");
  await expect(dispatcher.enqueue({ ...ask("x"), job: 7 as never })).rejects.toThrow("`job` must be a string");
  await dispatcher.stop();
});

test("with a promise the outcomes end no sooner than it resolves, and reject as it does, also while they wait", async () => {
  const { time, fake, start } = rig();
  const dispatcher = await start();
  let end = (): void => {};
  const enqueued = new Promise<void>((resolve) => {
    end = resolve;
  });
  const read = reading(dispatcher, "a", enqueued);
  const pass = (ms: number) => {
    const until = time.now() + ms;
    return drive(time, fake, async () => time.now() >= until);
  };
  await pass(HOUR);
  expect(read.end).toBe(null);
  await dispatcher.enqueue({ ...ask("late"), job: "a" });
  end();
  await drive(time, fake, async () => read.end !== null);
  expect(read).toEqual({ ids: ["late"], end: "ended" });
  const failed = reading(dispatcher, "b", Promise.reject(new Error("The file is cut off.")));
  await time.settle();
  expect(failed).toEqual({ ids: [], end: new Error("The file is cut off.") });
  await dispatcher.stop();
});
