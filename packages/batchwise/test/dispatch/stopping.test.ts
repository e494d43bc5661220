// Calls that a stop aborts or waits for, with a provider that answers a minute late. Virtual time
// stands still during a stop: one that waited for the provider would never return.

import { expect, test } from "vitest";
import type { Account } from "../../src/dispatch/contract/account.ts";
import type { DispatchRequest } from "../../src/dispatch/contract/types.ts";
import { SimProvider } from "./support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, type World, world } from "./support/world.ts";

const MINUTE = 60_000;
const names = Array.from({ length: 10 }, (_, index) => `r${index}`);
const thresholds = { maxRequests: 10, maxAgeMs: MINUTE };

/** A dispatcher that is stopped between the upload and the create of its only batch. */
async function stopWhileFileIdIsWritten(
  here: World,
  accounts: readonly Account[],
  requests: readonly DispatchRequest[],
): Promise<void> {
  let stopped: Promise<void> | undefined;
  const slow = new SimProcess(here.time).wrap(here.store, (name, call, given) => {
    const isLastWrite = name === "transition" && Object.hasOwn(given[2] as object, "providerFileId");
    if (isLastWrite) stopped ??= dispatcher.stop();
    return call();
  });
  const dispatcher = await here.start({ store: slow, accounts, thresholds });
  await dispatcher.enqueueMany(requests);
  await here.time.advance(1_000);
  await stopped;
}

test.each(["upload", "retrieve", "results"])(
  "a stop cuts a slow %s, reports nothing, and the next process continues and runs nothing twice",
  async (operation) => {
    const here = world();
    let isSlow = true;
    const fate = (called: string) => ({ replyAfterMs: isSlow && called === operation ? 50_000 : 0 });
    const sim = new SimProvider({ time: here.time, fate });
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const dispatcher = await here.start({ accounts: [sim.account()], thresholds, onError });
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    for (let n = 0; n < 100_000 && !sim.calls.has(operation); n += 1) await here.time.advance(1_000);
    expect(sim.calls.get(operation)).toBe(1);

    const stoppedAt = here.time.now();
    await dispatcher.stop();
    expect(here.time.now()).toBe(stoppedAt);
    expect(errors).toEqual([]);

    isSlow = false;
    await here.start({ accounts: [sim.account()], thresholds, onError });
    await here.until(() => isAtRest(here.store, here.time.now()));
    expect([...sim.successes().values()]).toEqual(names.map(() => 1));
    expect(errors).toEqual([]);
  },
);

test("a stop waits for the answer to a create, so that nothing has to be looked up afterwards", async () => {
  const here = world();
  const fate = (called: string) => ({ replyAfterMs: called === "create" ? 20_000 : 0 });
  const sim = new SimProvider({ time: here.time, fate });
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  for (let n = 0; n < 1_000 && !sim.calls.has("create"); n += 1) await here.time.advance(100);
  let isStopped = false;
  const stopped = dispatcher.stop().then(() => {
    isStopped = true;
  });
  await here.time.advance(15_000);
  expect(isStopped).toBe(false);
  await here.time.advance(10_000);
  await stopped;
  expect((await here.store.batches({ limit: 1 })).map(({ state }) => state)).toEqual(["submitted"]);
});

test("batches that wait in line for an upload when the stop comes are left as they are", async () => {
  const here = world();
  const fate = (called: string) => ({ replyAfterMs: called === "upload" ? 50_000 : 0 });
  const sim = new SimProvider({ time: here.time, fate });
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds: { maxRequests: 1 } });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await here.time.advance(5_000);
  await dispatcher.stop();
  expect(sim.calls.get("upload")).toBe(4);
  const batches = await here.store.batches({ limit: 20 });
  expect(batches.map(({ state, submitAttempt }) => `${state} ${submitAttempt}`).toSorted()).toEqual([
    ...Array(6).fill("sealed 0"),
    ...Array(4).fill("sealed 1"),
  ]);
  expect(batches.every(({ leaseUntil }) => leaseUntil === 0)).toBe(true);
});

test.each(["metadata", "idempotencyToken"] as const)(
  "a stop while the file's id is written sends no create, and the next process sends it once (%s)",
  async (tag) => {
    const here = world();
    const sim = new SimProvider({ time: here.time });
    const accounts = [sim.account({ tag })];
    await stopWhileFileIdIsWritten(
      here,
      accounts,
      names.map((name) => ask(name)),
    );
    expect(sim.calls.get("create")).toBeUndefined();
    const [batch] = await here.store.batches({ limit: 1 });
    expect(batch).toMatchObject({ submitAttempt: 1, leaseUntil: 0, state: "sealed" });
    await here.start({ accounts, thresholds });
    await here.until(() => isAtRest(here.store, here.time.now()));
    expect(sim.calls.get("create")).toBe(1);
  },
);

test.each(["metadata", "idempotencyToken"] as const)(
  "a deadline that passes between a stop and the next start expires its request, where no create was sent (%s)",
  async (tag) => {
    const here = world();
    const sim = new SimProvider({ time: here.time });
    const accounts = [sim.account({ tag })];
    const deadlineAt = here.time.now() + 3_600_000;
    const requests = names.map((name, index) => ask(name, index === 0 ? { deadlineAt } : {}));
    await stopWhileFileIdIsWritten(here, accounts, requests);
    await here.time.advance(2 * 3_600_000);
    const next = await here.start({ accounts, thresholds });
    await here.until(() => isAtRest(here.store, here.time.now()));
    expect((await next.result(names[0] as string)).status).toBe("expired");
    expect(sim.executions.map(({ identity }) => identity).toSorted()).toEqual(names.slice(1).toSorted());
  },
);
