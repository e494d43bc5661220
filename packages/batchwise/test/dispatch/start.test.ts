// `start` calls the store once before the loops run. A fault for an operator rejects it and leaves
// nothing running; a store that does not answer is waited for.

import { expect, test } from "vitest";
import { DispatchError, type DispatchErrorCode } from "../../src/dispatch/contract/errors.ts";
import type { Store } from "../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../src/testing/index.ts";
import { SimProvider } from "./support/simulation/sim-provider.ts";
import { ask, SimProcess, storeDown } from "./support/world.ts";

const MINUTE = 60_000;

/** A dispatcher over a store whose calls `fate` may delay or fail; it counts them. */
function shop(fate: () => Promise<void>) {
  const time = virtualClock(1_000_000);
  const sim = new SimProvider({ time });
  const told: unknown[] = [];
  const heard: boolean[] = [];
  let calls = 0;
  const process = new SimProcess(time);
  const store: Store = process.wrap(memoryStore(), async (_name, call) => {
    calls += 1;
    await fate();
    return call();
  });
  const dispatcher = createDispatcher({
    ...{ store, accounts: [sim.account()], thresholds: { maxRequests: 1, maxAgeMs: MINUTE } },
    // One that does not wait for the store.
    clock: process.clock,
    onError: (error) => told.push((error as { code?: unknown }).code),
  });
  dispatcher.on("loops", ({ running }) => heard.push(running));
  const ended = () => dispatcher.outcomes().next();
  return { time, dispatcher, told, heard, ended, calls: () => calls };
}

const permanent: readonly DispatchErrorCode[] = ["STORE_FORBIDDEN", "STORE_SCHEMA", "STORE_DAMAGED"];

test.each([
  ...permanent.map((code) => new DispatchError(code, "Correct it.")),
  new DispatchError("STORE_READ_ONLY", "The file cannot be written to.", undefined, false),
])("$code rejects the start after one call, keeps nothing running, and the next start may work", async (fault) => {
  let isFaulty = true;
  const here = shop(async () => {
    if (isFaulty) throw fault;
  });
  expect(fault.retryable).toBe(false);
  const starts = [here.dispatcher.start(), here.dispatcher.start()];
  for (const start of starts) await expect(start).rejects.toBe(fault);
  await here.time.advance(60 * MINUTE);
  expect([here.calls(), here.heard, here.told]).toEqual([1, [], []]);

  isFaulty = false;
  await here.dispatcher.start();
  await here.dispatcher.start();
  expect(here.heard).toEqual([true]);
  await here.dispatcher.enqueue(ask("a"));
  const ended = here.ended();
  await here.time.advance(60 * MINUTE);
  expect(await ended).toMatchObject({ value: { id: "a", status: "succeeded" } });
  await here.dispatcher.stop();
});

test.each([
  storeDown(),
  new DispatchError("STORE_READ_ONLY", "The server is a standby."),
  new DispatchError("STORE_FULL", "The disk is full."),
])("$code resolves the start: the loops report it and keep trying", async (fault) => {
  let isFaulty = true;
  const here = shop(async () => {
    if (isFaulty) throw fault;
  });
  await here.dispatcher.start();
  await here.time.advance(MINUTE);
  expect([here.heard, new Set(here.told)]).toEqual([[true], new Set([fault.code])]);
  isFaulty = false;
  await here.dispatcher.enqueue(ask("a"));
  const ended = here.ended();
  await here.time.advance(60 * MINUTE);
  expect(await ended).toMatchObject({ value: { id: "a", status: "succeeded" } });
  await here.dispatcher.stop();
});

test("a permanent fault that comes later is reported, and the loops continue once it is corrected", async () => {
  let fault: DispatchError | null = null;
  const here = shop(async () => {
    if (fault !== null) throw fault;
  });
  await here.dispatcher.start();
  fault = new DispatchError("STORE_FORBIDDEN", "The role misses a right.");
  await expect(here.dispatcher.enqueue(ask("a"))).rejects.toBe(fault);
  await here.time.advance(10 * MINUTE);
  expect(here.told).toContain("STORE_FORBIDDEN");
  fault = null;
  await here.dispatcher.enqueue(ask("a"));
  const ended = here.ended();
  await here.time.advance(60 * MINUTE);
  expect(await ended).toMatchObject({ value: { id: "a", status: "succeeded" } });
  await here.dispatcher.stop();
});

test("a store that does not answer is waited for a few seconds, and then by the loops", async () => {
  let answer = (): void => {};
  const answers = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const here = shop(() => answers);
  let isStarted = false;
  const started = here.dispatcher.start().then(() => {
    isStarted = true;
  });
  await here.time.advance(4_000);
  expect([isStarted, here.calls()]).toEqual([false, 1]);
  await here.time.advance(2_000);
  await started;
  answer();
  await here.dispatcher.enqueue(ask("a"));
  const ended = here.ended();
  await here.time.advance(60 * MINUTE);
  expect(await ended).toMatchObject({ value: { id: "a", status: "succeeded" } });
  await here.dispatcher.stop();
});

test("a stop while the start waits for the store ends both, and no loop runs", async () => {
  const here = shop(() => new Promise(() => {}));
  const started = here.dispatcher.start();
  await here.time.advance(1_000);
  await here.dispatcher.stop();
  await started;
  await here.time.advance(60 * MINUTE);
  expect([here.calls(), here.heard]).toEqual([1, []]);
});

test("a stop during the first call of the store takes effect", async () => {
  let stopped: Promise<void> | null = null;
  const here = shop(() => {
    stopped ??= here.dispatcher.stop();
    return new Promise(() => {});
  });
  let isOver = false;
  void here.dispatcher.start().then(() => {
    isOver = true;
  });
  await here.time.settle();
  expect([isOver, here.calls(), here.heard]).toEqual([true, 1, []]);
  await stopped;
});
