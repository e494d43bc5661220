// Operators' reads: requests by filter and page, and sums by tenant and job. Also retries by
// filter.

import { expect, test } from "vitest";
import type { FindQuery, FindResult } from "../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import { summed } from "../../../src/dispatch/requests/usage.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { HOUR, MINUTE, openai, operatorWorld, request, requests } from "../support/operator-world.ts";

test("requests are found by status, job, tenant, batch and code, with their known fields", async () => {
  const { open, fake, pass, time, rest } = operatorWorld({
    plan: { runMs: HOUR },
    answer: ({ body }) => {
      const isBad = JSON.stringify(body.messages).includes("bad");
      const error = { message: "No.", type: "invalid_request_error", code: "content_policy" };
      return {
        status: isBad ? 400 : 200,
        body: isBad ? { error } : { choices: [{ message: { role: "assistant", content: "a" } }], usage: null },
      };
    },
  });
  const dispatcher = await open(openai.account(fake));
  const createdAt = time.now();
  const deadlineAt = createdAt + 40 * HOUR;
  await dispatcher.enqueueMany(["a0", "a1", "bad"].map((id) => request(id, { job: "a", tenant: "t" })));
  await dispatcher.enqueue(request("last", { priority: 2, deadlineAt }));
  await pass(10 * MINUTE);
  await dispatcher.enqueue(request("waits", { job: "b" }));
  await dispatcher.pauseAccount("openai");
  const ids = async (filter: Parameters<typeof dispatcher.requests>[0]): Promise<string[]> =>
    (await dispatcher.requests(filter)).requests.map(({ id }) => id);
  const [batch] = await dispatcher.batches();
  expect(await ids({ statuses: ["in_batch"] })).toEqual(["a0", "a1", "bad", "last"]);
  expect(await ids({ batch: batch?.key as string })).toEqual(["a0", "a1", "bad", "last"]);
  expect((await dispatcher.requests({ statuses: ["waiting"] })).requests).toEqual([
    {
      ...{ id: "waits", status: "waiting", endpoint: "/v1/chat/completions", model: "m", job: "b", tenant: "" },
      ...{ priority: 0, attempts: 0, batch: null, createdAt: createdAt + 10 * MINUTE, deadlineAt: null, endedAt: null },
      ...{ notBefore: null, bytes: expect.any(Number), tokens: expect.any(Number) },
      ...{ code: null, cancelRequested: false },
    },
  ]);
  await dispatcher.cancel("a0");
  expect((await dispatcher.requests({ ids: ["a0", "nobody", "last"] })).requests).toMatchObject([
    { id: "a0", cancelRequested: true, batch: batch?.key },
    { id: "last", cancelRequested: false, priority: 2, deadlineAt },
  ]);
  await dispatcher.resumeAccount("openai");
  await rest();
  expect(await ids({ job: "a" })).toEqual(["a0", "a1", "bad"]);
  expect(await ids({ job: "a", statuses: ["failed"] })).toEqual(["bad"]);
  expect(await ids({ tenant: "" })).toEqual(["last", "waits"]);
  expect(await ids({ ids: ["waits", "bad"], statuses: ["failed"] })).toEqual(["bad"]);
  expect((await dispatcher.requests({ code: "content_policy" })).requests).toMatchObject([
    {
      id: "bad",
      status: "failed",
      batch: batch?.key,
      attempts: 1,
      code: "content_policy",
      endedAt: expect.any(Number),
    },
  ]);
  await dispatcher.stop();
});

/** A store that finds requests in another way. */
function finding(find: (query: FindQuery, store: Store) => Promise<FindResult>): Store {
  const store = memoryStore();
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (name === "find") return (query: FindQuery) => find(query, store);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("pages are full until the last one, also where the store finds little at a time", async () => {
  const { open, fake } = operatorWorld();
  let finds = 0;
  // As a store may that looks at a bounded number of requests in one call.
  const store = finding(async (query, inner) => {
    finds += 1;
    return finds % 3 === 0 ? inner.find({ ...query, limit: 1 }) : { rows: [], next: query.after };
  });
  const dispatcher = await open(openai.account(fake), { store });
  await dispatcher.enqueueMany(requests(25));
  const pages: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page = await dispatcher.requests({ after, limit: 10 });
    pages.push(page.requests.length);
    after = page.next;
  }
  expect(pages).toEqual([10, 10, 5]);
  await dispatcher.stop();
});

test("a page ends after so many reads that find nothing, and gives a cursor to continue", async () => {
  const { open, fake } = operatorWorld();
  const store = finding(async ({ after }) => ({ rows: [], next: after + 1 }));
  const dispatcher = await open(openai.account(fake), { store });
  expect(await dispatcher.requests({ code: "rare" })).toEqual({ requests: [], next: 200 });
  await dispatcher.stop();
});

test("mistakes of a tired operator are refused with the expected value", async () => {
  const { open, fake } = operatorWorld();
  const dispatcher = await open(openai.account(fake));
  const wrong = async (options: object, message: string): Promise<void> => {
    await expect(dispatcher.requests(options)).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(message),
    });
  };
  await wrong({ status: "failed" }, "did you mean `statuses`?");
  await wrong({ statuses: ["ready"] }, 'Expected `statuses` to be "waiting" or "in_batch" or "succeeded"');
  await wrong({ statuses: "failed" }, "Expected `statuses` to be an array, got");
  await wrong({ limit: Number.POSITIVE_INFINITY }, "Expected `limit` to be an integer >= 1");
  await wrong({ after: "10" }, "Expected `after` to be an integer >= 0");
  await wrong({ ids: ["a"], limit: 5 }, "requests by id are not read in pages");
  await wrong({ job: 5 }, "Expected `job` to be a string");
  await expect(dispatcher.usage({ jobs: "a" } as object)).rejects.toThrow("did you mean `job`?");
  await dispatcher.stop();
});

