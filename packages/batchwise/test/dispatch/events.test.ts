// Each event of `on`, through the official client and the fake: emitted once, by the process that
// acted.

import { createDispatcher, memoryStore } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeFault, type FakeOptions, type FakePlan, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { Dispatcher } from "../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../src/dispatch/contract/dispatcher-options.ts";
import { type DispatcherEventName, type DispatcherEvents, EVENT_NAMES } from "../../src/dispatch/contract/events.ts";
import { drive } from "./support/drive.ts";
import { losingStore } from "./support/set-back.ts";
import { ask, isAtRest, SimProcess, world } from "./support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const COUNT = 4;
const names = Array.from({ length: COUNT }, (_, index) => `r${index}`);

/** All events of a dispatcher. */
class Heard {
  readonly #told: { [Name in DispatcherEventName]?: DispatcherEvents[Name][] } = {};

  constructor(dispatcher: Dispatcher) {
    for (const name of EVENT_NAMES) this.#listen(dispatcher, name);
  }

  #listen<Name extends DispatcherEventName>(dispatcher: Dispatcher, name: Name): void {
    const list: DispatcherEvents[Name][] = [];
    Object.assign(this.#told, { [name]: list });
    dispatcher.on(name, (event) => list.push(event));
  }

  of<Name extends DispatcherEventName>(name: Name): readonly DispatcherEvents[Name][] {
    return this.#told[name] as readonly DispatcherEvents[Name][];
  }
}

interface Given extends Partial<DispatcherOptions> {
  readonly fake?: FakeOptions;
  readonly plan?: Partial<FakePlan>;
  readonly faults?: readonly FakeFault[];
}

/** One process over OpenAI, listened to; `ready` enqueues four requests, which make a batch. */
async function site({ fake: settings, plan, faults = [], ...options }: Given = {}) {
  const { time, store: own, start } = world();
  const store = options.store ?? own;
  const fake = fakeProvider({ clock: time, ...settings });
  if (plan !== undefined) fake.planNext(plan);
  for (const fault of faults) fake.inject(fault);
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const process = new SimProcess(time);
  const accounts = [openaiAccount({ client })];
  const { clock } = process;
  const dispatcher = await start({ store, accounts, clock, thresholds: { maxRequests: COUNT }, ...options });
  const heard = new Heard(dispatcher);
  const until = (at: number): Promise<void> => drive(time, fake, async () => time.now() >= at);
  const pass = (ms: number): Promise<void> => until(time.now() + ms);
  const rest = (): Promise<void> => drive(time, fake, () => isAtRest(store, time.now()));
  const ready = async (more: (id: string) => object = () => ({})): Promise<string> => {
    await dispatcher.enqueueMany(names.map((id) => ask(id, more(id))));
    await pass(1_000);
    return (await dispatcher.batches())[0]?.key ?? "";
  };
  return { time, store, fake, process, dispatcher, heard, pass, rest, ready };
}

const about = (batch: string) => ({ account: "openai", batch });

