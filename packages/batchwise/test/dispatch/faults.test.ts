// Batches that fail as a whole, creates whose answer is lost, and unexpected provider batches.

import { describe, expect, test } from "vitest";
import type { Account } from "../../src/dispatch/contract/account.ts";
import type { Failure } from "../../src/dispatch/contract/failures.ts";
import { type SimOptions, SimProvider } from "./support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, world } from "./support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

async function sent(count: number, options: Partial<SimOptions>, more: Partial<Account> = {}, tag = "metadata") {
  const here = world();
  const sim = new SimProvider({ time: here.time, ...options });
  const kind = tag === "none" ? ({ tag: "none", maxInlineBytes: Infinity } as const) : {};
  const accounts = [sim.account(kind, more)];
  const dispatcher = await here.start({ accounts, thresholds: { maxRequests: count, maxAgeMs: 5 * MINUTE } });
  await dispatcher.enqueueMany(names(count).map((name) => ask(name)));
  return { ...here, sim, dispatcher, rest: () => here.until(() => isAtRest(here.store, here.time.now())) };
}

const refused = (lines: readonly number[]): Failure => ({
  kind: "invalidRequest",
  code: "invalid_batch",
  message: "Refused.",
  lines: lines.map((line) => ({ line, code: "model_not_found", message: `Line ${line} is bad.` })),
});

describe("a batch refused as a whole", () => {
  test("with blamed lines loses only these, and the others go again without a charge", async () => {
    const { rest, dispatcher } = await sent(5, { plan: ({ index }) => (index === 0 ? { failure: refused([2]) } : {}) });
    await rest();
    expect(await dispatcher.result("r1")).toMatchObject({ status: "failed", error: { code: "model_not_found" } });
    for (const name of ["r0", "r2", "r3", "r4"]) {
      expect(await dispatcher.result(name)).toMatchObject({ status: "succeeded", attempts: 1 });
    }
  });

  test("without a reason is halved, once one request of it was taken, until the poison is isolated, and only that one fails", async () => {
    const { rest, dispatcher, sim } = await sent(16, {
      plan: ({ identities }) => (identities.includes("r11") ? { failure: refused([]) } : {}),
    });
    await rest();
    const outcomes = await Promise.all(names(16).map((name) => dispatcher.result(name)));
    expect(outcomes.filter(({ status }) => status !== "succeeded").map(({ id, error }) => [id, error?.code])).toEqual([
      ["r11", "invalid_batch"],
    ]);
    expect(outcomes.every(({ attempts }) => attempts === 1)).toBe(true);
    expect(sim.batches.map(({ total }) => total)).toEqual([16, 16, 1, 15, 8, 7, 4, 3, 2, 2, 1, 1, 1]);
  });

  test("marks the poison in no way: run again by hand, it shares a batch with other waiting requests", async () => {
    const { rest, dispatcher, sim } = await sent(4, {
      plan: ({ index, identities }) => (index < 9 && identities.includes("r2") ? { failure: refused([]) } : {}),
    });
    await rest();
    await dispatcher.enqueue(ask("late"));
    expect(await dispatcher.retry(["r0", "r2", "nobody"])).toBe(1);
    await rest();
    expect(await dispatcher.result("r2")).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(sim.batches.map(({ total }) => total)).toEqual([4, 4, 1, 3, 2, 1, 1, 1, 1, 2]);
  });

  test("once, for a passing reason, simply goes again", async () => {
    const { rest, sim } = await sent(4, { plan: ({ index }) => (index === 0 ? { failure: refused([]) } : {}) });
    await rest();
    expect(sim.batches.map(({ total }) => total)).toEqual([4, 4]);
  });
});

