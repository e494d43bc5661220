// The local account over a real server of OpenAI's format that is busy, down, wrong or slow. In
// real time, which the server and the account's own pauses need.

import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { ask, dispatch, endAll, names, outcomes, pause, server } from "../../../dispatch/providers/local/rig.ts";
import { gate } from "../../../support.ts";

endAll();

describe("lines that a server of OpenAI's shape runs", () => {
  test("run once each, at most `concurrency` at a time, and end with the server's own answers", async () => {
    const five = gate();
    const model = await server(() => {
      if (model.most >= 5) five.open();
      return { heldUntil: five.promise, delayMs: 5 };
    });
    const dispatcher = await dispatch({ baseURL: model.baseURL, concurrency: 5 });
    await dispatcher.enqueueMany(names(100).map((name) => ask(name)));
    const seen = await outcomes(dispatcher, 100);
    for (const name of names(100)) {
      expect(seen.get(name)).toMatchObject({
        status: "succeeded",
        attempts: 1,
        response: { statusCode: 200, body: { choices: [{ message: { content: `echo: ${name}` } }] } },
        usage: { inputTokens: 3, outputTokens: 2 },
      });
    }
    expect([...model.ran.values()].every((count) => count === 1)).toBe(true);
    expect(model.most).toBe(5);
    expect(dispatcher.errors).toEqual([]);
  });

  test("are sent to the path of their endpoint, with the key and the headers", async () => {
    const paths: unknown[] = [];
    const model = await server(({ path, headers }) => {
      paths.push([path, headers.authorization, headers["x-a"]]);
      return { body: { ok: true } };
    });
    const endpoints = ["/v1/embeddings", "/rerank"];
    const own = { apiKey: "k", headers: { "x-a": "b" }, endpoints };
    const dispatcher = await dispatch({ baseURL: `${model.baseURL}/`, concurrency: 1, ...own });
    for (const endpoint of endpoints)
      await dispatcher.enqueue({ id: endpoint, endpoint, body: { model: "m", input: "x" } });
    await outcomes(dispatcher, 2);
    expect(paths.toSorted()).toEqual([
      ["/rerank", "Bearer k", "b"],
      ["/v1/embeddings", "Bearer k", "b"],
    ]);
    await expect(dispatcher.enqueue(ask("chat"))).rejects.toMatchObject({ code: "NO_ACCOUNT" });
  });

  test("have their outcomes while others of their batch still run", async () => {
    const model = await server(({ said }) => (said === "slow" ? { delayMs: 5_000 } : {}));
    const dispatcher = await dispatch({ baseURL: model.baseURL, concurrency: 2 });
    await dispatcher.enqueueMany(["slow", "quick"].map((name) => ask(name)));
    expect(await dispatcher.result("quick")).toMatchObject({ status: "succeeded" });
    expect((await dispatcher.batches()).map(({ state }) => state)).toEqual(["running"]);
  });
});