test("a batch that goes well: enqueue, seal, upload, create, poll, collect, usage, batch", async () => {
  const { ready, rest, heard, dispatcher } = await site();
  const key = await ready((id) => ({ tenant: id === "r0" ? "acme" : "", job: "night" }));
  await dispatcher.enqueueMany([ask("r0"), ask("r1")]);
  await expect(dispatcher.enqueue({ ...ask("other"), id: "r0" })).rejects.toMatchObject({ code: "DUPLICATE_ID" });
  await rest();
  await dispatcher.stop();
  expect(heard.of("enqueue")).toEqual([
    { stored: 4, existing: 0, conflicts: 0 },
    { stored: 0, existing: 2, conflicts: 0 },
    { stored: 0, existing: 0, conflicts: 1 },
  ]);
  const { bytes, tokens } = (await dispatcher.batches())[0] ?? { bytes: 0, tokens: 0 };
  const model = { endpoint: "/v1/chat/completions", model: "m" };
  expect(heard.of("seal")).toEqual([{ ...about(key), ...model, requests: 4, bytes, tokens, oldestMs: 0 }]);
  const sent = { ...about(key), requests: 4, bytes, attempt: 1, result: "accepted", code: null };
  expect(heard.of("upload")).toMatchObject([sent]);
  expect(heard.of("create")).toMatchObject([sent]);
  const polls = heard.of("poll");
  expect(polls.length).toBeGreaterThan(1);
  expect(polls[0]).toMatchObject({ ...about(key), result: "seen", providerState: "validating", listed: false });
  expect(polls.at(-1)).toMatchObject({ result: "seen", providerState: "completed", code: null });
  expect(polls.at(-1)?.ageMs).toBeGreaterThan(polls[0]?.ageMs ?? 0);
  expect(heard.of("collect")).toMatchObject([{ ...about(key), lines: 4, code: null }]);
  const usage = heard.of("usage").toSorted((a, b) => b.ended.succeeded - a.ended.succeeded);
  const ended = { failed: 0, cancelled: 0, expired: 0 };
  expect(usage).toMatchObject([
    { ...about(key), ...model, tenant: "", job: "night", ended: { ...ended, succeeded: 3 } },
    { ...about(key), ...model, tenant: "acme", job: "night", ended: { ...ended, succeeded: 1 } },
  ]);
  const outcome = await dispatcher.batches();
  expect(heard.of("batch")).toMatchObject([{ batch: { key, state: "done", remaining: 0 } }]);
  expect(heard.of("batch")[0]?.batch).toEqual(outcome[0]);
  for (const quiet of ["leaseLost", "quarantine", "split", "pause", "adopt", "clockStep", "setBack"] as const) {
    expect(heard.of(quiet)).toEqual([]);
  }
});

test("tokens of usage events are those of the outcomes, and lines that come twice count once", async () => {
  const { ready, rest, heard, dispatcher } = await site({ plan: { duplicateLines: 3 } });
  await ready();
  await rest();
  const outcomes = await Promise.all(names.map((name) => dispatcher.result(name)));
  const sum = (of: (index: number) => number): number => names.reduce((total, _name, index) => total + of(index), 0);
  const [usage, ...more] = heard.of("usage");
  expect(more).toEqual([]);
  expect(usage?.ended.succeeded).toBe(4);
  expect(usage?.inputTokens).toBe(sum((index) => outcomes[index]?.usage?.inputTokens ?? 0));
  expect(usage?.outputTokens).toBe(sum((index) => outcomes[index]?.usage?.outputTokens ?? 0));
  expect(usage?.outputTokens).toBeGreaterThan(0);
  expect(heard.of("collect")[0]?.lines).toBe(7);
  await dispatcher.stop();
});

test("lanes and batches show how long requests wait and batches are in their states", async () => {
  const { pass, heard, dispatcher, ready, rest } = await site();
  await dispatcher.enqueue(ask("early"));
  await pass(HOUR);
  const lane = heard.of("lanes").at(-1)?.lanes[0];
  expect(lane).toMatchObject({ model: "m", waiting: 1 });
  expect(lane?.oldestMs).toBeGreaterThan(HOUR - 31_000);
  expect(lane?.oldestMs).toBeLessThanOrEqual(HOUR);
  expect(heard.of("batches").at(-1)).toEqual({ states: [] });
  await ready();
  await pass(5 * MINUTE);
  const [state, ...others] = heard.of("batches").at(-1)?.states ?? [];
  expect(others).toEqual([]);
  expect(state?.count).toBe(1);
  expect(["submitted", "running"]).toContain(state?.state);
  expect(state?.oldestMs).toBeGreaterThan(4 * MINUTE);
  dispatcher.flush();
  await rest();
  await pass(MINUTE);
  expect(heard.of("lanes").at(-1)).toEqual({ lanes: [] });
  expect(heard.of("batches").at(-1)).toEqual({ states: [] });
  // Looks follow each change at once, but events are emitted at most once a second and once in ten.
  expect(heard.of("lanes").length).toBeLessThan(1_000);
  await dispatcher.stop();
});

test("loops report once that they have started and once that they have stopped, after the last look", async () => {
  const { time } = world();
  const fake = fakeProvider({ clock: time });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const accounts = [openaiAccount({ client })];
  const [dispatcher, idle] = [1, 2].map(() => createDispatcher({ store: memoryStore(), accounts })) as [
    Dispatcher,
    Dispatcher,
  ];
  const told: string[] = [];
  for (const one of [dispatcher, idle]) {
    one.on("loops", ({ running }) => told.push(running ? "running" : "stopped"));
    one.on("lanes", () => told.push("look"));
  }
  for (let call = 0; call < 2; call += 1) await dispatcher.start();
  for (const one of [dispatcher, idle, dispatcher]) await one.stop();
  await null;
  expect(told.filter((word) => word !== "look")).toEqual(["running", "stopped"]);
  expect(told.at(-1)).toBe("stopped");
});