describe("a create whose answer is lost", () => {
  const lose = (): ((operation: string) => { drop?: "after" }) => {
    let count = 0;
    return (operation) => {
      if (operation !== "create") return {};
      count += 1;
      return count === 1 ? { drop: "after" } : {};
    };
  };

  test("is found by its tag and never sent again", async () => {
    const { rest, sim, dispatcher } = await sent(3, { fate: lose(), listLagMs: () => 45_000 });
    await rest();
    expect(sim.batches).toHaveLength(1);
    expect((await dispatcher.batches())[0]).toMatchObject({ submitAttempt: 1, state: "done" });
  });

  test("is guessed by its size where there is no tag, and nothing else is created there meanwhile", async () => {
    const here = await sent(3, { fate: lose(), listLagMs: () => 45_000 }, {}, "none");
    await here.time.advance(1_000);
    await here.dispatcher.enqueueMany(["a", "b", "c"].map((name) => ask(name)));
    await here.time.advance(20_000);
    expect(here.sim.batches).toHaveLength(1);
    await here.rest();
    // No second batch of three: two batches of one size could not be distinguished.
    expect(here.sim.batches.map(({ total }) => total)).toEqual([3, 2, 1]);
    expect([...here.sim.successes().values()]).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("guessed wrongly is given back when its results carry other names, and ours is found", async () => {
    let lag = 200_000;
    const here = await sent(3, { fate: lose(), listLagMs: () => lag }, {}, "none");
    await here.time.advance(1_000);
    // The stranger's batch can be seen at once, before ours, and has our size.
    lag = 0;
    here.sim.addForeign(3);
    await here.rest();
    const [batch] = await here.dispatcher.batches();
    expect(batch).toMatchObject({ state: "done", submitAttempt: 1, providerBatchId: "batch-1" });
    expect(batch?.orphans).toMatchObject([{ providerBatchId: "batch-2", action: "foreign" }]);
    expect([...here.sim.successes()].filter(([id]) => id.startsWith("r")).map(([, runs]) => runs)).toEqual([1, 1, 1]);
  });
});

test("a guess that failed as a whole proves nothing: it is given back, and ours is found", async () => {
  let lag = 200_000;
  let isFirst = true;
  const here = await sent(
    3,
    {
      fate: (operation) => {
        const isLost = operation === "create" && isFirst;
        if (isLost) isFirst = false;
        return isLost ? { drop: "after" } : {};
      },
      listLagMs: () => lag,
      plan: ({ identities }) => (identities[0]?.startsWith("stranger") ? { failure: refused([]) } : {}),
    },
    {},
    "none",
  );
  await here.time.advance(1_000);
  lag = 0;
  here.sim.addForeign(3);
  await here.rest();
  const [batch] = await here.dispatcher.batches();
  expect(batch?.orphans).toMatchObject([{ providerBatchId: "batch-2", action: "foreign" }]);
  expect([...here.sim.successes().values()]).toEqual([1, 1, 1]);
});

test("a create that a sleeping process sends late is found by the sweeper and stopped", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({ time, plan: () => ({ runMs: 3 * HOUR }) });
  const sleeper = new SimProcess(time);
  const account = sim.account();
  // It falls asleep between its last look at the clock and the wire: no check in the process can
  // help.
  const zombie: Account = {
    ...account,
    create: async (input, call) => {
      await new Promise((resolve) => time.setTimeout(() => resolve(null), 20 * MINUTE));
      return account.create(input, call);
    },
  };
  const first = await start({
    store: sleeper.wrap(store),
    accounts: [sleeper.wrap(zombie)],
    clock: sleeper.clock,
    thresholds: { maxRequests: 3 },
  });
  await first.enqueueMany(names(3).map((name) => ask(name)));
  await time.advance(1_000);
  sleeper.sleep(20 * MINUTE);
  const second = await start({ accounts: [account], thresholds: { maxRequests: 3 } });
  await until(() => isAtRest(store, time.now()));
  expect(sim.batches.map(({ state }) => state).toSorted()).toEqual(["cancelled", "done"]);
  const [batch] = await second.batches();
  expect(batch?.orphans.map(({ action }) => action)).toEqual(["cancelled"]);
  expect([...sim.successes().values()]).toEqual([1, 1, 1]);
});

test("results that break off are read again from the start, and none counts as missing", async () => {
  const { rest, dispatcher, sim } = await sent(10, { plan: () => ({ cutAfter: 4 }) });
  await rest();
  const outcomes = await Promise.all(names(10).map((name) => dispatcher.result(name)));
  expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
  expect(sim.calls.get("results")).toBe(2);
});

test("a batch that the provider forgets is put aside, and goes back to the lane only by hand", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({ time });
  let isGone = true;
  const account = sim.account();
  const forgetful: Account = {
    ...account,
    retrieve: (id, call) => (isGone ? Promise.resolve(null) : account.retrieve(id, call)),
  };
  const dispatcher = await start({ accounts: [forgetful], thresholds: { maxRequests: 2, maxAgeMs: MINUTE } });
  await dispatcher.enqueueMany(["a", "b"].map((name) => ask(name)));
  await time.advance(HOUR);
  const [batch] = await dispatcher.batches({ states: ["quarantined"] });
  expect(batch?.lastError?.code).toBe("batch_vanished");
  isGone = false;
  expect(await dispatcher.requeue(batch?.key ?? "")).toBe(1);
  await until(() => isAtRest(store, time.now()));
  expect((await dispatcher.result("a")).status).toBe("succeeded");
});

