// Deadlines that pass while a batch is being sent to the provider: in a running upload, or while
// the sending process sleeps.

import { describe, expect, test } from "vitest";
import type { Capabilities } from "../../../../src/dispatch/contract/capabilities.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { type SimOptions, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, START, seeded, type World, world } from "../../support/world.ts";

const MINUTE = 60_000;
const DEADLINE = START + 2 * MINUTE;

type Changes = Parameters<Store["transition"]>[2];

/**
 * Sends `late`, whose deadline is soon, and `other`. The only process sleeps as soon as
 * `sleepsAfter` is written.
 */
async function sent(
  here: World,
  capabilities: Partial<Capabilities>,
  options: Partial<SimOptions>,
  sleepsAfter: (changes: Changes) => boolean,
) {
  const { time, store } = here;
  const sim = new SimProvider({ time, ...options });
  const process = new SimProcess(time);
  let naps = 0;
  const sleepy = process.wrap(store, async (name, call, given) => {
    const answer = await call();
    if (name === "transition" && naps === 0 && sleepsAfter(given[2] as Changes)) {
      naps += 1;
      process.sleep(20 * MINUTE);
    }
    return answer;
  });
  const dispatcher = createDispatcher({
    ...{ store: sleepy, accounts: [process.wrap(sim.account(capabilities))], clock: process.clock, random: seeded(1) },
    thresholds: { maxRequests: 2 },
  });
  await dispatcher.start();
  await dispatcher.enqueueMany([ask("late", { deadlineAt: DEADLINE }), ask("other")]);
  await here.until(() => isAtRest(store, time.now()));
  const outcomes = await Promise.all(["late", "other"].map((id) => dispatcher.result(id)));
  await dispatcher.stop();
  const ran = sim.executions.map(({ identity }) => identity).toSorted();
  return { naps, ran, ends: outcomes.map(({ status, error }) => error?.code ?? status) };
}

describe.each([
  ["a tag", {}],
  ["no tag", { tag: "none", maxInlineBytes: Number.POSITIVE_INFINITY }],
  ["an idempotency token and a file", { tag: "idempotencyToken" }],
  ["an idempotency token and its lines", { tag: "idempotencyToken", maxInlineBytes: Number.POSITIVE_INFINITY }],
] as const)("a batch with %s, whose process sleeps past a deadline", (_name, capabilities) => {
  test.each<readonly [string, (changes: Changes) => boolean]>([
    ["after the intent", ({ state }) => state === "submitting"],
    ["right before the create", ({ providerFileId }) => providerFileId !== undefined],
  ])("%s, is sent without the request that expired", async (_when, sleepsAfter) => {
    const { naps, ran, ends } = await sent(world(), capabilities, {}, sleepsAfter);
    expect(naps).toBe(1);
    expect(ends).toEqual(["deadline_exceeded", "succeeded"]);
    expect(ran).toEqual(["other"]);
  });
});

test("a process that sleeps past a deadline in the middle of an upload does not send the request", async () => {
  const here = world();
  // The heartbeat, half a minute into the upload, is the only write of no state.
  const fate = (operation: string) => (operation === "upload" ? { replyAfterMs: 50_000 } : {});
  const beat = (changes: Changes): boolean => Object.keys(changes).join() === "leaseUntil";
  const { naps, ran, ends } = await sent(here, {}, { fate }, beat);
  expect(naps).toBe(1);
  expect(ends).toEqual(["deadline_exceeded", "succeeded"]);
  expect(ran).toEqual(["other"]);
});

test("a batch that is being uploaded when a deadline passes goes as it is", async () => {
  const here = world();
  await here.time.advance(2 * MINUTE - 20_000);
  const fate = (operation: string) => (operation === "upload" ? { replyAfterMs: 50_000 } : {});
  const { ran, ends } = await sent(here, {}, { fate }, () => false);
  expect(ends).toEqual(["succeeded", "succeeded"]);
  expect(ran).toEqual(["late", "other"]);
});
