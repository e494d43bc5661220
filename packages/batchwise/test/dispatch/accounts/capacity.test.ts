// Limits of enqueued work at a provider: they hold work back and are learned, and no request is
// charged.

import { describe, expect, test } from "vitest";
import { DispatchError } from "../../../src/dispatch/contract/errors.ts";
import type { Failure } from "../../../src/dispatch/contract/failures.ts";
import { type Fate, SIM_LIMITS, SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, world } from "../support/world.ts";

const MINUTE = 60_000;
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

describe("a provider's limit on enqueued tokens", () => {
  test("that is known is never reached: batches wait for room on the ledger", async () => {
    const { time, store, start, until } = world();
    const sim = new SimProvider({ time, enqueuedTokens: 100 });
    const limits = { ...SIM_LIMITS, maxEnqueuedTokens: 100 };
    const dispatcher = await start({ accounts: [sim.account({ limits })], thresholds: { maxAgeMs: MINUTE } });
    await dispatcher.enqueueMany(names(60).map((name) => ask(name)));
    let most = 0;
    await until(async () => {
      for (const { tokens } of (await dispatcher.stats()).ledgers) most = Math.max(most, tokens);
      return isAtRest(store, time.now());
    });
    expect(most).toBeLessThanOrEqual(100);
    expect(sim.batches.filter(({ state }) => state === "failed")).toEqual([]);
    expect([...sim.successes().values()]).toEqual(names(60).map(() => 1));
  });

  test("that is not configured is learned from the refusal, and costs no try", async () => {
    const { time, store, start, until } = world();
    const sim = new SimProvider({ time, enqueuedTokens: 100 });
    const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxAgeMs: MINUTE } });
    await dispatcher.enqueueMany(names(60).map((name) => ask(name)));
    await until(() => isAtRest(store, time.now()));
    const [ledger] = (await dispatcher.stats()).ledgers;
    expect(ledger?.learnedTokens).toBe(100);
    const outcomes = await Promise.all(names(60).map((name) => dispatcher.result(name)));
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect([...sim.successes().values()]).toEqual(names(60).map(() => 1));
  });

  test("that another client has used up makes a batch wait with its members, and it goes when there is room", async () => {
    const { time, store, start, until } = world();
    const sim = new SimProvider({ time, enqueuedTokens: 100 });
    sim.addForeign(90);
    const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxRequests: 10, maxAgeMs: MINUTE } });
    await dispatcher.enqueueMany(names(10).map((name) => ask(name)));
    await time.advance(2 * MINUTE);
    expect((await dispatcher.batches()).map(({ state }) => state)).toEqual(["waiting_capacity"]);
    expect((await dispatcher.batches())[0]?.lastError?.code).toBe("token_limit_exceeded");
    await until(() => isAtRest(store, time.now()));
    expect((await dispatcher.result("r0")).attempts).toBe(1);
    expect((await dispatcher.batches()).map(({ requests, submitAttempt }) => [requests, submitAttempt])).toEqual([
      [10, 3],
    ]);
  });
});

