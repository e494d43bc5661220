// A `result` that waits in vain is reported, in virtual time; an ordinary one is not.

import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, SimProcess, seeded, world } from "../../support/world.ts";

const MINUTE = 60_000;

function rig(more: Partial<DispatcherOptions> = {}) {
  const { time, store } = world();
  const sim = new SimProvider({ time });
  let made = 0;
  /** A dispatcher in a process of its own, and the codes that its onError gets. */
  const place = () => {
    const [codes, messages]: [string[], string[]] = [[], []];
    const onError = (error: unknown): void => {
      const { code, message } = error as { readonly code: string; readonly message: string };
      codes.push(code);
      messages.push(message);
    };
    made += 1;
    const { clock } = new SimProcess(time);
    const options = { store, accounts: [sim.account()], clock, random: seeded(made), onError, ...more };
    return { codes, messages, dispatcher: createDispatcher(options) };
  };
  return { time, place };
}

test("where no process runs the loops, a result says so after a second, and once", async () => {
  const { time, place } = rig();
  const { dispatcher, codes, messages } = place();
  const { id } = await dispatcher.enqueue(ask("a"));
  dispatcher.result(id).catch(() => {});
  await time.advance(900);
  expect(codes).toEqual([]);
  await time.advance(100);
  expect(codes).toEqual(["NOT_STARTED"]);
  expect(messages[0]).toMatch(
    /^`result\("a"\)` waits in vain. No process has run the loops of this store: call `start/,
  );
  dispatcher.result(id).catch(() => {});
  await time.advance(10 * MINUTE);
  expect(codes).toEqual(["NOT_STARTED"]);
  await dispatcher.stop();
});

test("a process that only enqueues and waits is right while another one runs the loops", async () => {
  const { time, place } = rig({ thresholds: { maxRequests: 1 } });
  const worker = place();
  await worker.dispatcher.start();
  await time.advance(5 * MINUTE);
  const replica = place();
  const { id } = await replica.dispatcher.enqueue(ask("a"));
  const outcome = replica.dispatcher.result(id);
  await time.advance(5 * MINUTE);
  expect([replica.codes, worker.codes]).toEqual([[], []]);
  await worker.dispatcher.stop();
  const late = replica.dispatcher.result((await replica.dispatcher.enqueue(ask("b"))).id);
  late.catch(() => {});
  await time.advance(5 * MINUTE);
  expect(replica.codes).toEqual(["NOT_STARTED"]);
  expect(replica.messages[0]).toMatch(/Since 2026-\S+Z no process has run the loops/);
  await replica.dispatcher.stop();
  await outcome.catch(() => {});
});

test("a request whose batch closes in two hours names flush, which ends the wait", async () => {
  const { time, place } = rig();
  const { dispatcher, codes, messages } = place();
  await dispatcher.start();
  const { id } = await dispatcher.enqueue(ask("a"));
  dispatcher.result(id).catch(() => {});
  await time.advance(1_000);
  expect(codes).toEqual(["WAITS_FOR_BATCH"]);
  expect(messages[0]).toContain("until 50000 requests wait with it, or for 120 minutes: call `flush()`");
  await dispatcher.stop();
});

test.each([
  ["after flush", {}, true],
  ["where batches close within a minute", { thresholds: { maxAgeMs: MINUTE } }, false],
  ["where the lane is full", { thresholds: { maxRequests: 1 } }, false],
])("%s nothing is said", async (_case, options, flushes) => {
  const { time, place } = rig(options);
  const { dispatcher, codes } = place();
  await dispatcher.start();
  const { id } = await dispatcher.enqueue(ask("a"));
  if (flushes) dispatcher.flush();
  const outcome = dispatcher.result(id);
  await time.advance(10 * MINUTE);
  expect(codes).toEqual([]);
  await dispatcher.stop();
  await outcome.catch(() => {});
});

test("outcomes that are waited for say so, too", async () => {
  const { time, place } = rig({ thresholds: { maxRequests: 1 } });
  const { dispatcher, codes, messages } = place();
  await dispatcher.enqueue(ask("a"));
  const first = dispatcher.outcomes()[Symbol.asyncIterator]().next();
  await time.advance(MINUTE);
  expect(codes).toEqual(["NOT_STARTED"]);
  expect(messages[0]).toMatch(/^`outcomes\(\)` waits in vain. No process has run the loops/);
  await dispatcher.start();
  await time.advance(10 * MINUTE);
  expect(codes).toEqual(["NOT_STARTED"]);
  await dispatcher.stop();
  await first;
});

test("outcomes that are waited for while loops run say nothing", async () => {
  const { time, place } = rig();
  const { dispatcher, codes } = place();
  await dispatcher.start();
  const first = dispatcher.outcomes()[Symbol.asyncIterator]().next();
  await time.advance(10 * MINUTE);
  expect(codes).toEqual([]);
  await dispatcher.stop();
  expect(await first).toMatchObject({ done: true });
});