test("a batch that was quarantined is polled again when an operator says so", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({ time });
  const account = sim.account();
  let isGone = true;
  const forgetful: Account = {
    ...account,
    retrieve: (id, call) => (isGone ? Promise.resolve(null) : account.retrieve(id, call)),
  };
  const dispatcher = await start({ accounts: [forgetful], thresholds: { maxRequests: 1 } });
  await dispatcher.enqueue(ask("a"));
  await time.advance(HOUR);
  const [batch] = await dispatcher.batches({ states: ["quarantined"] });
  isGone = false;
  expect(await dispatcher.resume(batch?.key ?? "")).toBe(1);
  await until(() => isAtRest(store, time.now()));
  expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(sim.batches).toHaveLength(1);
});

test("a batch that the provider does not know for a moment is reported to onError and looked for again", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({ time });
  const account = sim.account();
  const blindFrom = time.now() + 8 * MINUTE;
  const blink: Account = {
    ...account,
    retrieve: (id, call) => {
      const isBlind = time.now() >= blindFrom && time.now() < blindFrom + 5 * MINUTE;
      return isBlind ? Promise.resolve(null) : account.retrieve(id, call);
    },
  };
  const told: string[] = [];
  const onError = (error: unknown): void => void told.push(String(error));
  const dispatcher = await start({ accounts: [blink], thresholds: { maxRequests: 1 }, onError });
  await dispatcher.enqueue(ask("a"));
  await until(() => isAtRest(store, time.now()));
  expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(told.length).toBeGreaterThan(0);
  expect(told.every((text) => text.includes("does not know batch-1"))).toBe(true);
});

test("lines that were not run because the account has no money cost no try and pause the account", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const plain = sim.account();
  const until = here.time.now() + 6 * HOUR;
  const error = { code: "insufficient_quota", message: "You exceeded your current quota." };
  const account: Account = {
    ...plain,
    async *results(batch, call, name) {
      for await (const line of plain.results(batch, call, name)) {
        yield here.time.now() < until ? { ...line, response: { statusCode: 429, body: { error } }, error } : line;
      }
    },
  };
  const dispatcher = await here.start({ accounts: [account], thresholds: { maxRequests: 4, maxAgeMs: MINUTE } });
  await dispatcher.enqueueMany(names(4).map((name) => ask(name)));
  await here.time.advance(20 * MINUTE);
  const { ledgers } = await here.store.probe(1, here.time.now());
  expect(ledgers.find(({ name }) => name === "sim")).toMatchObject({ note: "insufficient_quota" });
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(await dispatcher.result("r0")).toMatchObject({ status: "succeeded", attempts: 1 });
  // One round in each pause and run of the batch: 6 hours hold at most 15.
  expect(sim.batches.length).toBeLessThan(17);
});
