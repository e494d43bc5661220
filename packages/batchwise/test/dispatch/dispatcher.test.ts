// The dispatcher from end to end, on the memory store and a provider in a few lines, in virtual
// time.

import { describe, expect, test } from "vitest";
import type { Dispatcher } from "../../src/dispatch/contract/dispatcher.ts";
import type { Outcome } from "../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../src/dispatch/dispatcher.ts";
import { type SimOptions, SimProvider } from "./support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, START, seeded, type World, world } from "./support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);
const rest = ({ store, time, until }: World): Promise<void> => until(() => isAtRest(store, time.now()));

/** A world with one dispatcher at one provider. */
async function alone(options: Partial<SimOptions> = {}, thresholds = { maxRequests: 10, maxAgeMs: HOUR }) {
  const here = world();
  const sim = new SimProvider({ time: here.time, ...options });
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds });
  return { ...here, here, sim, dispatcher };
}

async function statuses(dispatcher: Dispatcher, ids: readonly string[]): Promise<string[]> {
  const outcomes = await Promise.all(ids.map((id) => dispatcher.result(id)));
  return outcomes.map(({ status, error }) => (error === null ? status : `${status} ${error.code}`));
}

test("requests come back one by one, each with its own answer", async () => {
  const { here, dispatcher } = await alone();
  await dispatcher.enqueueMany(names(25).map((name) => ask(name)));
  const answers = Promise.all(names(25).map((name) => dispatcher.result(name)));
  await rest(here);
  const outcomes: Outcome[] = await answers;
  expect(outcomes.map(({ status, attempts, response }) => [status, attempts, response?.body])).toEqual(
    names(25).map((name) => ["succeeded", 1, { answer: name }]),
  );
  expect((await dispatcher.batches()).map(({ requests, state }) => [requests, state])).toEqual([
    [5, "done"],
    [10, "done"],
    [10, "done"],
  ]);
});

test("every method works when it is taken off its dispatcher", async () => {
  const { dispatcher, time, here } = await alone();
  const { enqueue, flush, result, outcomes, stats, requests, on, stop } = dispatcher;
  const sealed: unknown[] = [];
  on("seal", (event) => void sealed.push(event));
  const { id } = await enqueue(ask("one"));
  flush();
  const answer = result(id);
  await time.settle();
  await rest(here);
  expect((await answer).status).toBe("succeeded");
  const first = await outcomes().next();
  expect((first.value as Outcome).id).toBe(id);
  expect((await requests()).requests).toHaveLength(1);
  expect([sealed.length, typeof (await stats())]).toEqual([1, "object"]);
  await stop();
});

describe("a batch closes", () => {
  test("at once when a threshold is reached, without any time passing", async () => {
    const { dispatcher, time } = await alone();
    await dispatcher.enqueueMany(names(9).map((name) => ask(name)));
    await time.settle();
    expect(await dispatcher.batches()).toEqual([]);
    await dispatcher.enqueue(ask("r9"));
    await time.advance(1);
    expect((await dispatcher.batches()).map(({ requests }) => requests)).toEqual([10]);
  });

  test("when the oldest request has waited maxAgeMs, counted from its own arrival", async () => {
    const { dispatcher, time } = await alone();
    await time.advance(5 * HOUR);
    await dispatcher.enqueue(ask("old"));
    await time.advance(HOUR - 1_000);
    expect(await dispatcher.batches()).toEqual([]);
    await time.advance(1_000);
    expect(await dispatcher.batches()).toHaveLength(1);
  });

  test("before a deadline passes", async () => {
    const { dispatcher, time } = await alone();
    await dispatcher.enqueue(ask("soon", { deadlineAt: START + 10 * MINUTE }));
    await time.advance(9 * MINUTE + 1);
    expect(await dispatcher.batches()).toHaveLength(1);
  });

  test("with the requests of only one model and endpoint", async () => {
    const { here, dispatcher } = await alone();
    await dispatcher.enqueueMany([
      ask("chat"),
      { id: "other", body: { model: "n", messages: [{ role: "user", content: "other" }] } },
      { id: "vector", body: { model: "m", input: "x", messages: [{ content: "vector" }] }, endpoint: "/v1/embeddings" },
    ]);
    await rest(here);
    const lanes = (await dispatcher.batches()).map(({ endpoint, model }) => `${endpoint} ${model}`);
    expect(lanes.toSorted()).toEqual(["/v1/chat/completions m", "/v1/chat/completions n", "/v1/embeddings m"]);
  });
});

