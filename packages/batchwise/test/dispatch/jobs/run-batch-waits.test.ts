// Reasons why a job waits or ends when an account does not take it: keys, credit, limits. Official
// clients, virtual time.

import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeFault, type FakeOperation, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { JobPause, JobProgress } from "../../../src/dispatch/contract/jobs.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { all, HOUR, type JobWorld, jobWorld, MINUTE, plain, runsOf } from "../support/job-world.ts";
import { SimProcess, storeDown } from "../support/world.ts";

const SENDS: readonly FakeOperation[] = ["files.create", "batches.create"];
const CALLS: readonly FakeOperation[] = [...SENDS, "batches.list", "batches.retrieve", "files.content"];
const WRONG_KEY = {
  error: { message: "Incorrect API key provided: sk-1.", type: "invalid_request_error", code: "invalid_api_key" },
};

function refused(on: readonly FakeOperation[], status: number, body: object = WRONG_KEY, times = 10_000): FakeFault {
  return { on, accept: false, times, reply: { status, body: body as never } };
}

/** Runs a job of `count` requests; collects the reports of onError and the progress. */
function watched(here: JobWorld, count: number, more: object = {}) {
  const errors: { readonly code: unknown; readonly message: string; readonly account: unknown }[] = [];
  const pauses: JobPause[] = [];
  const onError = (error: unknown, { account }: { readonly account?: string }): void => {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    errors.push({ code, message, account });
  };
  const onProgress = ({ paused }: JobProgress): void => {
    if (paused !== null) pauses.push(paused);
  };
  const outcomes = here.run({ requests: plain(count), onError, onProgress, ...more });
  return { errors, pauses, outcomes };
}

test("a wrong key ends the run before anything is uploaded, and the same call continues once it is right", async () => {
  const here = jobWorld();
  here.fake.inject(refused(CALLS, 401));
  const before = here.time.now();
  const { outcomes, errors } = watched(here, 25);
  const ended = here.settle(all(outcomes));
  await expect(ended).rejects.toMatchObject({ code: "ACCOUNT_REFUSED" });
  await expect(ended).rejects.toThrow(
    'The job "night" cannot continue: the account "openai" answered 401 (invalid_api_key: Incorrect API key',
  );
  expect(here.time.now() - before).toBeLessThan(MINUTE);
  expect(errors).toMatchObject([{ code: "ACCOUNT_PAUSED", account: "openai" }]);
  expect(errors[0]?.message).toContain("Its requests wait in the store for a key that is right.");
  await expect(ended).rejects.toThrow(
    "This run ends, and its requests stay in the store: check the key, then call it again.",
  );
  expect([here.fake.calls("batches.list"), here.fake.calls(), here.time.nextAt]).toEqual([1, 1, Infinity]);
  here.fake.heal();
  const again = here.time.now();
  expect(await here.settle(all(here.run({ requests: plain(25) })))).toHaveLength(25);
  expect(here.time.now() - again).toBeLessThan(2 * HOUR);
  expect(runsOf(here.fake)).toEqual(plain(25).map(() => 1));
});

test("a model that its provider does not have ends the run, also the next one, until it is there", async () => {
  const fault = { code: "model_not_found", message: "The model `m` does not exist.", param: "model" };
  let isThere = false;
  const here = jobWorld({
    plan: { runMs: MINUTE },
    limits: { namedFaults: 1 },
    faultOf: () => (isThere ? null : fault),
  });
  const before = here.time.now();
  const { outcomes, errors } = watched(here, 25);
  const ended = here.settle(all(outcomes));
  await expect(ended).rejects.toMatchObject({ code: "MODEL_REFUSED" });
  await expect(ended).rejects.toThrow(
    'the account "openai" refuses the model "m" (model_not_found: The model `m` does',
  );
  await expect(ended).rejects.toThrow("run corrected ones under a new `job`");
  expect(errors.map(({ code }) => code)).toEqual(["LANE_PAUSED", "LANE_PAUSED"]);
  expect(here.time.now() - before).toBeLessThan(3 * HOUR);
  const creates = here.fake.calls("batches.create");
  const again = here.settle(all(watched(here, 25).outcomes));
  await expect(again).rejects.toMatchObject({ code: "MODEL_REFUSED" });
  // One request of each run is sent alone.
  expect(here.fake.calls("batches.create") - creates).toBe(1);
  isThere = true;
  const last = await here.settle(all(watched(here, 25).outcomes));
  expect(last.filter(({ status }) => status === "succeeded").length).toBeGreaterThan(19);
});

