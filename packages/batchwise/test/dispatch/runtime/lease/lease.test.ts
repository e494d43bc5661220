// Leases: kept while an operation runs, given up when it is lost, and never outlived by a create.

import { describe, expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { DispatchError } from "../../../../src/dispatch/contract/errors.ts";
import type { SettleInput } from "../../../../src/dispatch/contract/store/calls.ts";
import type { RequestQuery } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Lease } from "../../../../src/dispatch/runtime/lease/lease.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { batchRow } from "../../support/rows.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, START, storeDown, world } from "../../support/world.ts";

const MINUTE = 60_000;
const thresholds = { maxRequests: 5 };
const names = ["a", "b", "c", "d", "e"];

describe("a lease", () => {
  test("is kept as long as the results take, so that no other process reads them too", async () => {
    const { time, store, start, until } = world();
    const sim = new SimProvider({ time });
    const account = sim.account();
    const slow: Account = {
      ...account,
      async *results(batch, call, name) {
        for await (const line of account.results(batch, call, name)) {
          await new Promise((resolve) => time.setTimeout(() => resolve(null), 50_000));
          yield line;
        }
      },
    };
    const first = await start({ accounts: [slow], thresholds });
    await start({ accounts: [slow], thresholds });
    await first.enqueueMany(names.map((name) => ask(name)));
    await until(() => isAtRest(store, time.now()));
    expect(sim.calls.get("results")).toBe(1);
  });

  test("of a process that sleeps goes to another, and late writes of the sleeper are not sent", async () => {
    const { time, store, start, until } = world();
    const sim = new SimProvider({ time });
    const sleeper = new SimProcess(time);
    const sleepy = sleeper.wrap(store, async (name, call, given) => {
      const answer = await call();
      const isLastWrite = name === "transition" && Object.hasOwn(given[2] as object, "providerFileId");
      if (isLastWrite) sleeper.sleep(20 * MINUTE);
      return answer;
    });
    const accounts = [sleeper.wrap(sim.account())];
    const first = await start({ store: sleepy, accounts, clock: sleeper.clock, thresholds });
    await first.enqueueMany(names.map((name) => ask(name)));
    await time.advance(1_000);
    expect(sim.calls.get("create")).toBeUndefined();
    const second = await start({ accounts: [sim.account()], thresholds });
    await until(() => isAtRest(store, time.now()));
    await time.advance(60 * MINUTE);
    expect(sim.calls.get("create")).toBe(1);
    expect((await second.batches()).map(({ submitAttempt, state }) => [submitAttempt, state])).toEqual([[2, "done"]]);
  });

  test("counts the grace from the create, not from before a long upload", async () => {
    const { time, store, start } = world();
    const sim = new SimProvider({ time, fate: (operation) => (operation === "upload" ? { actAfterMs: 50_000 } : {}) });
    const dispatcher = await start({ accounts: [sim.account()], thresholds });
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    await time.advance(MINUTE);
    const [batch] = await store.batches({ limit: 1 });
    expect(batch?.submitStartedAt).toBeGreaterThanOrEqual(START + 50_000);
  });

  test("survives a store that does not answer for a while: the provider's answer is written in the end", async () => {
    const { time, store, start, until } = world();
    const sim = new SimProvider({ time });
    let isDown = false;
    const flaky = new SimProcess(time).wrap(store, (_name, call) => (isDown ? Promise.reject(storeDown()) : call()));
    const account = sim.account();
    const cut: Account = {
      ...account,
      create: async (input, call) => {
        const answer = await account.create(input, call);
        isDown = true;
        time.setTimeout(() => {
          isDown = false;
        }, 20_000);
        return answer;
      },
    };
    const dispatcher = await start({ store: flaky, accounts: [cut], thresholds });
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    await time.advance(15_000);
    expect(await store.batches({ limit: 1 })).toMatchObject([{ state: "submitting", providerBatchId: null }]);
    await time.advance(25_000);
    expect(await store.batches({ limit: 1 })).toMatchObject([{ state: "submitted", providerBatchId: "batch-1" }]);
    await until(() => isAtRest(store, time.now()));
    expect(sim.calls.get("create")).toBe(1);
  });

  test("whose writes fail repeats them less and less often, and the same failure of all batches is reported now and then", async () => {
    const { time, store, start } = world();
    const sim = new SimProvider({ time });
    let isDown = false;
    let refused = 0;
    const writes = ["transition", "settle"];
    const flaky = new SimProcess(time).wrap(store, (name, call) => {
      if (!isDown || !writes.includes(name)) return call();
      refused += 1;
      return Promise.reject(storeDown());
    });
    const told: unknown[] = [];
    const onError = (error: unknown): void => void told.push(error);
    const options = { store: flaky, accounts: [sim.account()], thresholds: { maxRequests: 1 }, onError };
    const dispatcher = await start(options);
    await dispatcher.enqueueMany(Array.from({ length: 50 }, (_, index) => ask(`r${index}`)));
    await time.advance(5 * MINUTE);
    isDown = true;
    await time.advance(3 * MINUTE);
    expect(refused / 50).toBeGreaterThan(8);
    expect(refused / 50).toBeLessThan(25);
    expect(told.length).toBeGreaterThan(3);
    expect(told.length).toBeLessThan(8);
  });

  test("whose results the store refuses, and whose heartbeats it takes, is given back ever longer, and others continue", async () => {
    const { time, store, start, until } = world();
    const sim = new SimProvider({ time });
    let isFull = true;
    const { store: full, keyOf } = refusing(store, (key) => isFull && key !== keyOf("e"));
    const options = { store: full, accounts: [sim.account()], thresholds: { maxRequests: 1 }, onError: () => {} };
    const dispatcher = await start(options);
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    await time.advance(60 * MINUTE);
    expect(await store.outcomes({ after: 0, limit: 5 })).toMatchObject([{ id: "e", status: "succeeded" }]);
    expect(await dispatcher.batches({ states: ["collecting"] })).toHaveLength(4);
    const read = sim.calls.get("results") ?? 0;
    await time.advance(60 * MINUTE);
    // A pass lasts as long as one lease, and the next one begins five minutes later.
    expect((sim.calls.get("results") ?? 0) - read).toBeLessThan(4 * 12);
    isFull = false;
    await until(() => isAtRest(store, time.now()));
    expect([...sim.successes().values()]).toEqual(names.map(() => 1));
  });

  test("refuses forbidden writes at once, without a call of the store", async () => {
    const { time, store } = world();
    const account = new SimProvider({ time }).account();
    const told: unknown[] = [];
    const onError = (error: unknown): void => void told.push(error);
    const runtime = new Runtime(resolveOptions({ store, accounts: [account], clock: time, onError }));
    const lease = new Lease(runtime, account, batchRow({ state: "done" }), time.now());
    let thrown: unknown = null;
    lease.write({ state: "sealed" }).catch((error: unknown) => {
      thrown = error;
    });
    await time.settle();
    expect(String(thrown)).toContain("may not go from done to sealed");
    expect([lease.isOver, told]).toEqual([false, []]);
    lease.close();
  });
});

/** A store that refuses the results of some batches; `refuses` gets the batch's key. */
function refusing(store: Store, refuses: (key: string) => boolean) {
  const keys = new Map<string, string>();
  const wrapped: Store = new Proxy(store, {
    get(target, name) {
      if (name === "settle") {
        return async (input: SettleInput) => {
          if (refuses(input.key)) throw new DispatchError("STORE_FULL", "The tablespace is full.");
          return store.settle(input);
        };
      }
      if (name === "requests") {
        return async (query: RequestQuery) => {
          const rows = await store.requests(query);
          if ("batchKey" in query) for (const { id } of rows) keys.set(id, query.batchKey);
          return rows;
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { store: wrapped, keyOf: (id: string) => keys.get(id) };
}