describe("a request that fails", () => {
  test("is tried again when that may help, and its tries are counted", async () => {
    const { here, dispatcher } = await alone({
      plan: () => ({ statusOf: (name, run) => (name === "flaky" && run < 3 ? 500 : 200) }),
    });
    await dispatcher.enqueueMany([ask("fine"), ask("flaky")]);
    await rest(here);
    expect(await dispatcher.result("flaky")).toMatchObject({ status: "succeeded", attempts: 3 });
    expect(await dispatcher.result("fine")).toMatchObject({ status: "succeeded", attempts: 1 });
  });

  test.each([
    ["for good at once", 400, "failed status_400", 1],
    ["when its tries are used up", 503, "failed status_503", 3],
    ["when no line ever comes for it", -1, "failed missing_result", 3],
    ["when its line has no reason", 0, "failed missing_result", 3],
  ])("ends %s", async (_name, status, expected, attempts) => {
    const { here, dispatcher } = await alone({ plan: () => ({ statusOf: () => status }) });
    await dispatcher.enqueue(ask("a"));
    await rest(here);
    expect(await statuses(dispatcher, ["a"])).toEqual([expected]);
    expect((await dispatcher.result("a")).attempts).toBe(attempts);
  });

  test("can be run again by hand, under its old name", async () => {
    let status = 400;
    const { here, dispatcher } = await alone({ plan: () => ({ statusOf: () => status }) });
    await dispatcher.enqueue(ask("a"));
    await rest(here);
    status = 200;
    expect(await dispatcher.retry(["a", "unheard of"])).toBe(1);
    await rest(here);
    expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded", attempts: 1 });
  });
});

test("an expired batch returns its finished results, and the rest goes again", async () => {
  const { here, sim, dispatcher } = await alone({
    plan: ({ index }) => ({ notRun: (name) => index === 0 && name === "r1" }),
  });
  await dispatcher.enqueueMany(names(3).map((name) => ask(name)));
  await rest(here);
  expect(await statuses(dispatcher, names(3))).toEqual(["succeeded", "succeeded", "succeeded"]);
  expect([...sim.successes().values()]).toEqual([1, 1, 1]);
});

test("a request whose deadline passes in a full account ends as expired", async () => {
  const { here, dispatcher, time } = await alone({
    fate: (operation) => (operation === "create" ? { refuse: REFUSED } : {}),
  });
  await dispatcher.enqueue(ask("first"));
  dispatcher.flush();
  await time.advance(2 * HOUR);
  expect((await dispatcher.stats()).inBatches).toBe(1);
  await here.store.enqueue([{ ...row, deadlineAt: START + HOUR }], time.now());
  await time.advance(MINUTE);
  expect(await statuses(dispatcher, [row.id])).toEqual(["expired deadline_exceeded"]);
});

const REFUSED = { kind: "definitelyNotCreated", code: "ECONNREFUSED", message: "Refused." } as const;
const row = {
  id: "late",
  digest: "d",
  lane: "/v1/chat/completions  m",
  priority: 0,
  tenant: "",
  job: "",
  bytes: 100,
  tokens: 5,
  metadata: null,
  body: "{}",
};