test.each([0, -15 * MINUTE])(
  "a model that only another process was refused ends the run, by a clock %i ms ahead",
  async (skewMs) => {
    const fault = { code: "model_not_found", message: "The model `m` does not exist.", param: "model" };
    const here = jobWorld({ plan: { runMs: MINUTE }, limits: { namedFaults: 1 }, faultOf: () => fault });
    const { clock } = new SimProcess(here.time, skewMs);
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: here.fake.fetch });
    const options = { store: here.store, clock, onError: () => {}, thresholds: { maxRequests: 10, maxAgeMs: 1_000 } };
    const sender = createDispatcher({ ...options, accounts: [openaiAccount({ client })] });
    await sender.start();
    // The run's own process gets no batch.
    const store = new SimProcess(here.time).wrap(here.store, (name, call) => {
      if (name === "seal") return Promise.resolve({ ok: false, reason: "empty", head: null });
      return name === "lease" ? Promise.resolve([]) : call();
    });
    const before = here.time.now();
    const ended = here.settle(all(watched(here, 25, { store }).outcomes));
    await expect(ended).rejects.toMatchObject({ code: "MODEL_REFUSED" });
    expect(here.time.now() - before).toBeLessThan(10 * MINUTE);
    await sender.stop();
  },
);

test("a proxy's page in place of answers is reported as such", async () => {
  const here = jobWorld();
  const page = async (): Promise<Response> =>
    new Response("<html>proxy</html>", { headers: { "content-type": "text/html; charset=utf-8" } });
  const accounts = [
    openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: page }) }),
  ];
  const stop = new AbortController();
  here.time.setTimeout(() => stop.abort(new Error("stopped")), MINUTE);
  const { outcomes, errors } = watched(here, 3, { accounts, signal: stop.signal });
  await expect(here.settle(all(outcomes))).rejects.toThrow("stopped");
  expect(errors[0]).toMatchObject({ code: "ACCOUNT_UNAVAILABLE" });
  expect(errors[0]?.message).toContain(
    'The account "openai" is not what answers (not_json: Expected the provider to answer a call for its list with an array `data`, got text/html: is the client\'s `baseURL` right, and does a proxy answer',
  );
});

test("a wrong key does not matter where all outcomes are recorded", async () => {
  const here = jobWorld();
  const first = await here.settle(all(here.run({ requests: plain(5) })));
  here.fake.inject(refused(CALLS, 401));
  expect(await here.settle(all(here.run({ requests: plain(5) })))).toEqual(first);
});

test("a key that may send and read, but not list, runs the job and is reported once", async () => {
  const here = jobWorld();
  const message = "You have insufficient permissions. Missing scopes: api.batch.list. Check your restricted API key.";
  here.fake.inject(refused(["batches.list"], 403, { error: { message, type: "invalid_request_error", code: null } }));
  const { outcomes, errors } = watched(here, 25);
  expect(await here.settle(all(outcomes))).toHaveLength(25);
  expect(errors).toMatchObject([{ code: "ACCOUNT_PAUSED", account: "openai" }]);
  expect(errors[0]?.message).toContain("It may still send: the next upload or create shows that.");
  expect(here.fake.calls("batches.list")).toBeGreaterThan(1);
});

test("an account that is refused at the start is tried again while batches of another account run", async () => {
  const here = jobWorld();
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: here.fake.fetch });
  const accounts = [openaiAccount({ name: "other", client })];
  const stop = new AbortController();
  here.time.setTimeout(() => stop.abort(new Error("stopped")), 20 * MINUTE);
  const before = here.run({ requests: plain(10), accounts, signal: stop.signal });
  await expect(here.settle(all(before))).rejects.toThrow("stopped");
  here.fake.inject(refused(["batches.list"], 401, WRONG_KEY, 1));
  const { outcomes, errors } = watched(here, 25);
  const others: Promise<unknown>[] = [];
  const othersAt = here.time.now() + 6 * HOUR;
  here.time.setTimeout(() => others.push(all(here.run({ requests: plain(10), accounts }))), 6 * HOUR);
  const times: number[] = [];
  const reading = (async () => {
    for await (const _ of outcomes) times.push(here.time.now());
  })();
  await here.settle(reading);
  expect([times.length, times.filter((at) => at < othersAt).length]).toEqual([25, 15]);
  await here.settle(Promise.all(others));
  expect(errors).toMatchObject([{ code: "ACCOUNT_PAUSED", account: "openai" }]);
  expect(runsOf(here.fake)).toEqual(plain(25).map(() => 1));
});

test("one of two accounts with a wrong key is reported once, and the other one runs the job", async () => {
  const here = jobWorld();
  const broken = fakeProvider({ clock: here.time });
  broken.inject(refused(CALLS, 401));
  const accountOf = (name: string, { fetch }: { readonly fetch: typeof globalThis.fetch }) =>
    openaiAccount({ name, client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch }) });
  const accounts = [accountOf("broken", broken), accountOf("good", here.fake)];
  const { outcomes, errors } = watched(here, 25, { accounts });
  expect(await here.settle(all(outcomes))).toHaveLength(25);
  expect(errors).toMatchObject([{ code: "ACCOUNT_PAUSED", account: "broken" }]);
});

