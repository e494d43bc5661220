// `onBatch`, through the official client and the fake: at least once for each batch that ends,
// whatever throws, hangs or dies, and nothing else waits for it.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { EndedBatch } from "../../../../src/dispatch/contract/events.ts";
import { drive } from "../../support/drive.ts";
import { ask, SimProcess, seeded, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type OnBatch = NonNullable<DispatcherOptions["onBatch"]>;

function rig(settings: FakeOptions = {}) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, ...settings });
  let processes = 0;
  const errors: { readonly operation: string; readonly batch?: string }[] = [];
  const process = (onBatch: OnBatch, more: Partial<DispatcherOptions> = {}, at = new SimProcess(time)) => {
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const accounts = [openaiAccount({ client })];
    const onError: DispatcherOptions["onError"] = (_error, context) => void errors.push(context);
    processes += 1;
    const random = seeded(processes);
    const options = {
      random,
      store: at.wrap(store),
      accounts,
      clock: at.clock,
      thresholds: { maxRequests: 3 },
      onBatch,
      onError,
    };
    return start({ ...options, ...more });
  };
  const done = async (): Promise<boolean> => {
    const { inBatches, lanes, batches } = await store.probe(1, time.now());
    const { done: ended, ...open } = batches;
    return ended > 0 && inBatches === 0 && lanes.length === 0 && Object.values(open).every((count) => count === 0);
  };
  const rest = (): Promise<void> => drive(time, fake, done);
  const pass = (ms: number): Promise<void> => {
    const until = time.now() + ms;
    return drive(time, fake, async () => time.now() >= until);
  };
  return { time, store, fake, process, rest, pass, errors };
}

const names = ["a", "b", "c"];

test("it gets the record of the batch, the counts by status and the tokens", async () => {
  const { process, rest, errors } = rig();
  const heard: EndedBatch[] = [];
  const dispatcher = await process((batch) => void heard.push(batch));
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await rest();
  const outcomes = await Promise.all(names.map((name) => dispatcher.result(name)));
  const sum = (of: "inputTokens" | "outputTokens"): number =>
    outcomes.reduce((total, { usage }) => total + (usage?.[of] ?? 0), 0);
  const [record] = await dispatcher.batches();
  const { updatedAt, ...lasting } = record ?? { updatedAt: 0 };
  expect(heard).toHaveLength(1);
  expect(heard[0]).toMatchObject({ ...lasting, state: "done", requests: 3, remaining: 0 });
  expect(heard[0]?.updatedAt).toBeLessThanOrEqual(updatedAt);
  expect(heard[0]).toMatchObject({ ended: { succeeded: 3, failed: 0, cancelled: 0, expired: 0 }, requeued: 0 });
  expect(heard[0]).toMatchObject({ inputTokens: sum("inputTokens"), outputTokens: sum("outputTokens") });
  expect(heard[0]?.outputTokens).toBeGreaterThan(0);
  expect(outcomes.map(({ batch }) => batch)).toEqual(names.map(() => record?.key));
  expect(errors).toEqual([]);
  await dispatcher.stop();
});

test("a batch whose requests failed, and one whose requests went back to the lane", async () => {
  const { process, rest } = rig({ plan: ({ index }) => (index === 0 ? { missingLines: 2 } : {}) });
  const heard: EndedBatch[] = [];
  const dispatcher = await process((batch) => void heard.push(batch));
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  dispatcher.flush();
  await rest();
  const counts = heard.map(({ requests, ended, requeued }) => [requests, ended.succeeded, requeued]);
  expect(counts[0]).toEqual([3, 1, 2]);
  expect(counts.slice(1).reduce((sum, [, succeeded]) => sum + (succeeded ?? 0), 0)).toBe(2);
  await dispatcher.stop();
});

