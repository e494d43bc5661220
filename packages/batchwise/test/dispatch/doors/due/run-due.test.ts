// `runDue`, on the virtual clock: jobs that nothing else drives, and the times that runs say.

import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { expectEachOnce, finish, MINUTE, names, place, SECOND } from "../../support/due-place.ts";
import { ended, leases } from "../../support/due-runs.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, START, seeded } from "../../support/world.ts";

const stores = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore({ database: new DatabaseSync(":memory:") })],
] as const;

describe.each(stores)("on %s", (_name, store) => {
  test("a job is done by runs only, and each says when the next is due", async () => {
    const delivered: string[] = [];
    const here = place({
      store: store(),
      thresholds: { maxAgeMs: 10 * MINUTE },
      onOutcome: ({ id }) => void delivered.push(id),
    });
    const { time, process } = here;
    const { dispatcher } = process();
    await dispatcher.enqueueMany(names(3));
    const due = async () => (await ended(time, dispatcher.runDue({ maxMs: 20 * SECOND }))).value;
    expect(await due()).toEqual({ nextAt: START + 10 * MINUTE, open: 3 });
    await time.advance(10 * MINUTE);
    // Sent, and polled after half a minute.
    expect(await due()).toEqual({ nextAt: START + 10 * MINUTE + 30 * SECOND, open: 3 });
    expect(delivered).toEqual([]);
    expect(await finish(here, dispatcher)).toMatchObject({ nextAt: null, open: 0 });
    expect(delivered.toSorted()).toEqual(["r0", "r1", "r2"]);
    expectEachOnce(here, 3);
    // Nothing of it goes on.
    expect(time.nextAt).toBe(Number.POSITIVE_INFINITY);
  });

  test("runs that overlap, in one process and in two, share the work", async () => {
    const here = place({
      store: store(),
      sim: { fate: (operation) => (operation === "upload" ? { actAfterMs: 3 * SECOND } : {}) },
      thresholds: { maxAgeMs: 0, maxRequests: 2 },
    });
    const [a, b] = [here.process().dispatcher, here.process().dispatcher];
    await a.enqueueMany(names(12));
    const runs = [a, a, b].map((dispatcher) => dispatcher.runDue({ maxMs: 10 * SECOND }));
    await ended(here.time, Promise.all(runs));
    expect(here.provider.batches).toHaveLength(6);
    await finish(here, b);
    expectEachOnce(here, 12);
  });
});

test("after `start`, and after `stop`, it rejects; `start` after runs continues with the job", async () => {
  const here = place();
  const { time, process } = here;
  const { dispatcher } = process();
  await dispatcher.enqueueMany(names(2));
  await ended(time, dispatcher.runDue({ maxMs: SECOND }));
  await dispatcher.start();
  await expect(dispatcher.runDue({ maxMs: SECOND })).rejects.toMatchObject({ code: "ALREADY_STARTED" });
  await time.advance(60 * MINUTE);
  expectEachOnce(here, 2);
  await dispatcher.stop();
  await expect(dispatcher.runDue({ maxMs: SECOND })).rejects.toMatchObject({ code: "CLOSED" });
});