describe("a single request", () => {
  const limited = (limitTokens: number | null): Failure => {
    return { kind: "tokenLimit", code: "token_limit_exceeded", message: "Enqueued token limit reached.", limitTokens };
  };
  const slow: Failure = { kind: "rateLimited", code: "rate_limit", message: "Slow down.", retryAfterMs: 5_000 };

  test("waits for a token limit without a charge, however often it was rate limited before", async () => {
    const { time, store, start, until } = world();
    let creates = 0;
    const fate = (operation: string): Fate => {
      if (operation !== "create") return {};
      creates += 1;
      return creates > 12 ? {} : { refuse: creates === 12 ? limited(null) : slow };
    };
    const sim = new SimProvider({ time, fate });
    const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxRequests: 1 } });
    await dispatcher.enqueue(ask("r0"));
    await until(() => isAtRest(store, time.now()));
    expect(await dispatcher.result("r0")).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  test.each([[null], [90_000]])(
    "waits as long as others use the limit up (limit reported: %s)",
    async (limitTokens) => {
      const { time, store, start, until } = world();
      const end = time.now() + 20 * 60 * MINUTE;
      const fate = (operation: string): Fate =>
        operation === "create" && time.now() < end ? { refuse: limited(limitTokens) } : {};
      const sim = new SimProvider({ time, fate });
      const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxRequests: 1 } });
      await dispatcher.enqueue(ask("r0"));
      await until(() => isAtRest(store, time.now()));
      expect(await dispatcher.result("r0")).toMatchObject({ status: "succeeded", attempts: 1 });
    },
  );

  test("is not ended where it is larger than the limit that the provider reports, and goes once that is raised", async () => {
    const { time, store, start, until } = world();
    const end = time.now() + 20 * 60 * MINUTE;
    const fate = (operation: string): Fate =>
      operation === "create" && time.now() < end ? { refuse: limited(3) } : {};
    const sim = new SimProvider({ time, fate });
    const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxRequests: 1 } });
    await dispatcher.enqueue(ask("r0"));
    await until(() => isAtRest(store, time.now()));
    expect(await dispatcher.result("r0")).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  test("counts on its ledger while it is sent and runs, and not while it waits for a higher limit", async () => {
    const { time, store, start, until } = world();
    let creates = 0;
    const fate = (operation: string): Fate => {
      if (operation !== "create") return {};
      creates += 1;
      return creates === 1 ? { refuse: limited(3) } : {};
    };
    const sim = new SimProvider({ time, fate, plan: () => ({ runMs: 20 * MINUTE }) });
    const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxRequests: 1 } });
    const booked = async () => {
      const { batches, ledgers } = await dispatcher.stats();
      const [{ tokens, requests } = { tokens: -1, requests: -1 }] = ledgers;
      return { waiting: batches.waiting_capacity, running: batches.running, isBooked: tokens > 0 && requests === 1 };
    };
    await dispatcher.enqueue(ask("r0"));
    await until(async () => (await booked()).waiting === 1);
    expect(await booked()).toMatchObject({ isBooked: false });
    await until(async () => (await booked()).running === 1);
    expect(await booked()).toMatchObject({ isBooked: true });
    await until(() => isAtRest(store, time.now()));
    expect(await booked()).toMatchObject({ isBooked: false });
    expect(await dispatcher.result("r0")).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  test("goes past a learned limit by itself, and holds no later request back", async () => {
    const { time, store, start, until } = world();
    const sim = new SimProvider({ time, enqueuedTokens: 100 });
    const errors: unknown[] = [];
    const onError = (error: unknown): number => errors.push(error);
    const dispatcher = await start({ accounts: [sim.account()], onError, thresholds: { maxAgeMs: MINUTE } });
    await dispatcher.enqueueMany(names(60).map((name) => ask(name)));
    await until(() => isAtRest(store, time.now()));
    const words = "x".repeat(2_000);
    await dispatcher.enqueue(ask("large", { body: { model: "m", messages: [{ role: "user", content: words }] } }));
    await dispatcher.enqueueMany(names(20).map((name) => ask(`later ${name}`)));
    await until(async () => (await dispatcher.requests({ statuses: ["succeeded"] })).requests.length === 80);
    expect((await dispatcher.requests({ ids: ["large"] })).requests).toMatchObject([{ status: "in_batch" }]);
    expect(errors.filter((error) => String(error).includes("limit of 100 enqueued tokens"))).toHaveLength(1);
  });
});

describe("a limit that was learned", () => {
  const misread = (limitTokens: number): Failure => ({
    ...{ kind: "tokenLimit", code: "token_limit_exceeded", message: "Enqueued token limit reached." },
    limitTokens,
  });

  test("and is far too low ends nothing, and is forgotten with the first batch that is taken", async () => {
    const { time, store, start, until } = world();
    let creates = 0;
    const fate = (operation: string): Fate => {
      if (operation !== "create") return {};
      creates += 1;
      return creates === 1 ? { refuse: misread(2) } : {};
    };
    const sim = new SimProvider({ time, fate });
    const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxAgeMs: MINUTE } });
    await dispatcher.enqueueMany(names(60).map((name) => ask(name)));
    await until(() => isAtRest(store, time.now()));
    const outcomes = await Promise.all(names(60).map((name) => dispatcher.result(name)));
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect((await dispatcher.stats()).ledgers[0]?.learnedTokens).toBeNull();
    expect(creates).toBeLessThan(10);
  });

  test("is not kept where the user has given one: a lower figure is reported with both", async () => {
    const { time, store, start, until } = world();
    const end = time.now() + 3 * 60 * MINUTE;
    const fate = (operation: string): Fate =>
      operation === "create" && time.now() < end ? { refuse: misread(90_000) } : {};
    const sim = new SimProvider({ time, fate });
    const account = sim.account({ limits: { ...SIM_LIMITS, maxEnqueuedTokens: 2_000_000 } });
    const told: string[] = [];
    const onError = (error: unknown): number => told.push(String(error));
    const dispatcher = await start({ accounts: [account], onError, thresholds: { maxAgeMs: MINUTE } });
    await dispatcher.enqueueMany(names(10).map((name) => ask(name)));
    await until(() => isAtRest(store, time.now()));
    expect((await dispatcher.stats()).ledgers[0]?.learnedTokens).toBeNull();
    expect(told.filter((words) => words.includes("90,000") && words.includes("2,000,000"))).toHaveLength(1);
    expect((await dispatcher.result("r0")).status).toBe("succeeded");
  });
});

