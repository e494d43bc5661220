// Requests with their bodies, and failed ones that run again with a corrected body.

import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/dispatch/contract/types.ts";
import { openai, operatorWorld, request } from "../support/operator-world.ts";

const ANSWER = { choices: [{ index: 0, message: { role: "assistant", content: "yes" } }], usage: null };

/** A provider that refuses every body with `bad` in its messages. */
function strict() {
  return operatorWorld({
    answer: ({ body }) => {
      const isBad = JSON.stringify(body.messages).includes("bad");
      const error = { message: "No.", type: "invalid_request_error", code: "content_policy" };
      return { status: isBad ? 400 : 200, body: isBad ? { error } : ANSWER };
    },
  });
}

function body(content: string, more: JsonObject = {}): JsonObject {
  return { messages: [{ role: "user", content }], ...more };
}

test("requests are given back with their bodies, defaults merged, and their metadata, by id, by filter and page by page", async () => {
  const { open, fake } = strict();
  const dispatcher = await open(openai.account(fake), { requestDefaults: { model: "m", temperature: 0 } });
  await dispatcher.enqueue({ id: "a", body: body("one", { temperature: 1 }), metadata: { row: "7" } });
  await dispatcher.enqueue({ id: "b", body: body("two") });
  const first = { model: "m", temperature: 1, messages: [{ role: "user", content: "one" }] };
  const second = { model: "m", temperature: 0, messages: [{ role: "user", content: "two" }] };
  const byId = await dispatcher.requests({ ids: ["b", "none", "a"], bodies: true });
  expect(byId.requests.map((one) => [one.id, one.body, one.metadata, one.history])).toEqual([
    ["b", second, null, []],
    ["a", first, { row: "7" }, []],
  ]);
  const page = await dispatcher.requests({ statuses: ["waiting"], bodies: true, limit: 1 });
  expect(page.requests.map(({ body }) => body)).toEqual([first]);
  const rest = await dispatcher.requests({ after: page.next ?? 0, bodies: true });
  expect(rest.requests.map(({ body }) => body)).toEqual([second]);
  expect((await dispatcher.requests({ ids: ["a"] })).requests[0]).not.toHaveProperty("body");
  await dispatcher.stop();
});

test("a failed request runs again under its id with a corrected body, and both bodies are the same request", async () => {
  const { open, fake, rest } = strict();
  const dispatcher = await open(openai.account(fake), { requestDefaults: { model: "m", temperature: 0 } });
  await dispatcher.enqueue({ id: "a", body: body("bad") });
  await dispatcher.enqueue({ id: "b", body: body("good") });
  await rest();
  const [failed] = (await dispatcher.requests({ ids: ["a"] })).requests;
  expect(failed).toMatchObject({ status: "failed", code: "content_policy", attempts: 1 });
  expect(await dispatcher.retry("a", { body: body("better", { model: "m2" }) })).toBe(1);
  await rest();
  expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded", attempts: 1 });
  expect((await dispatcher.requests({ ids: ["a"], bodies: true })).requests).toMatchObject([
    {
      ...{ status: "succeeded", model: "m2", body: { model: "m2", temperature: 0, ...body("better") } },
      history: [{ batch: failed?.batch, code: "content_policy", at: failed?.endedAt }],
    },
  ]);
  const sameAs = async (content: string, more: JsonObject = {}) =>
    dispatcher.enqueue({ id: "a", body: body(content, more) });
  expect(await sameAs("bad")).toMatchObject({ existing: true });
  expect(await sameAs("better", { model: "m2" })).toMatchObject({ existing: true });
  await expect(sameAs("other")).rejects.toMatchObject({ code: "DUPLICATE_ID" });
  expect([...fake.runs().values()]).toEqual([1, 1, 1]);
  await dispatcher.stop();
});

test("a function corrects each request that can run again, and sees its body and its code", async () => {
  const { open, fake, rest } = strict();
  const dispatcher = await open(openai.account(fake));
  await dispatcher.enqueueMany(["bad-1", "fine", "bad-2"].map((id) => request(id, { job: "j" })));
  await rest();
  const seen: unknown[] = [];
  const corrected = await dispatcher.retry(
    { job: "j" },
    {
      body: async ({ id, body, code }) => {
        seen.push([id, code]);
        return { ...body, messages: [{ role: "user", content: `corrected ${id.at(-1)}` }] };
      },
    },
  );
  expect(corrected).toBe(2);
  expect(seen).toEqual([
    ["bad-1", "content_policy"],
    ["bad-2", "content_policy"],
  ]);
  await rest();
  expect((await dispatcher.requests({ job: "j", statuses: ["succeeded"] })).requests).toHaveLength(3);
  await dispatcher.stop();
});

test("a corrected body that enqueue would refuse is refused, and nothing runs", async () => {
  const { open, fake, rest } = strict();
  const dispatcher = await open(openai.account(fake));
  await dispatcher.enqueueMany([request("bad-1"), request("bad-2"), request("fine")]);
  await rest();
  const retry = (which: string | string[], body: unknown) => dispatcher.retry(which, { body: body as JsonObject });
  await expect(retry("bad-1", { messages: [], model: 7 })).rejects.toMatchObject({ code: "MISSING_MODEL" });
  await expect(retry(["bad-1", "bad-2"], () => null)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  const broken = retry("bad-1", () => {
    throw new Error("mine");
  });
  await expect(broken).rejects.toThrow("mine");
  await expect(retry("bad-1", "text")).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(retry(["bad-1", "bad-2"], {})).rejects.toThrow("A `body` is for one id. For several pass a function");
  await expect(dispatcher.retry("bad-1", { bodies: {} } as object)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  expect((await dispatcher.requests({ statuses: ["failed"] })).requests).toHaveLength(2);
  expect(await retry("fine", { model: "m", messages: [] })).toBe(0);
  expect(await retry("none", { model: "m", messages: [] })).toBe(0);
  await dispatcher.stop();
});