test("a key that fails later ends the run, which continues with the same call", async () => {
  const here = jobWorld();
  here.time.setTimeout(() => here.fake.inject(refused(CALLS, 401)), 20 * MINUTE);
  const { outcomes, errors } = watched(here, 25);
  const before = here.time.now();
  await expect(here.settle(all(outcomes))).rejects.toThrow('the account "openai" answered 401 (invalid_api_key');
  expect(here.time.now() - before).toBeLessThan(40 * MINUTE);
  expect(errors).toMatchObject([{ code: "ACCOUNT_PAUSED", account: "openai" }]);
  here.fake.heal();
  expect(await here.settle(all(here.run({ requests: plain(25) })))).toHaveLength(25);
  expect(runsOf(here.fake)).toEqual(plain(25).map(() => 1));
});

test("a key that loses the right to send ends the run once the sent batches have come back", async () => {
  const here = jobWorld();
  async function* requests() {
    yield* plain(10);
    await new Promise<void>((resolve) => void here.time.setTimeout(resolve, 20 * MINUTE));
    here.fake.inject(refused(SENDS, 403));
    yield* plain(20).slice(10);
  }
  const given: string[] = [];
  const { errors, pauses, outcomes } = watched(here, 0, { requests: requests() });
  const reading = (async () => {
    for await (const { id } of outcomes) given.push(id);
  })();
  await expect(here.settle(reading)).rejects.toThrow('the account "openai" answered 403');
  expect(given).toHaveLength(10);
  expect(errors.map(({ code }) => code)).toEqual(["ACCOUNT_PAUSED"]);
  expect(pauses[0]).toMatchObject({ account: "openai", reason: expect.stringContaining("invalid_api_key") });
  here.fake.heal();
  const again = here.time.now();
  expect(await here.settle(all(here.run({ requests: plain(20) })))).toHaveLength(20);
  // The pause of a quarter of an hour has ended before the key is valid again.
  expect(here.time.now() - again).toBeLessThan(HOUR + 10 * MINUTE);
});

test("an account out of money is reported once and stands in the progress; the job continues when there is some", async () => {
  const here = jobWorld();
  const noMoney = { error: { message: "You exceeded your current quota.", code: "insufficient_quota", type: null } };
  here.fake.inject({ ...refused(SENDS, 429, noMoney), until: here.time.now() + 2 * HOUR });
  const { outcomes, errors, pauses } = watched(here, 5);
  expect(await here.settle(all(outcomes))).toHaveLength(5);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ code: "ACCOUNT_PAUSED", message: expect.stringContaining("insufficient_quota") });
  const reason = expect.stringContaining("You exceeded your current quota.");
  expect(pauses[0]).toEqual({ account: "openai", until: expect.any(Number), reason });
});

test("a refusal for enqueued tokens is reported once and stands in the progress", async () => {
  const here = jobWorld({ limits: { enqueuedTokens: 120 } });
  const { outcomes, errors, pauses } = watched(here, 60);
  expect(await here.settle(all(outcomes))).toHaveLength(60);
  const told = { code: "ACCOUNT_FULL", account: "openai" };
  expect(errors).toMatchObject([told, told]);
  expect(errors[0]?.message).toContain("a limit of 120 enqueued tokens");
  expect(errors[1]?.message).toContain("token_limit_exceeded");
  expect(pauses[0]).toMatchObject({ account: "openai", reason: expect.stringContaining("token_limit_exceeded") });
  expect(pauses[0]?.until).toBeGreaterThan(0);
});

test("a provider that drops connections for an hour is reported once, and stands in the progress", async () => {
  const here = jobWorld();
  here.fake.inject({ on: CALLS, accept: false, reply: "drop", until: here.time.now() + HOUR });
  const { outcomes, errors, pauses } = watched(here, 5);
  expect(await here.settle(all(outcomes))).toHaveLength(5);
  expect(errors).toMatchObject([{ code: "ACCOUNT_UNAVAILABLE", account: "openai" }]);
  expect(pauses[0]).toMatchObject({ account: "openai", reason: expect.stringContaining("Connection error") });
});

test("an account that an operator has paused stands in the progress, without an end", async () => {
  const here = jobWorld();
  const { outcomes, pauses } = watched(here, 5);
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: here.fake.fetch });
  const { clock } = new SimProcess(here.time);
  const operator = createDispatcher({ store: here.store, accounts: [openaiAccount({ client })], clock });
  await operator.pauseAccount("openai", "the bill");
  here.time.setTimeout(() => void operator.resumeAccount("openai"), HOUR);
  expect(await here.settle(all(outcomes))).toHaveLength(5);
  expect(pauses[0]).toEqual({ account: "openai", until: null, reason: "paused by a person: the bill" });
});

test("a signal that is aborted by the listener of the store's outage ends the run at once", async () => {
  const here = jobWorld();
  const store = new SimProcess(here.time).wrap(here.store, () => Promise.reject(storeDown()));
  const controller = new AbortController();
  const began = here.time.now();
  const onError = (): void => controller.abort(new Error("Enough."));
  const ended = here.settle(all(here.run({ requests: plain(3), store, onError, signal: controller.signal })));
  await expect(ended).rejects.toThrow();
  expect(here.time.now() - began).toBeLessThan(400);
});