test("wrong options are refused, and an aborted signal does nothing", async () => {
  const { process, provider } = place();
  const { dispatcher } = process();
  await dispatcher.enqueueMany(names(1));
  const call = (options: unknown) => dispatcher.runDue(options as never);
  for (const maxMs of [undefined, 0, 99, 1.5, "1000", Number.POSITIVE_INFINITY]) {
    await expect(call({ maxMs })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  }
  await expect(call(undefined)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(call({ maxMs: 1_000, timeoutMs: 1 })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  const signal = AbortSignal.abort(new Error("Gone."));
  await expect(call({ maxMs: 1_000, signal })).rejects.toThrow("Gone.");
  expect(provider.calls.size).toBe(0);
});

test("calls get the remaining time as their limit, not more and not `requestTimeoutMs`", async () => {
  const limits = new Map<string, number>();
  const here = place({
    sim: { plan: () => ({ validateMs: 0, runMs: SECOND }) },
    account: (provider, sleep) => {
      const plain = provider.account({}, { pollMs: 1_000 });
      return {
        ...plain,
        upload: async (input, call) => {
          limits.set("upload", call.timeoutMs);
          await sleep(90 * SECOND);
          return (plain.upload as NonNullable<Account["upload"]>)(input, call);
        },
        create: (input, call) => {
          limits.set("create", call.timeoutMs);
          return plain.create(input, call);
        },
        retrieve: (id, call) => {
          limits.set("retrieve", call.timeoutMs);
          return plain.retrieve(id, call);
        },
      };
    },
  });
  const { dispatcher } = here.process();
  await dispatcher.enqueueMany(names(1));
  await ended(here.time, dispatcher.runDue({ maxMs: 200 * SECOND }));
  // Others count on a create to end in its usual time.
  expect(Object.fromEntries(limits)).toEqual({ upload: 200 * SECOND, create: 60 * SECOND });
  await here.time.advance(MINUTE);
  await ended(here.time, dispatcher.runDue({ maxMs: 5 * SECOND }));
  expect(limits.get("retrieve")).toBe(5_000);
});

describe("the next due time", () => {
  test("nothing: null", async () => {
    const { time, process } = place();
    const { value } = await ended(time, process().dispatcher.runDue({ maxMs: SECOND }));
    expect(value).toEqual({ nextAt: null, open: 0 });
  });

  test("a request that is tried again after a pause is open, and due at its end", async () => {
    const here = place({
      sim: { plan: () => ({ validateMs: 0, runMs: MINUTE, statusOf: (_id, run) => (run < 3 ? 500 : 200) }) },
    });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(names(2));
    let paused = 0;
    for (let runs = 0; runs < 50; runs += 1) {
      const { value } = await ended(here.time, dispatcher.runDue({ maxMs: SECOND }));
      if (value.nextAt === null) break;
      expect(value.open).toBe(2);
      const { lanes, inBatches } = await here.store.probe(1_000, here.time.now());
      const [lane] = lanes;
      if (inBatches === 0 && lane !== undefined) {
        paused += 1;
        expect(value.nextAt).toBe(lane.deferredUntil);
      }
      await here.time.advance(Math.max(0, value.nextAt - here.time.now()));
    }
    expect(paused).toBeGreaterThan(0);
    expect((await dispatcher.stats()).outcomes.succeeded).toBe(2);
  });

  test("where the account is paused: a deadline, or nothing", async () => {
    const { time, process } = place({ thresholds: { maxAgeMs: 10 * MINUTE } });
    const { dispatcher } = process();
    await dispatcher.enqueueMany(names(1));
    await dispatcher.pauseAccount("sim");
    const due = async () => (await ended(time, dispatcher.runDue({ maxMs: SECOND }))).value;
    expect(await due()).toEqual({ nextAt: null, open: 1 });
    const deadlineAt = START + 5 * MINUTE;
    await dispatcher.enqueue(ask("late", { deadlineAt }));
    expect(await due()).toEqual({ nextAt: deadlineAt, open: 2 });
    await time.advance(5 * MINUTE);
    expect(await due()).toEqual({ nextAt: null, open: 1 });
    expect((await dispatcher.result("late")).status).toBe("expired");
  });

  test("work for a limit of the account that is used up waits for its batches", async () => {
    const limits = { maxEnqueuedBatches: 1, maxRequests: 2 };
    const here = place({
      account: (provider) => {
        const plain = provider.account();
        return {
          ...plain,
          capabilities: { ...plain.capabilities, limits: { ...plain.capabilities.limits, ...limits } },
        };
      },
    });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(names(6));
    const { value } = await ended(here.time, dispatcher.runDue({ maxMs: SECOND }));
    expect(here.provider.batches).toHaveLength(1);
    expect(value).toEqual({ nextAt: START + 30 * SECOND, open: 6 });
    const { runs } = await finish(here, dispatcher);
    expect(runs).toBeLessThan(40);
    expectEachOnce(here, 6);
  });

  test("an account that is not here has no say", async () => {
    const here = place();
    const other = here.process().dispatcher;
    await other.enqueueMany(names(1));
    await ended(here.time, other.runDue({ maxMs: SECOND }));
    await here.time.advance(MINUTE);
    const elsewhere = createDispatcher({
      store: here.store,
      accounts: [new SimProvider({ time: here.time }).account({}, { name: "another" })],
      clock: here.time,
      random: seeded(7),
    });
    const { value } = await ended(here.time, elsewhere.runDue({ maxMs: SECOND }));
    expect(value).toEqual({ nextAt: null, open: 1 });
  });
});

test("a process that a platform freezes between runs believes the clock that it wakes to", async () => {
  const here = place({ sim: { plan: () => ({ validateMs: 0, runMs: MINUTE }) } });
  const { machine, dispatcher } = here.process();
  await dispatcher.enqueueMany(names(2));
  await ended(here.time, dispatcher.runDue({ maxMs: SECOND }));
  expect(here.provider.batches).toHaveLength(1);
  // Its monotonic clock stood still: to it the wall clock has stepped. One that doubted that would
  // report it, and enqueue with the old time.
  machine.step(120 * MINUTE);
  await ended(here.time, dispatcher.runDue({ maxMs: SECOND }));
  await dispatcher.enqueue(ask("r2"));
  expect(here.errors).toEqual([]);
  const [late] = await here.store.requests({ ids: ["r2"] });
  expect(late?.createdAt).toBe(machine.clock.now());
  await ended(here.time, dispatcher.runDue({ maxMs: SECOND }));
  expect(here.provider.batches).toHaveLength(2);
  await finish(here, dispatcher);
  expectEachOnce(here, 3);
});

test("many runs of many processes at odd times end each request once", async () => {
  for (let seed = 0; seed < 10; seed += 1) {
    const random = seeded(seed);
    const below = (most: number) => Math.floor(random() * most);
    const here = place({
      thresholds: { maxAgeMs: 0, maxRequests: 4 },
      sim: {
        fate: () => (random() < 0.3 ? { actAfterMs: below(8 * SECOND), replyAfterMs: below(8 * SECOND) } : {}),
        plan: () => ({ validateMs: below(MINUTE), runMs: below(10 * MINUTE) }),
      },
    });
    const { time, store, process } = here;
    await process().dispatcher.enqueueMany(names(20));
    for (let runs = 0; runs < 60; runs += 1) {
      const { dispatcher } = process();
      dispatcher.runDue({ maxMs: 100 + below(10 * SECOND) }).catch(() => {});
      await time.advance(below(10 * SECOND));
    }
    await time.advance(20 * SECOND);
    expect(await leases(store, time.now())).toBe(0);
    await finish(here, process().dispatcher);
    expectEachOnce(here, 20);
  }
});

test("`result` in the same process resolves by a run", async () => {
  const here = place({ sim: { plan: () => ({ validateMs: 0, runMs: MINUTE }) } });
  const { dispatcher } = here.process();
  onTestFinished(() => dispatcher.stop());
  await dispatcher.enqueueMany(names(1));
  const result = dispatcher.result("r0");
  await finish(here, dispatcher);
  expect((await ended(here.time, result)).value.status).toBe("succeeded");
});
