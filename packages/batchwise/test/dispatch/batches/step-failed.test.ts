// Accounts that throw unforeseen errors, in each call of each step: a batch is retried, later each
// time, and ends in quarantine, unless the provider may still receive a create.

import { expect, test } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import { type Fate, SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, storeDown, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const odd = (): never => {
  throw new RangeError("Maximum call stack size exceeded");
};

/** Every call of this name fails, and so does what would say what that means. */
function oddAccount(plain: Account, call: keyof Account, isOdd: () => boolean): Account {
  return new Proxy(plain, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      return isOdd() && (name === call || name === "classify") ? odd : value;
    },
  });
}

async function sent(call: keyof Account) {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  let isOdd = true;
  let told = 0;
  const account = oddAccount(sim.account(), call, () => isOdd);
  const dispatcher = await here.start({
    ...{ accounts: [account], thresholds: { maxRequests: 2 } },
    onError: () => {
      told += 1;
    },
  });
  await dispatcher.enqueueMany(["a", "b"].map((name) => ask(name)));
  const mend = (): void => {
    isOdd = false;
  };
  return { ...here, sim, dispatcher, mend, told: () => told };
}

test.each(["upload", "retrieve", "results"] as const)(
  "a batch whose %s throws without end is put aside",
  async (call) => {
    const { time, store, dispatcher, mend, sim, told, until } = await sent(call);
    await time.advance(6 * HOUR);
    const [batch] = await dispatcher.batches();
    expect(batch).toMatchObject({ state: "quarantined" });
    expect(told()).toBeLessThan(60);
    mend();
    await dispatcher.resume(batch?.key as string);
    await until(() => isAtRest(store, time.now()));
    expect(Object.fromEntries(sim.successes())).toEqual({ a: 1, b: 1 });
    await dispatcher.stop();
  },
);

/**
 * A world whose store fails to read requests, and whose account fails to find batches, for most of
 * an hour: some 15 tries.
 */
async function forAnHour(side: "requests" | "retrieve") {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  let isOdd = false;
  const account = oddAccount(sim.account(), "retrieve", () => isOdd && side === "retrieve");
  const store = new SimProcess(here.time).wrap(here.store, (name, call) => (isOdd && name === side ? odd() : call()));
  const options = { store, accounts: [account], thresholds: { maxRequests: 2 }, onError: () => {} };
  const dispatcher = await here.start(options);
  await dispatcher.enqueueMany(["a", "b"].map((name) => ask(name)));
  const open = async () => (await dispatcher.batches()).map(({ state }) => state).filter((state) => state !== "done");
  const oddHour = async (): Promise<void> => {
    isOdd = true;
    await here.time.advance(50 * MINUTE);
    isOdd = false;
  };
  return { ...here, sim, dispatcher, open, oddHour };
}

test("a step that succeeds in between resets the count", async () => {
  const { time, open, oddHour } = await forAnHour("retrieve");
  await time.advance(MINUTE);
  for (let hour = 0; hour < 4; hour += 1) {
    await oddHour();
    expect(await open()).toHaveLength(1);
    expect(await open()).not.toContain("quarantined");
    // At most one look.
    await time.advance(5 * MINUTE);
    if ((await open()).length === 0) return;
  }
});

test.each([
  ["resume", "submitting"],
  ["requeue", "collecting"],
] as const)("%s begins the count anew", async (way, state) => {
  const { store, time, dispatcher, open, oddHour, sim, until } = await forAnHour("requests");
  await oddHour();
  await oddHour();
  expect(await open()).toEqual(["quarantined"]);
  const [batch] = await dispatcher.batches();
  await time.advance(HOUR);
  const begun = dispatcher[way](batch?.key as string);
  await oddHour();
  await begun;
  expect(await open()).toEqual([state]);
  await until(() => isAtRest(store, time.now()));
  expect(Object.fromEntries(sim.successes())).toEqual({ a: 1, b: 1 });
});

test("one whose create may have been taken is tried ever later, and continues once that is mended", async () => {
  const { time, store, dispatcher, mend, sim, told, until } = await sent("create");
  await time.advance(6 * HOUR);
  expect(["submitting", "unknown"]).toContain((await dispatcher.batches())[0]?.state);
  expect(told()).toBeLessThan(200);
  mend();
  await until(() => isAtRest(store, time.now()));
  expect(Object.fromEntries(sim.successes())).toEqual({ a: 1, b: 1 });
  await dispatcher.stop();
});

test("a batch that is halved later is so with the words of the provider, not those of a step that failed", async () => {
  const here = world();
  let creates = 0;
  let isOdd = false;
  const fate = (operation: string): Fate => {
    if (operation !== "create") return {};
    creates += 1;
    return creates <= 36 ? { drop: "before" } : {};
  };
  const sim = new SimProvider({ time: here.time, fate });
  const account = oddAccount(sim.account({ tag: "metadata" }), "list", () => isOdd);
  const dispatcher = await here.start({ accounts: [account], thresholds: { maxRequests: 2 } });
  const codes: string[] = [];
  dispatcher.on("split", ({ code }) => codes.push(code));
  await dispatcher.enqueueMany(["a", "b"].map((name) => ask(name)));
  await here.until(async () => creates === 36 && (await dispatcher.batches())[0]?.state === "unknown");
  isOdd = true;
  await here.until(async () => (await dispatcher.batches())[0]?.lastError?.code === "step_failed");
  isOdd = false;
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(codes).toHaveLength(1);
  expect(codes).not.toContain("step_failed");
  expect(Object.fromEntries(sim.successes())).toEqual({ a: 1, b: 1 });
  await dispatcher.stop();
});

test("a store that does not answer is waited out, however long", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  let isDown = false;
  const store = new SimProcess(here.time).wrap(here.store, (name, call) =>
    isDown && name === "requests" ? Promise.reject(storeDown()) : call(),
  );
  const dispatcher = await here.start({ store, accounts: [sim.account()], thresholds: { maxRequests: 2 } });
  isDown = true;
  await dispatcher.enqueueMany(["a", "b"].map((name) => ask(name)));
  await here.time.advance(6 * HOUR);
  // Nor is it a try of the account that requested the lines.
  expect(await dispatcher.batches()).toMatchObject([{ state: "submitting", lastError: null }]);
  isDown = false;
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(Object.fromEntries(sim.successes())).toEqual({ a: 1, b: 1 });
  await dispatcher.stop();
});