test("sums are by tenant, job, endpoint and model, with the provider's counts", async () => {
  const details = { prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 1 } };
  const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13, ...details };
  const { open, fake, rest } = operatorWorld({
    answer: ({ body }) => {
      const isBad = JSON.stringify(body.messages).includes("bad");
      return isBad
        ? { status: 400, body: { error: { message: "No." } } }
        : { status: 200, body: { choices: [{ message: { role: "assistant", content: "a" } }], usage } };
    },
  });
  const dispatcher = await open(openai.account(fake));
  await dispatcher.enqueueMany(requests(3, { tenant: "t", job: "a" }));
  await dispatcher.enqueue(request("bad", { tenant: "t", job: "a" }));
  await dispatcher.enqueue(request("other", { tenant: "t", job: "a" }, "other"));
  await dispatcher.enqueue(request("alone"));
  dispatcher.flush();
  await rest();
  const none = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
  const alone = { tenant: "", job: "", endpoint: "/v1/chat/completions", model: "m", requests: 0 };
  const ofJob = { ...alone, tenant: "t", job: "a" };
  const three = { inputTokens: 30, cachedTokens: 12, outputTokens: 9, reasoningTokens: 3 };
  const one = { inputTokens: 10, cachedTokens: 4, outputTokens: 3, reasoningTokens: 1 };
  const all = [
    { ...alone, ...one, ended: { ...none, succeeded: 1 } },
    { ...ofJob, ...three, requests: 4, ended: { ...none, succeeded: 3, failed: 1 } },
    { ...ofJob, ...one, model: "other", requests: 1, ended: { ...none, succeeded: 1 } },
  ];
  expect(await dispatcher.usage()).toMatchObject(all);
  expect(await dispatcher.usage({ job: "a" })).toMatchObject(all.slice(1));
  expect(await dispatcher.usage({ tenant: "" })).toMatchObject(all.slice(0, 1));
  expect(await dispatcher.usage({ job: "nobody" })).toEqual([]);
  await dispatcher.stop();
});

test("parts of a split batch, and embeddings of more inputs, count for their lane", () => {
  const tokens = { inputTokens: 1, cachedTokens: 2, outputTokens: 3, reasoningTokens: 4 };
  const ended = { succeeded: 1, failed: 2, cancelled: 3, expired: 4 };
  const row = { tenant: "", job: "", requests: 5, ended, ...tokens };
  const rows = ["/v1/embeddings  m o", "/v1/embeddings#8 K.a m o"].map((lane) => ({ ...row, lane }));
  const prices = { "m o": { input: 500_000, output: 1_000_000 } };
  expect(summed(rows, prices)).toEqual([
    {
      ...{ tenant: "", job: "", endpoint: "/v1/embeddings", model: "m o", requests: 10 },
      ended: { succeeded: 2, failed: 4, cancelled: 6, expired: 8 },
      ...{ inputTokens: 2, cachedTokens: 4, outputTokens: 6, reasoningTokens: 8, price: 3.5 },
    },
  ]);
});

test("retry by filter runs failed or expired requests again, and cancelled ones only if the filter names them", async () => {
  let isBad = true;
  const { open, fake, rest, time } = operatorWorld({
    answer: () =>
      isBad
        ? { status: 400, body: { error: { message: "No.", code: "odd" } } }
        : { status: 200, body: { choices: [{ message: { role: "assistant", content: "a" } }] } },
  });
  const dispatcher = await open(openai.account(fake));
  await dispatcher.pauseAccount("openai");
  await dispatcher.enqueueMany([
    ...requests(4, { job: "a" }),
    request("other"),
    request("gone", { job: "a" }),
    request("late", { job: "a", deadlineAt: time.now() + MINUTE }),
  ]);
  await dispatcher.cancel("gone");
  await drivePast(time.now() + HOUR);
  await dispatcher.resumeAccount("openai");
  await rest();
  isBad = false;
  expect(await dispatcher.retry({ job: "a", code: "nothing" })).toBe(0);
  expect(await dispatcher.retry({ job: "a" })).toBe(5);
  await rest();
  const ends = async (): Promise<string[]> =>
    (await dispatcher.requests()).requests.map(({ id, status }) => `${id} ${status}`);
  const run = ["r0", "r1", "r2", "r3"].map((id) => `${id} succeeded`);
  expect(await ends()).toEqual([...run, "other failed", "gone cancelled", "late succeeded"]);
  expect(await dispatcher.retry({ statuses: ["cancelled", "failed"] })).toBe(2);
  await rest();
  expect(new Set((await ends()).map((end) => end.split(" ")[1]))).toEqual(new Set(["succeeded"]));
  expect(await dispatcher.retry(["r0", "nobody"])).toBe(0);
  await expect(dispatcher.retry({})).rejects.toThrow("retry({}) would be for every request. Give one of `statuses`");
  await expect(dispatcher.retry({ statuses: ["succeeded" as "failed"] })).rejects.toThrow(
    'Expected `statuses` to be "failed"',
  );
  await dispatcher.stop();

  async function drivePast(at: number): Promise<void> {
    while (time.now() < at) await time.advance(MINUTE);
  }
});