describe("cancel", () => {
  test("ends waiting requests at once", async () => {
    const { dispatcher } = await alone();
    await dispatcher.enqueue(ask("a"));
    expect(await dispatcher.cancel("a")).toBe("cancelled");
    expect(await statuses(dispatcher, ["a"])).toEqual(["cancelled cancelled"]);
    expect([await dispatcher.cancel("a"), await dispatcher.cancel("b")]).toEqual(["ended", "not_found"]);
  });

  test("stops a batch at the provider when all of its requests are cancelled", async () => {
    const { dispatcher, time, sim } = await alone();
    await dispatcher.enqueueMany(names(10).map((name) => ask(name)));
    await time.advance(MINUTE);
    for (const name of names(10)) expect(await dispatcher.cancel(name)).toBe("requested");
    await time.advance(2 * MINUTE);
    expect(new Set(await statuses(dispatcher, names(10)))).toEqual(new Set(["cancelled cancelled"]));
    expect(sim.executions).toEqual([]);
  });

  test("of one among many keeps its result where it comes all the same", async () => {
    const { here, dispatcher, time } = await alone();
    await dispatcher.enqueueMany(names(10).map((name) => ask(name)));
    await time.advance(MINUTE);
    expect(await dispatcher.cancel("r3")).toBe("requested");
    await rest(here);
    expect(await statuses(dispatcher, ["r3", "r4"])).toEqual(["succeeded", "succeeded"]);
  });
});

describe("an id", () => {
  test("enqueued twice with the same body is the same request", async () => {
    const { here, sim, dispatcher } = await alone();
    const answers = await Promise.all([dispatcher.enqueue(ask("a")), dispatcher.enqueue(ask("a"))]);
    expect(answers.map(({ existing }) => existing)).toEqual([false, true]);
    await rest(here);
    expect(sim.executions).toHaveLength(1);
  });

  test("of another body is refused, and the first stays", async () => {
    const { here, dispatcher } = await alone();
    await dispatcher.enqueue(ask("a"));
    const other = { ...ask("b"), id: "a" };
    await expect(dispatcher.enqueue(other)).rejects.toMatchObject({ code: "DUPLICATE_ID", retryable: false });
    await rest(here);
    expect(await dispatcher.result("a")).toMatchObject({ response: { body: { answer: "a" } } });
  });

  test("of another body in a call of many is named, and the error counts the others", async () => {
    const { here, dispatcher } = await alone();
    await dispatcher.enqueue({ ...ask("old"), id: "b" });
    const one = (await dispatcher
      .enqueueMany([ask("a"), ask("b"), ask("c")])
      .catch((error: unknown) => error)) as Error;
    expect(one).toMatchObject({ code: "DUPLICATE_ID" });
    expect(one.message).toMatch(/^requests\[1\]: The id "b" is taken .*\. The other 2 of 3 requests are stored\.$/);
    const two = dispatcher.enqueueMany([{ ...ask("x"), id: "a" }, ask("d"), { ...ask("y"), id: "c" }]);
    await expect(two).rejects.toThrow(/requests\[0\].* The call has 2 such ids\. The other 1 of 3 requests/);
    await rest(here);
    for (const id of ["a", "c", "d"])
      expect(await dispatcher.result(id)).toMatchObject({ response: { body: { answer: id } } });
  });

  test("that the dispatcher made can be enqueued again with the same body, and with no other", async () => {
    const { here, sim, dispatcher } = await alone();
    const { id: _id, ...unnamed } = ask("a");
    const { id } = await dispatcher.enqueue(unnamed);
    expect(await dispatcher.enqueue({ ...unnamed, id })).toEqual({ id, existing: true });
    await expect(dispatcher.enqueue({ ...ask("b"), id })).rejects.toMatchObject({ code: "DUPLICATE_ID" });
    await rest(here);
    expect(sim.executions).toHaveLength(1);
    expect(await dispatcher.enqueue({ ...unnamed, id })).toEqual({ id, existing: true });
  });
});

