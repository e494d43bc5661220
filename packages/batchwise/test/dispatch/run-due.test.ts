// `runDue`, on the virtual clock: jobs that nothing else drives, runs that are cut off in the middle
// of each step, and the times that they say.

import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Account } from "../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../src/dispatch/contract/dispatcher.ts";
import { createDispatcher } from "../../src/dispatch/dispatcher.ts";
import type { DispatcherOptions } from "../../src/dispatch/options/dispatcher-options.ts";
import { memoryStore } from "../../src/dispatch/stores/memory/memory-store.ts";
import { sqliteStore } from "../../src/dispatch/stores/sqlite/index.ts";
import { virtualClock } from "../../src/testing/index.ts";
import { ended, leases } from "./support/due-runs.ts";
import { type Fate, type SimOptions, SimProvider } from "./support/sim-provider.ts";
import { ask, SimProcess, START, seeded } from "./support/world.ts";

const SECOND = 1_000;
const MINUTE = 60_000;
const stores = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore({ database: new DatabaseSync(":memory:") })],
] as const;

interface Given extends Partial<DispatcherOptions> {
  readonly sim?: Partial<SimOptions>;
  readonly account?: (provider: SimProvider, sleep: (ms: number) => Promise<void>) => Account;
}

/** A place for processes whose batches close at once. */
function place({ sim, account = (provider) => provider.account(), ...options }: Given = {}) {
  const time = virtualClock(START);
  const provider = new SimProvider({ time, ...sim });
  const { store = memoryStore() } = options;
  const sleep = (ms: number) => new Promise<void>((resolve) => void time.setTimeout(resolve, ms));
  const errors: unknown[] = [];
  let seed = 0;
  const process = (more: Partial<DispatcherOptions> = {}) => {
    const machine = new SimProcess(time);
    seed += 1;
    const dispatcher = createDispatcher({
      store: machine.wrap(store),
      accounts: [machine.wrap(account(provider, sleep))],
      clock: machine.clock,
      random: seeded(seed),
      thresholds: { maxAgeMs: 0 },
      onError: (error) => errors.push(error),
      ...options,
      ...more,
    });
    return { machine, dispatcher };
  };
  return { time, provider, store, errors, sleep, process };
}

type Place = ReturnType<typeof place>;

/** Runs, each when the one before has said, until nothing is due. */
async function finish({ time, store }: Place, dispatcher: Dispatcher, maxMs = 20 * SECOND) {
  for (let runs = 1; runs < 500; runs += 1) {
    const before = await leases(store, time.now());
    const { value, tookMs } = await ended(time, dispatcher.runDue({ maxMs }));
    expect(tookMs).toBeLessThanOrEqual(maxMs);
    // Those of a process that was killed end by themselves.
    expect(await leases(store, time.now())).toBeLessThanOrEqual(before);
    if (value.nextAt === null) return { ...value, runs };
    await time.advance(Math.max(0, value.nextAt - time.now()));
  }
  throw new Error("The job has not ended.");
}

const names = (count: number) => Array.from({ length: count }, (_, index) => ask(`r${index}`));

function expectEachOnce({ provider }: Place, count: number): void {
  const runs = provider.successes();
  expect(runs.size).toBe(count);
  expect(Math.max(...runs.values())).toBe(1);
}