test("one that throws is called again, ever later, and the outcomes do not wait for it", async () => {
  const { process, rest, errors, pass, time } = rig();
  const calls: number[] = [];
  const dispatcher = await process((batch) => {
    calls.push(time.now());
    if (calls.length < 4) throw new Error(`No: ${batch.key}`);
  });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  for (let waited = 0; calls.length === 0 && waited < 100; waited += 1) await pass(MINUTE);
  expect((await dispatcher.result("a")).status).toBe("succeeded");
  const [open] = await dispatcher.batches();
  expect(open).toMatchObject({ state: "collecting", remaining: 0, lastError: null });
  const idle: string[] = [];
  for await (const { id } of dispatcher.outcomes({ untilIdle: true })) idle.push(id);
  expect(idle).toHaveLength(3);
  await rest();
  expect(calls).toHaveLength(4);
  const pauses = calls.slice(1).map((at, index) => at - (calls[index] ?? 0));
  expect(pauses[0]).toBeGreaterThanOrEqual(30_000);
  expect(pauses[2]).toBeGreaterThanOrEqual(120_000);
  expect(errors).toEqual(calls.slice(1).map(() => ({ account: "openai", batch: open?.key, operation: "deliver" })));
  await dispatcher.stop();
});

test("another process goes on with the pauses of one that throws", async () => {
  const { process, rest, time, pass } = rig();
  const calls: number[] = [];
  const failing = async (): Promise<void> => {
    calls.push(time.now());
    if (calls.length < 4) throw new Error("No.");
  };
  const first = await process(failing);
  await first.enqueueMany(names.map((name) => ask(name)));
  for (let waited = 0; calls.length < 3 && waited < 100; waited += 1) await pass(MINUTE);
  await first.stop();
  const second = await process(failing);
  await rest();
  expect((calls[3] ?? 0) - (calls[2] ?? 0)).toBeGreaterThanOrEqual(120_000);
  await second.stop();
});

test("one that never answers is called again after leaseMs, and keeps no other batch from being collected", async () => {
  const { process, pass, fake } = rig();
  const calls = new Map<string, number>();
  const dispatcher = await process(({ key }) => {
    calls.set(key, (calls.get(key) ?? 0) + 1);
    return new Promise<void>(() => {});
  });
  await dispatcher.enqueueMany(Array.from({ length: 30 }, (_, index) => ask(`r${index}`)));
  await pass(HOUR);
  expect(fake.batches()).toHaveLength(10);
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(30);
  expect(calls.size).toBe(10);
  expect(Math.min(...calls.values())).toBeGreaterThan(1);
  const stopping = dispatcher.stop();
  await pass(2 * MINUTE);
  await stopping;
});

test("a process that dies after the call and before the end of the batch passes it to the next, which calls again", async () => {
  const { process, rest, time, fake } = rig();
  const dying = new SimProcess(time);
  const heard: string[] = [];
  const first = await process(
    ({ key }) => {
      heard.push(`first ${key}`);
      dying.kill();
    },
    {},
    dying,
  );
  await first.enqueueMany(names.map((name) => ask(name)));
  await drive(time, fake, async () => heard.length === 1);
  const second = await process(({ key, ended }) => void heard.push(`second ${key} ${ended.succeeded}`));
  await rest();
  const [batch] = await second.batches();
  expect(heard).toEqual([`first ${batch?.key}`, `second ${batch?.key} 3`]);
  expect(batch?.state).toBe("done");
  expect(fake.batches()).toHaveLength(1);
  await second.stop();
});

test("a process that dies in the middle of the results keeps the sums whole", async () => {
  const { process, rest, time } = rig();
  const dying = new SimProcess(time);
  const failpoint = (name: string): void => {
    if (name === "after-result-txn") dying.kill();
  };
  const heard: EndedBatch[] = [];
  const first = await process(() => {}, { failpoint }, dying);
  await first.enqueueMany(names.map((name) => ask(name)));
  const second = await process((batch) => void heard.push(batch));
  await rest();
  expect(heard.map(({ ended }) => ended.succeeded)).toEqual([3]);
  await second.stop();
});

test("a batch whose last result has come is reported before the stop is complete", async () => {
  const { process, pass } = rig();
  const heard: string[] = [];
  let stopped: Promise<void> | null = null;
  const dispatcher = await process(({ key }) => void heard.push(key), {
    failpoint: (name) => {
      if (name === "after-result-txn") stopped ??= dispatcher.stop();
    },
  });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  for (let waited = 0; stopped === null && waited < 100; waited += 1) await pass(MINUTE);
  await stopped;
  expect(heard).toHaveLength(1);
  expect((await dispatcher.batches())[0]?.state).toBe("done");
});

test("a value that is no function is refused", async () => {
  const { process } = rig();
  await expect(process("tell" as unknown as OnBatch)).rejects.toMatchObject({ code: "INVALID_OPTION" });
});