describe("a server", () => {
  test.each<[string, JsonObject | null]>([
    ["null", null],
    ["an empty object", {}],
    ["an error", { object: "error", message: "Busy." }],
    ["no choice", { choices: [] }],
  ])("that answers 200 with %s is called again", async (_what, body) => {
    let asked = 0;
    const model = await server(() => {
      asked += 1;
      return asked === 1 ? { body } : {};
    });
    const dispatcher = await dispatch({ baseURL: model.baseURL, maxRetries: 0 }, { retry: { backoffMs: 1 } });
    await dispatcher.enqueue(ask("a"));
    expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded", attempts: 2 });
  });

  test("that refuses one line with words of an account fails only that line", async () => {
    const body = { error: { message: "max_tokens exceeds the usage limits of this model" } };
    const model = await server(({ said }) => (said === "r0" ? { status: 400, body } : {}));
    const dispatcher = await dispatch({ baseURL: model.baseURL });
    await dispatcher.enqueueMany(names(20).map((name) => ask(name)));
    const seen = await outcomes(dispatcher, 20);
    expect(seen.get("r0")).toMatchObject({ status: "failed", attempts: 1, error: body.error });
    expect([...seen.values()].filter(({ status }) => status === "succeeded")).toHaveLength(19);
    expect([[...model.ran.values()].every((count) => count === 1), dispatcher.errors]).toEqual([true, []]);
  });

  test("that cannot be reached for a while costs no request a try", async () => {
    const model = await server();
    await model.stop();
    const dispatcher = await dispatch({ baseURL: model.baseURL });
    await dispatcher.enqueueMany(names(20).map((name) => ask(name)));
    await expect.poll(() => dispatcher.errors.length).toBeGreaterThan(0);
    expect(dispatcher.errors[0]).toMatchObject({
      ...{ code: "ACCOUNT_UNAVAILABLE", cause: { failure: { code: "server_unreachable" } } },
    });
    expect(String(dispatcher.errors[0])).toContain(`No answer from ${model.baseURL}/chat/completions`);
    await model.start();
    const seen = [...(await outcomes(dispatcher, 20)).values()];
    expect(seen.map(({ status, attempts }) => [status, attempts])).toEqual(names(20).map(() => ["succeeded", 1]));
  });

  test("that is busy is not called for as long as it says, by any line", async () => {
    const model = await server(({ said, count }) =>
      said === "r0" && count === 1 ? { status: 429, headers: { "retry-after": "0.6" }, body: {} } : { delayMs: 5 },
    );
    const dispatcher = await dispatch({ baseURL: model.baseURL, concurrency: 2 });
    await dispatcher.enqueueMany(names(30).map((name) => ask(name)));
    const seen = [...(await outcomes(dispatcher, 30)).values()];
    expect(seen.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    const gaps = model.times.slice(1).map((time, index) => time - (model.times[index] ?? 0));
    // The pause without `retry-after` is 500 ms.
    expect(Math.max(...gaps)).toBeGreaterThan(550);
  });

  test("that requests a long pause gets it: the batch waits in the store", async () => {
    const model = await server(() => ({ status: 503, headers: { "retry-after": "3600" }, body: {} }));
    const dispatcher = await dispatch({ baseURL: model.baseURL, concurrency: 1 });
    await dispatcher.enqueueMany(names(10).map((name) => ask(name)));
    await expect.poll(() => dispatcher.errors.length).toBeGreaterThan(0);
    expect(dispatcher.errors[0]).toMatchObject({
      ...{ code: "ACCOUNT_FULL", cause: { failure: { kind: "rateLimited", retryAfterMs: 3_600_000 } } },
    });
    await pause(100);
    expect(model.times).toHaveLength(1);
  });

  test("whose flex tier is full keeps its requests for later, and none is charged", async () => {
    let isFull = true;
    const body = {
      error: { code: "resource_unavailable", message: "Not enough resources.", type: "rate_limit_error" },
    };
    const tiers: unknown[] = [];
    const model = await server(({ body: asked }) => {
      tiers.push(asked.service_tier);
      return isFull ? { status: 429, body } : undefined;
    });
    const tier = { extraBody: { service_tier: "flex" } };
    const time = virtualClock(Date.now());
    const dispatcher = await dispatch({ baseURL: model.baseURL, maxRetries: 0, ...tier }, { clock: time });
    await dispatcher.enqueueMany(names(20).map((name) => ask(name)));
    const passes = (ms: number): Promise<void> => time.advance(ms);
    await expect.poll(() => passes(20).then(() => dispatcher.errors.length)).toBeGreaterThan(0);
    expect(dispatcher.errors[0]).toMatchObject({
      ...{ code: "ACCOUNT_FULL", cause: { failure: { code: "resource_unavailable", retryAfterMs: 60_000 } } },
    });
    isFull = false;
    await passes(60_000);
    await expect.poll(() => passes(1_000).then(() => model.ran.size)).toBe(20);
    const ended = outcomes(dispatcher, 20);
    await passes(1_000);
    const seen = [...(await ended).values()];
    expect(seen.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect(new Set(tiers)).toEqual(new Set(["flex"]));
  });

  test("that fails is called again, and then the try counts", async () => {
    const model = await server(({ said, count }) => {
      if (said === "late") return count < 3 ? { status: 500, body: {} } : undefined;
      return { status: 500, body: { error: { message: "Out of memory.", type: "server_error" } } };
    });
    const dispatcher = await dispatch({ baseURL: model.baseURL, maxRetries: 2 }, { retry: { attempts: 1 } });
    await dispatcher.enqueueMany(["late", "never"].map((name) => ask(name)));
    const seen = await outcomes(dispatcher, 2);
    expect(seen.get("late")).toMatchObject({ status: "succeeded", attempts: 1 });
    const error = { code: "server_error", message: "Out of memory." };
    expect(seen.get("never")).toMatchObject({ status: "failed", attempts: 1, error, response: { statusCode: 500 } });
    expect(model.asked.get("never")).toBe(3);
  });

  test("that has no capacity pauses the lane, and no request is charged", async () => {
    let isWell = false;
    const model = await server(() => (isWell ? {} : { status: 503, body: { error: { message: "No room." } } }));
    const dispatcher = await dispatch({ baseURL: model.baseURL, maxRetries: 0 });
    await dispatcher.enqueueMany(names(300).map((name) => ask(name)));
    await expect.poll(() => dispatcher.errors.length, { timeout: 60_000 }).toBeGreaterThan(0);
    await expect.poll(async () => (await dispatcher.stats()).inBatches, { timeout: 60_000 }).toBe(0);
    expect(model.times.length).toBeLessThan(150);
    expect(dispatcher.errors).toMatchObject([{ code: "LANE_PAUSED", message: expect.stringContaining("No room.") }]);
    isWell = true;
    await dispatcher.resumeLane({ endpoint: "/v1/chat/completions", model: "m" });
    const seen = [...(await outcomes(dispatcher, 300)).values()];
    expect(seen.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
  });

  test("that closes the connection of one line fails only that line", async () => {
    const model = await server(({ said }) => (said === "r3" ? { body: "drop" } : {}));
    const dispatcher = await dispatch({ baseURL: model.baseURL, maxRetries: 1 }, { retry: { attempts: 1 } });
    await dispatcher.enqueueMany(names(10).map((name) => ask(name)));
    const seen = await outcomes(dispatcher, 10);
    expect(seen.get("r3")).toMatchObject({ status: "failed", error: { code: "connection_lost" }, response: null });
    expect([...seen.values()].filter(({ status }) => status === "succeeded")).toHaveLength(9);
  });

  test("that refuses the key pauses the account, and no request is charged", async () => {
    const model = await server(() => ({ status: 401, body: { error: { message: "no" } } }));
    const dispatcher = await dispatch({ baseURL: model.baseURL, concurrency: 1 });
    await dispatcher.enqueueMany(names(10).map((name) => ask(name)));
    await expect.poll(() => dispatcher.errors.length).toBeGreaterThan(0);
    await pause(100);
    expect(model.times).toHaveLength(1);
    const { ledgers } = await dispatcher.stats();
    expect(ledgers).toMatchObject([{ name: "local", blockedUntil: expect.any(Number) }]);
    const { requests } = await dispatcher.requests();
    expect(requests.map(({ attempts }) => attempts)).toEqual(names(10).map(() => 0));
  });

  test("that answers with a page is the wrong one: no request is charged", async () => {
    const model = await server(() => ({ status: 404, body: "<html>Not Found</html>" }));
    const dispatcher = await dispatch({ baseURL: model.baseURL, concurrency: 1 });
    await dispatcher.enqueue(ask("a"));
    await expect.poll(() => dispatcher.errors.length).toBeGreaterThan(0);
    expect(String(dispatcher.errors[0])).toContain(
      "answered 404 with text/html in place of a JSON object: is the address",
    );
    expect((await dispatcher.requests()).requests).toMatchObject([{ id: "a", attempts: 0 }]);
  });

  test("that refuses one line in words fails that line, in these words", async () => {
    const refusal = { object: "error", message: "The model `x` does not exist.", type: "NotFoundError", code: 404 };
    const model = await server(({ said }) => (said === "r1" ? { status: 404, body: refusal } : {}));
    const dispatcher = await dispatch({ baseURL: model.baseURL });
    await dispatcher.enqueueMany(names(3).map((name) => ask(name)));
    const error = { code: "NotFoundError", message: "The model `x` does not exist." };
    expect((await outcomes(dispatcher, 3)).get("r1")).toMatchObject({ status: "failed", attempts: 1, error });
  });
});