test("a create that is refused, one whose answer is lost, and the batch found by its tag", async () => {
  const { ready, rest, heard, dispatcher } = await site({
    faults: [
      { on: "batches.create", accept: false, reply: { status: 429 } },
      { on: "batches.create", reply: "drop" },
    ],
  });
  const key = await ready();
  await rest();
  const results = heard.of("create").map(({ result, attempt }) => [result, attempt]);
  expect(results).toEqual([
    ["refused", 1],
    ["unknown", 2],
  ]);
  for (const { code } of heard.of("create")) expect(code).toEqual(expect.any(String));
  expect(heard.of("adopt")).toMatchObject([{ ...about(key), verified: true, duplicates: 0 }]);
  await dispatcher.stop();
});

test("an upload that is refused", async () => {
  const { ready, rest, heard, dispatcher } = await site({
    faults: [{ on: "files.create", accept: false, reply: { status: 503 } }],
  });
  await ready();
  await rest();
  expect(heard.of("upload").map(({ result }) => result)).toEqual(["unknown", "accepted"]);
  await dispatcher.stop();
});

test("polls that fail, and a batch that the provider no longer knows: poll, quarantine", async () => {
  const reads = "batches.retrieve";
  const { ready, pass, heard, dispatcher } = await site({
    plan: { runMs: 20 * HOUR },
    faults: [
      { on: reads, accept: false, reply: { status: 500 } },
      { on: reads, times: 100, accept: false, reply: { status: 404 } },
    ],
  });
  const key = await ready();
  await pass(HOUR);
  const results = heard.of("poll").map(({ result }) => result);
  expect(results[0]).toBe("failed");
  expect(results.slice(1)).toEqual(results.slice(1).map(() => "gone"));
  expect(results.length).toBeGreaterThan(5);
  const [quarantine, ...more] = heard.of("quarantine");
  expect(more).toEqual([]);
  expect(quarantine).toMatchObject({ ...about(key), requests: 4 });
  expect(quarantine?.code).toBe((await dispatcher.batches())[0]?.lastError?.code);
  await dispatcher.stop();
});

test("results that break off: collect", async () => {
  const { ready, rest, heard, dispatcher } = await site({
    faults: [{ on: "files.content", reply: { cutAtBytes: 900 } }],
  });
  await ready();
  await rest();
  const [cut, whole] = heard.of("collect");
  expect(cut?.code).toEqual(expect.any(String));
  expect(cut?.lines).toBeLessThan(4);
  expect(whole).toMatchObject({ lines: 4, code: null });
  const ended = heard.of("usage").reduce((sum, usage) => sum + usage.ended.succeeded, 0);
  expect(ended).toBe(4);
  await dispatcher.stop();
});

test("an account that refuses every batch: split into a canary and the others, pause", async () => {
  const failWith = { code: "server_error", message: "The server had an error." };
  const { ready, pass, heard, dispatcher } = await site({ fake: { plan: { failWith } } });
  const key = await ready();
  await pass(3 * HOUR);
  expect(heard.of("split")[0]).toMatchObject({ ...about(key), kind: "canary", requests: 4, code: "server_error" });
  const [pause] = heard.of("pause");
  expect(pause).toMatchObject({ account: "openai", ledger: "openai", code: "server_error" });
  expect(heard.of("pause").length).toBeGreaterThan(1);
  await dispatcher.stop();
});

test("a batch that is refused while the account takes others is halved", async () => {
  const { ready, rest, heard, dispatcher } = await site({
    fake: { plan: ({ requests }) => (requests > 1 ? { failSilently: true } : {}) },
  });
  await ready();
  await rest();
  expect(heard.of("split").map(({ kind }) => kind)).toContain("halves");
  await dispatcher.stop();
});

test("a limit that is used up pauses its ledger", async () => {
  const { ready, pass, heard, dispatcher } = await site({ fake: { limits: { enqueuedTokens: 1 } } });
  await ready();
  await pass(HOUR);
  expect(heard.of("pause")[0]).toMatchObject({ account: "openai", ledger: "openai/m" });
  await dispatcher.stop();
});