describe("several processes on one store", () => {
  test("a second dispatcher continues where a dead one stopped", async () => {
    const { here, sim, store, time } = await alone();
    const process = new SimProcess(time);
    const accounts = [process.wrap(sim.account())];
    const first = createDispatcher({ store: process.wrap(store), accounts, clock: process.clock, random: seeded(7) });
    await first.start();
    await first.enqueueMany(names(25).map((name) => ask(name)));
    await time.advance(5_000);
    process.kill();
    await rest(here);
    expect([...sim.successes().values()]).toEqual(names(25).map(() => 1));
  });

  test("share the work, and each request runs once", async () => {
    const { here, sim, dispatcher, start } = await alone({ fate: () => ({ replyAfterMs: 3_000 }) });
    const thresholds = { maxRequests: 10, maxAgeMs: HOUR };
    const second = await start({ accounts: [sim.account()], thresholds, random: seeded(2) });
    for (const name of names(100)) await (Number(name.slice(1)) % 2 === 0 ? dispatcher : second).enqueue(ask(name));
    const told = Promise.all(names(100).map((name) => second.result(name)));
    await rest(here);
    expect((await told).every(({ status }) => status === "succeeded")).toBe(true);
    expect([...sim.successes().values()]).toEqual(names(100).map(() => 1));
  });

  test("the log is read on from a cursor, also by another process", async () => {
    const { here, sim, dispatcher, start, time } = await alone();
    await dispatcher.enqueueMany(names(20).map((name) => ask(name)));
    await rest(here);
    const first: string[] = [];
    let after = 0;
    for await (const outcome of dispatcher.outcomes()) {
      first.push(outcome.id);
      after = outcome.cursor;
      if (first.length === 8) break;
    }
    const other = await start({ accounts: [sim.account()] });
    const second: string[] = [];
    const reading = (async () => {
      for await (const outcome of other.outcomes({ after })) second.push(outcome.id);
    })();
    await time.advance(MINUTE);
    await Promise.all([other.stop(), time.advance(MINUTE)]);
    await reading;
    expect([...first, ...second].toSorted()).toEqual(names(20).toSorted());
  });
});

describe("stop", () => {
  test("gives leases back, so that another process continues at once", async () => {
    const { sim, dispatcher, start, time } = await alone();
    await dispatcher.enqueueMany(names(10).map((name) => ask(name)));
    await time.advance(MINUTE);
    await dispatcher.stop();
    await start({ accounts: [sim.account()] });
    await time.advance(12 * MINUTE);
    expect([...sim.successes().values()]).toEqual(names(10).map(() => 1));
  });

  test("leaves no timer behind, ends waits, and refuses later calls", async () => {
    const { dispatcher, time } = await alone();
    await dispatcher.enqueue(ask("a"));
    const waiting = dispatcher.result("a");
    waiting.catch(() => {});
    await time.advance(MINUTE);
    await Promise.all([dispatcher.stop(), dispatcher.stop()]);
    expect(time.timers).toBe(0);
    await expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
    await expect(dispatcher.enqueue(ask("b"))).rejects.toMatchObject({ code: "CLOSED" });
    await expect(dispatcher.result("a")).rejects.toMatchObject({ code: "CLOSED" });
  });
});

test("stopped while it reads the provider's list, it reports no error", async () => {
  const errors: unknown[] = [];
  const { time, start } = world();
  const fate = (operation: string) => ({ replyAfterMs: operation === "list" ? 10_000 : 0 });
  const sim = new SimProvider({ time, fate });
  const thresholds = { maxRequests: 5, maxAgeMs: HOUR };
  const onError = (error: unknown): void => void errors.push(error);
  const sweeping = await start({ accounts: [sim.account()], thresholds, onError });
  await time.advance(5_000);
  expect(sim.calls.get("list")).toBe(1);
  await sweeping.stop();

  const polling = await start({ accounts: [sim.account()], thresholds, onError });
  await time.advance(15_000);
  await polling.enqueueMany(names(10).map((name) => ask(name)));
  for (const end = time.now() + HOUR; time.now() < end && sim.calls.get("list") === 2; ) await time.advance(1_000);
  expect(sim.calls.get("list")).toBe(3);
  await polling.stop();
  expect(errors).toEqual([]);
});

test("a result that was never enqueued is not waited for, and a wait can be aborted", async () => {
  const { dispatcher } = await alone();
  await expect(dispatcher.result("nobody")).rejects.toMatchObject({ code: "NOT_FOUND" });
  await dispatcher.enqueue(ask("a"));
  const leave = new AbortController();
  const waiting = dispatcher.result("a", { signal: leave.signal });
  leave.abort(new Error("Enough."));
  await expect(waiting).rejects.toThrow("Enough.");
});