describe.each(stores)("on %s", (_name, store) => {
  test("a job is done by runs alone, and each says when the next is due", async () => {
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

const STEPS = ["upload", "create", "list", "retrieve", "results"] as const;

/** The first call of the step takes half an hour. */
function stuckAt(step: (typeof STEPS)[number]) {
  const hang = { isBegun: false };
  const hangs = (operation: string): boolean => {
    if (operation !== step || hang.isBegun) return false;
    hang.isBegun = true;
    return true;
  };
  const given: Given = {
    leaseMs: 70 * SECOND,
    // Two batches are polled by the list.
    thresholds: { maxAgeMs: 0, maxRequests: step === "retrieve" ? 10 : 5 },
    sim: {
      fate: (operation): Fate => (hangs(operation) ? { actAfterMs: 30 * MINUTE } : {}),
      plan: () => ({ validateMs: 0, runMs: MINUTE }),
    },
    account: (provider, sleep) => {
      const plain = provider.account();
      return {
        ...plain,
        async *results(...given) {
          let lines = 0;
          for await (const line of plain.results(...given)) {
            if (lines === 3 && hangs("results")) await sleep(30 * MINUTE);
            lines += 1;
            yield line;
          }
        },
      };
    },
  };
  return { hang, given };
}

type Run = ReturnType<Dispatcher["runDue"]>;

/** Runs until one hangs in the step, and gives that run. */
async function hanging(
  here: Place,
  dispatcher: Dispatcher,
  hang: { readonly isBegun: boolean },
  signal: AbortSignal,
): Promise<{ readonly run: Run }> {
  for (let runs = 0; runs < 8; runs += 1) {
    const run = dispatcher.runDue({ maxMs: 20 * SECOND, signal });
    run.catch(() => {});
    await here.time.advance(5 * SECOND);
    if (hang.isBegun) return { run };
    const { nextAt } = await run;
    await here.time.advance(Math.max(0, (nextAt ?? 0) - here.time.now()));
  }
  throw new Error("No run hangs.");
}

describe.each(STEPS)("a run cut off in the middle of `%s`", (step) => {
  const gone = new Error("The platform ends the call.");

  test.each([
    ["time", "ended", () => {}],
    ["signal", gone, ({ abort }) => abort.abort(gone)],
    ["stop", expect.objectContaining({ code: "CLOSED" }), ({ dispatcher }) => void dispatcher.stop()],
  ] as [string, unknown, (all: { abort: AbortController; dispatcher: Dispatcher }) => void][])(
    "by its %s, is gone on with by the next",
    async (_end, expected, cut) => {
      const { hang, given } = stuckAt(step);
      const here = place(given);
      const { dispatcher } = here.process();
      const abort = new AbortController();
      await dispatcher.enqueueMany(names(10));
      const { run } = await hanging(here, dispatcher, hang, abort.signal);
      cut({ abort, dispatcher });
      const outcome = run.then(
        () => "ended",
        (error: unknown) => error,
      );
      const { value, tookMs } = await ended(here.time, outcome);
      expect(value).toEqual(expected);
      expect(tookMs).toBeLessThanOrEqual(15 * SECOND);
      expect(await leases(here.store, here.time.now())).toBe(0);
      const next = here.process().dispatcher;
      await finish(here, next);
      expectEachOnce(here, 10);
      expect((await next.stats()).outcomes).toMatchObject({ succeeded: 10, failed: 0 });
    },
  );

  test("by a kill, is gone on with when its leases have ended", async () => {
    const { hang, given } = stuckAt(step);
    const here = place(given);
    const { machine, dispatcher } = here.process();
    await dispatcher.enqueueMany(names(10));
    await hanging(here, dispatcher, hang, new AbortController().signal);
    machine.kill();
    const next = here.process().dispatcher;
    const { value } = await ended(here.time, next.runDue({ maxMs: 20 * SECOND }));
    expect(value.nextAt).toBeLessThanOrEqual(here.time.now() + 70 * SECOND);
    await finish(here, next);
    expectEachOnce(here, 10);
  });
});

const POINTS = ["after-intent", "after-upload", "create-answered", "after-result-txn", "after-delivery"];

test.each(POINTS)("a process that is killed at %s in a run leaves the rest to the next run", async (point) => {
  const here = place({ sim: { plan: () => ({ validateMs: 0, runMs: MINUTE }) } });
  const killed = here.process({ onOutcome: () => {} });
  const { machine } = killed;
  const failpoint = async (name: string): Promise<void> => {
    if (name !== point) return;
    machine.kill();
    await new Promise(() => {});
  };
  const dispatcher = createDispatcher({
    store: machine.wrap(here.store),
    accounts: [machine.wrap(here.provider.account())],
    clock: machine.clock,
    random: seeded(9),
    ...{ thresholds: { maxAgeMs: 0 }, failpoint, onOutcome: () => {}, onError: () => {} },
  });
  await dispatcher.enqueueMany(names(5));
  for (let runs = 0; runs < 20 && !machine.isDead; runs += 1) {
    dispatcher.runDue({ maxMs: 20 * SECOND }).catch(() => {});
    await here.time.advance(MINUTE);
  }
  expect(machine.isDead).toBe(true);
  const next = here.process({ onOutcome: () => {} }).dispatcher;
  await finish(here, next);
  expectEachOnce(here, 5);
  expect((await next.stats()).deliveriesWaiting).toBe(0);
});

test("after `start`, and after `stop`, it rejects; `start` after runs goes on with the job", async () => {
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

test("calls get what is left as their limit, not more and not `requestTimeoutMs`", async () => {
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
  // A second is kept for the last writes. Others count on a create to end in its usual time.
  expect(Object.fromEntries(limits)).toEqual({ upload: 199 * SECOND, create: 60 * SECOND });
  await here.time.advance(MINUTE);
  await ended(here.time, dispatcher.runDue({ maxMs: 5 * SECOND }));
  expect(limits.get("retrieve")).toBe(4_500);
});

describe("what is due next", () => {
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

/** An account that takes so many bytes a millisecond. */
function slow(bytesPerMs: number): NonNullable<Given["account"]> {
  return (provider, sleep) => {
    const plain = provider.account();
    return {
      ...plain,
      upload: async (input, call) => {
        const lines: string[] = [];
        for await (const line of input.lines()) {
          call.signal.throwIfAborted();
          await sleep(line.length / bytesPerMs);
          lines.push(line);
        }
        const given = {
          ...input,
          lines: async function* () {
            yield* lines;
          },
        };
        return (plain.upload as NonNullable<Account["upload"]>)(given, call);
      },
    };
  };
}

describe("files and the time that there is", () => {
  const big = (count: number, bytes: number) =>
    Array.from({ length: count }, (_, index) =>
      ask(`r${index}`, {
        body: { model: "m", messages: [{ role: "user", content: `r${index}` }], user: "x".repeat(bytes) },
      }),
    );

  test("a file that is too slow is reported by name, and its requests go in smaller ones", async () => {
    // 2 MB at 100 bytes a millisecond: 20 s for all.
    const here = place({ account: slow(100), thresholds: { maxAgeMs: 0 } });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(big(20, 100_000));
    await ended(here.time, dispatcher.runDue({ maxMs: 5 * SECOND }));
    const [first] = await dispatcher.batches({ limit: 1 });
    expect(here.errors).toMatchObject([{ code: "RUN_TOO_SHORT" }]);
    expect(String(here.errors[0])).toContain(`${first?.key}-1.jsonl`);
    await finish(here, dispatcher, 5 * SECOND);
    expectEachOnce(here, 20);
    const sizes = here.provider.batches.map(({ total }) => total ?? 0);
    expect(Math.max(...sizes)).toBeLessThan(20);
    // Once it is known, no file is begun that cannot move.
    expect(here.errors.length).toBeLessThan(4);
  });

  test("a single request that is too slow is reported and tried in each run", async () => {
    const here = place({ account: slow(10) });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(big(1, 100_000));
    for (let runs = 0; runs < 3; runs += 1) {
      const { value } = await ended(here.time, dispatcher.runDue({ maxMs: 2 * SECOND }));
      expect(value.open).toBe(1);
      expect(await leases(here.store, here.time.now())).toBe(0);
    }
    expect(here.errors.length).toBeGreaterThan(0);
    await finish(here, dispatcher, 20 * SECOND);
    expectEachOnce(here, 1);
  });

  test("results that a run could not read to their end stay settled, and are reported by name", async () => {
    const here = place({
      sim: { plan: () => ({ validateMs: 0, runMs: SECOND }) },
      account: (provider, sleep) => {
        const plain = provider.account();
        return {
          ...plain,
          async *results(...given) {
            for await (const line of plain.results(...given)) {
              await sleep(SECOND);
              yield line;
            }
          },
        };
      },
    });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(names(30));
    await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    await here.time.advance(MINUTE);
    const { value } = await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    expect(value.open).toBeLessThan(25);
    expect(value.open).toBeGreaterThan(15);
    const [batch] = await dispatcher.batches();
    expect(here.errors).toMatchObject([{ code: "RUN_TOO_SHORT" }]);
    expect(String(here.errors[0])).toContain(batch?.key);
    await finish(here, dispatcher, 60 * SECOND);
    expectEachOnce(here, 30);
  });
});

test("a process that a platform freezes between runs believes the clock that it wakes to", async () => {
  const here = place({ sim: { plan: () => ({ validateMs: 0, runMs: MINUTE }) } });
  const { machine, dispatcher } = here.process();
  await dispatcher.enqueueMany(names(2));
  await ended(here.time, dispatcher.runDue({ maxMs: SECOND }));
  // Its monotonic clock stood still: to it the wall clock has stepped.
  machine.step(0);
  await finish(here, dispatcher);
  expectEachOnce(here, 2);
});

test("many runs of many processes at odd times end each request once", async () => {
  for (let seed = 0; seed < 30; seed += 1) {
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
}, 60_000);

test("`result` in the same process resolves by a run", async () => {
  const here = place({ sim: { plan: () => ({ validateMs: 0, runMs: MINUTE }) } });
  const { dispatcher } = here.process();
  onTestFinished(() => dispatcher.stop());
  await dispatcher.enqueueMany(names(1));
  const result = dispatcher.result("r0");
  await finish(here, dispatcher);
  expect((await ended(here.time, result)).value.status).toBe("succeeded");
});