test("a lease that another process has taken, and nothing else of the sleeper", async () => {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time });
  const sleeper = new SimProcess(time);
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const account = openaiAccount({ client });
  const thresholds = { maxRequests: COUNT };
  let isAsleep = false;
  const failpoint = (name: string): void => {
    if (name !== "after-intent" || isAsleep) return;
    isAsleep = true;
    sleeper.sleep(10 * MINUTE);
  };
  const options = { store: sleeper.wrap(store), accounts: [account], clock: sleeper.clock };
  const first = await start({ ...options, failpoint, thresholds });
  const heard = new Heard(first);
  await first.enqueueMany(names.map((id) => ask(id)));
  const second = await start({ accounts: [account], thresholds });
  await drive(time, fake, () => isAtRest(store, time.now()));
  await drive(time, fake, async () => heard.of("leaseLost").length > 0);
  const key = (await second.batches())[0]?.key ?? "";
  expect(heard.of("leaseLost")).toEqual([{ ...about(key), reason: "taken" }]);
  expect(heard.of("create").map(({ result }) => result)).not.toContain("accepted");
  await first.stop();
  await second.stop();
});

test("deliveries: tried again, then delivered; to the webhook, dead after twelve tries", async () => {
  let calls = 0;
  const fetch = async (): Promise<Response> => new Response(null, { status: 503 });
  const { ready, pass, heard, dispatcher } = await site({
    onOutcome: ({ id }) => {
      calls += 1;
      if (id === "r0" && calls < 5) throw new Error("Not now.");
    },
    webhook: { url: "https://example.test/hook", secret: "s", fetch },
  });
  await ready();
  await pass(48 * HOUR);
  const count = (sink: string, result: string): number =>
    heard.of("delivery").filter((event) => event.sink === sink && event.result === result).length;
  expect(count("callback", "delivered")).toBe(4);
  expect(count("callback", "retry")).toBeGreaterThan(0);
  expect([count("webhook", "retry"), count("webhook", "dead"), count("webhook", "delivered")]).toEqual([44, 4, 0]);
  expect(heard.of("delivery").find(({ result }) => result === "dead")).toMatchObject({ attempt: 12, statusCode: 503 });
  await dispatcher.stop();
});

test("sweeps report their calls", async () => {
  const { pass, heard, dispatcher, fake } = await site();
  await pass(3 * HOUR);
  expect(heard.of("sweep").length).toBeGreaterThan(0);
  for (const event of heard.of("sweep")) {
    expect(event).toEqual({ account: "openai", calls: 2, duplicates: 0, filesDeleted: 0 });
  }
  expect(2 * heard.of("sweep").length).toBe(fake.calls());
  await dispatcher.stop();
});

test("a run of prune, by hand and for a retention", async () => {
  const { ready, rest, pass, heard, dispatcher } = await site({ retentionMs: 2 * HOUR });
  await ready();
  await rest();
  await dispatcher.prune({ olderThanMs: HOUR });
  expect(heard.of("prune").at(-1)).toMatchObject({ requests: 0, batches: 0, kept: 0 });
  await pass(3 * HOUR);
  const runs = heard.of("prune");
  expect(runs.reduce((sum, { requests }) => sum + requests, 0)).toBe(4);
  expect(runs.length).toBeGreaterThan(10);
  await dispatcher.stop();
});

test("a step of the wall clock, when it is seen and when it is believed", async () => {
  const { pass, heard, dispatcher, process } = await site();
  await pass(MINUTE);
  process.step(HOUR);
  await pass(30 * MINUTE);
  expect(heard.of("clockStep")).toEqual([
    { steppedMs: HOUR, believed: false },
    { steppedMs: HOUR, believed: true },
  ]);
  await dispatcher.stop();
});

test("a store that has lost acknowledged requests, and the lease that goes with it", async () => {
  const store = losingStore();
  const { ready, pass, heard, dispatcher } = await site({ store, plan: { runMs: 5 * HOUR } });
  await ready();
  await pass(10 * MINUTE);
  store.lose();
  await pass(10 * MINUTE);
  expect(heard.of("setBack")).toEqual([{ code: "STORE_SET_BACK", message: expect.any(String) }]);
  await dispatcher.stop();
});