test("work goes to the account with the most room, and around one that is paused", async () => {
  const { time, store, start, until } = world();
  const limits = (maxEnqueuedTokens: number) => ({ limits: { ...SIM_LIMITS, maxEnqueuedTokens } });
  const large = new SimProvider({ time });
  const small = new SimProvider({ time });
  const broke = new SimProvider({
    time,
    fate: () => ({ refuse: { kind: "authOrBilling", code: "402", message: "No credit." } }),
  });
  const dispatcher = await start({
    accounts: [
      large.account(limits(400), { name: "large" }),
      small.account(limits(100), { name: "small" }),
      broke.account(limits(100), { name: "broke" }),
    ],
    thresholds: { maxRequests: 5, maxAgeMs: MINUTE },
  });
  await dispatcher.enqueueMany(names(60).map((name) => ask(name)));
  await time.advance(MINUTE);
  const sealed = await dispatcher.batches();
  const share = (name: string): number => sealed.filter(({ account }) => account === name).length;
  expect(share("large")).toBeGreaterThan(share("small"));
  // What was sealed there before it refused its first batch has gone back to the lane.
  const tried = sealed.filter(({ account }) => account === "broke");
  expect(tried.every(({ state }) => state === "done")).toBe(true);
  await time.advance(10 * MINUTE);
  expect(large.executions.length + small.executions.length).toBe(0);
  expect(broke.calls.get("upload")).toBe(tried.length);
  await until(async () => (await store.probe(1, time.now())).outcomes.succeeded === 60);
});

test("batches of one account that are due together are polled by one list call", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({ time, plan: () => ({ runMs: 60 * MINUTE }) });
  const account = sim.account({ list: { paged: true, pageSize: 100, newestFirst: true } });
  const dispatcher = await start({ accounts: [account], thresholds: { maxRequests: 1 } });
  await dispatcher.enqueueMany(names(40).map((name) => ask(name)));
  await until(() => isAtRest(store, time.now()));
  const calls = (sim.calls.get("list") ?? 0) + (sim.calls.get("retrieve") ?? 0);
  expect(calls / 40).toBeLessThan(2);
});

test("a lane without room does not query the store in a hot loop", async () => {
  const { time, store, start } = world();
  let probes = 0;
  const counted = new Proxy(store, {
    get: (target, name: keyof typeof store) => {
      if (name === "probe") probes += 1;
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const sim = new SimProvider({ time });
  const limits = { ...SIM_LIMITS, maxEnqueuedBatches: 1 };
  const dispatcher = await start({
    store: counted,
    accounts: [sim.account({ limits })],
    thresholds: { maxRequests: 1 },
  });
  await dispatcher.enqueueMany(names(5).map((name) => ask(name)));
  await time.advance(5 * MINUTE);
  expect(probes).toBeLessThan(60);
});

test("requests that come into a lane without room do not each query the store for it", async () => {
  const { time, store, start } = world();
  let probes = 0;
  const process = new SimProcess(time);
  const counted = process.wrap(store, (name, call) => {
    if (name === "probe") probes += 1;
    return call();
  });
  const sim = new SimProvider({ time });
  const limits = { ...SIM_LIMITS, maxEnqueuedBatches: 1 };
  const dispatcher = await start({
    store: counted,
    accounts: [sim.account({ limits })],
    thresholds: { maxRequests: 2 },
  });
  for (const name of names(300)) {
    await dispatcher.enqueue(ask(name));
    await time.advance(100);
  }
  expect(probes).toBeLessThan(60);
});

test("a store that is full or read-only stops intake with its own error, and stored requests continue", async () => {
  const { time, store, start, until } = world();
  let refusal: DispatchError | null = null;
  const guarded = new SimProcess(time).wrap(store, (name, call) =>
    name === "enqueue" && refusal !== null ? Promise.reject(refusal) : call(),
  );
  const sim = new SimProvider({ time });
  const dispatcher = await start({ store: guarded, accounts: [sim.account()], thresholds: { maxAgeMs: MINUTE } });
  await dispatcher.enqueue(ask("kept"));
  refusal = new DispatchError("STORE_FULL", "The disk is full.");
  await expect(dispatcher.enqueue(ask("refused"))).rejects.toMatchObject({ code: "STORE_FULL" });
  refusal = new DispatchError("STORE_READ_ONLY", "The database is read-only.");
  await expect(dispatcher.enqueueMany([ask("refused")])).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
  await until(() => isAtRest(store, time.now()));
  expect((await dispatcher.result("kept")).status).toBe("succeeded");
  await expect(dispatcher.result("refused")).rejects.toMatchObject({ code: "NOT_FOUND" });
});
