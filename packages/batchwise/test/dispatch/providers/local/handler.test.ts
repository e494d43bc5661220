// The local account over a function, in virtual time: requests when it is slow, throws or answers
// badly, and changes to waiting requests.

import { createBatcher } from "batchwise";
import { memoryStore } from "batchwise/dispatch";
import { type LocalAccountOptions, type LocalHandler, localAccount } from "batchwise/dispatch/local";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import * as rig from "./rig.ts";
import { ask, endAll, names } from "./rig.ts";

endAll();

const START = Date.UTC(2026, 0, 5, 8);
const STEP_MS = 10;
let time = virtualClock(START);
beforeEach(() => {
  time = virtualClock(START);
});

const dispatch = (options: LocalAccountOptions, more: Partial<DispatcherOptions> = {}) =>
  rig.dispatch(options, { clock: time, ...more });

/** Lets time pass until this is true. */
async function until(isTrue: () => boolean): Promise<void> {
  for (let steps = 0; !isTrue(); steps += 1) {
    if (steps > 10_000) throw new Error("It did not come about.");
    await time.advance(STEP_MS);
  }
}

/** Lets time pass until the work has ended. */
async function passing<Value>(work: Promise<Value>): Promise<Value> {
  let isOver = false;
  const ended = (): void => {
    isOver = true;
  };
  work.then(ended, ended);
  await until(() => isOver);
  return work;
}

const outcomes = (of: Parameters<typeof rig.outcomes>[0], count: number) => passing(rig.outcomes(of, count));

const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    time.setTimeout(resolve, ms);
  });

const said = (body: JsonObject): string =>
  String(((body.messages as readonly JsonObject[]).at(-1) as JsonObject).content);
const echo = (body: JsonObject): JsonObject => ({ said: said(body) });

/** A handler whose calls end when the test lets them. */
function held() {
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const handler: LocalHandler = (body) => {
    running.push(said(body));
    return new Promise((resolve) => ends.set(said(body), () => resolve(echo(body))));
  };
  return { handler, running, end: (name: string) => ends.get(name)?.() };
}

describe("lines that a function runs", () => {
  test("get its answers, and it gets the endpoint", async () => {
    const asked: unknown[] = [];
    const handler: LocalHandler = (body, { endpoint, signal }) => {
      asked.push([endpoint, signal.aborted]);
      return { ...echo(body), usage: { prompt_tokens: 2, completion_tokens: 1 } };
    };
    const dispatcher = await dispatch({ handler });
    await dispatcher.enqueue(ask("a"));
    expect(await passing(dispatcher.result("a"))).toMatchObject({
      status: "succeeded",
      response: { statusCode: 200, body: { said: "a" } },
      usage: { inputTokens: 2, outputTokens: 1 },
    });
    expect(asked).toEqual([["/v1/chat/completions", false]]);
  });

  test("go through a batcher, in full batches", async () => {
    const sizes: number[] = [];
    const batcher = createBatcher(
      async (bodies: readonly JsonObject[]) => {
        sizes.push(bodies.length);
        return bodies.map(echo);
      },
      { maxBatchSize: 16 },
    );
    const handler: LocalHandler = (body, { signal }) => batcher.submit(body, { signal });
    const dispatcher = await dispatch({ handler, concurrency: 16 });
    await dispatcher.enqueueMany(names(160).map((name) => ask(name)));
    const seen = await outcomes(dispatcher, 160);
    for (const name of names(160)) expect(seen.get(name)?.response?.body).toEqual({ said: name });
    expect(sizes.length).toBeLessThan(40);
    await batcher.close();
  });

  test("of several batches share the concurrency, and priorities count until a line is in a batch", async () => {
    let [now, most] = [0, 0];
    const order: string[] = [];
    const handler: LocalHandler = async (body) => {
      order.push(said(body));
      now += 1;
      most = Math.max(most, now);
      await sleep(2);
      now -= 1;
      return echo(body);
    };
    const own = { handler, concurrency: 3, limits: { maxRequests: 10, maxEnqueuedBatches: 2 } };
    const dispatcher = await dispatch(own, { thresholds: { maxRequests: 10, maxAgeMs: 20 } });
    await dispatcher.enqueueMany(names(100).map((name) => ask(name)));
    await until(() => order.length > 5);
    await dispatcher.enqueue(ask("urgent", { priority: 9 }));
    await outcomes(dispatcher, 101);
    expect(most).toBe(3);
    expect(order.indexOf("urgent")).toBeLessThan(60);
  });
});

describe("a function", () => {
  test("that throws for one line fails only that line, with its words", async () => {
    const handler: LocalHandler = (body) => {
      if (said(body) === "r7") throw Object.assign(new Error("I cannot."), { code: "cannot" });
      return echo(body);
    };
    const dispatcher = await dispatch({ handler }, { retry: { attempts: 1 } });
    await dispatcher.enqueueMany(names(20).map((name) => ask(name)));
    const seen = await outcomes(dispatcher, 20);
    const error = { code: "cannot", message: "I cannot." };
    expect(seen.get("r7")).toMatchObject({ status: "failed", error, attempts: 1, response: null });
    expect([...seen.values()].filter(({ status }) => status === "succeeded")).toHaveLength(19);
  });

  test.each<[string, object, number, number]>([
    ["that may pass", {}, 3, 3],
    ["with a status that may pass", { status: 503 }, 3, 3],
    ["with a status that says no", { status: 422 }, 1, 1],
    ["that says it will be the same again", { retryable: false }, 1, 1],
  ])("that throws an error %s is tried as often as that makes sense", async (_case, error, attempts, calls) => {
    const handler = vi.fn(() => {
      throw Object.assign(new Error("no"), error);
    });
    const dispatcher = await dispatch({ handler, maxRetries: 0 });
    await dispatcher.enqueue(ask("a"));
    expect(await passing(dispatcher.result("a"))).toMatchObject({ status: "failed", attempts });
    expect(handler).toHaveBeenCalledTimes(calls);
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "got undefined"],
    ["a text", "yes", "got string"],
    ["a list", [], "got an array"],
    ["null", null, "got null"],
    ["what JSON cannot hold", { big: 1n }, "got object"],
  ])("that answers with %s fails that line in words", async (_case, answer, words) => {
    const dispatcher = await dispatch({ handler: () => answer });
    await dispatcher.enqueue(ask("a"));
    const { status, error, attempts } = await passing(dispatcher.result("a"));
    expect([status, error?.code, attempts]).toEqual(["failed", "handler_result", 1]);
    expect(error?.message).toContain(words);
  });

  test("that never answers loses its line's try, not its place", async () => {
    const handler: LocalHandler = (body) => (said(body) === "r0" ? new Promise(() => {}) : echo(body));
    const dispatcher = await dispatch({ handler, concurrency: 1, lineTimeoutMs: 20 }, { retry: { attempts: 1 } });
    await dispatcher.enqueueMany(names(5).map((name) => ask(name)));
    const seen = await outcomes(dispatcher, 5);
    expect(seen.get("r0")).toMatchObject({
      status: "failed",
      error: { code: "timeout", message: "No answer within 20 ms." },
    });
    expect([...seen.values()].filter(({ status }) => status === "succeeded")).toHaveLength(4);
  });
});

describe("requests that wait for their turn", () => {
  test("and are cancelled are never run; one that runs keeps its answer", async () => {
    const { handler, running, end } = held();
    const dispatcher = await dispatch({ handler, concurrency: 1 });
    await dispatcher.enqueueMany(names(5).map((name) => ask(name)));
    await until(() => running.length > 0);
    expect(running).toEqual(["r0"]);
    await dispatcher.cancel(["r1", "r2", "r3", "r4"]);
    await time.advance(1_100);
    end("r0");
    const seen = await outcomes(dispatcher, 5);
    expect([...seen.values()].map(({ id, status }) => [id, status]).toSorted()).toEqual([
      ["r0", "succeeded"],
      ...names(5)
        .slice(1)
        .map((name) => [name, "cancelled"]),
    ]);
    expect(running).toEqual(["r0"]);
  });

  test("and whose deadline passes expire, unpaid", async () => {
    const { handler, running, end } = held();
    const dispatcher = await dispatch({ handler, concurrency: 1 });
    const deadlineAt = START + 700;
    await dispatcher.enqueueMany([ask("r0"), ...["r1", "r2"].map((name) => ask(name, { deadlineAt }))]);
    await until(() => running.length === 1);
    const [first = ""] = running;
    await time.advance(1_200);
    end(first);
    if (first !== "r0") await until(() => running.length === 2);
    end("r0");
    const seen = await outcomes(dispatcher, 3);
    const expired = [...seen.values()].filter(({ status }) => status === "expired");
    expect(expired.length).toBeGreaterThan(0);
    for (const { id, attempts } of expired) {
      expect(attempts).toBe(0);
      expect(running).not.toContain(id);
    }
  });

  test("are held while an operator pauses the account, in every process", async () => {
    const { handler, running, end } = held();
    const dispatcher = await dispatch({ handler, concurrency: 1 });
    await dispatcher.enqueueMany(names(3).map((name) => ask(name)));
    await until(() => running.length === 1);
    await dispatcher.pauseAccount("local");
    await time.advance(1_100);
    end("r0");
    expect(await passing(dispatcher.result("r0"))).toMatchObject({ status: "succeeded" });
    await time.advance(300);
    expect(running).toEqual(["r0"]);
    expect(await dispatcher.batches()).toMatchObject([{ state: "running" }]);
  });
});

describe("a dispatcher that stops", () => {
  test("passes its lines to another one, which runs only those without an outcome", async () => {
    const store = memoryStore();
    const counts = new Map<string, number>();
    const handler: LocalHandler = async (body) => {
      counts.set(said(body), (counts.get(said(body)) ?? 0) + 1);
      await sleep(5);
      return echo(body);
    };
    const first = await dispatch({ handler, concurrency: 4 }, { store });
    await first.enqueueMany(names(200).map((name) => ask(name)));
    await until(() => counts.size > 50);
    await passing(first.stop());
    const atStop = counts.size;
    expect(atStop).toBeLessThan(190);
    const second = await dispatch({ handler, concurrency: 4 }, { store });
    const seen = await outcomes(second, 200);
    expect([...seen.values()].every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    const twice = [...counts.values()].filter((count) => count > 1);
    expect(twice.length).toBeLessThanOrEqual(4);
  });

  test("does not wait for a handler that ignores its signal", async () => {
    const { handler, running } = held();
    const dispatcher = await dispatch({ handler, requestTimeoutMs: 60_000 }, { leaseMs: 120_000 });
    await dispatcher.enqueue(ask("a"));
    await until(() => running.length > 0);
    const began = time.now();
    await passing(dispatcher.stop());
    expect(time.now() - began).toBeLessThan(10_000);
  });
});

describe("a local account as the fallback of a provider", () => {
  test("runs the tail that is too small for the provider, and nothing else", async () => {
    const fake = fakeProvider({ clock: time, plan: { validateMs: 0, runMs: 20, finalizeMs: 0 } });
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const provider = openaiAccount({ client, pollMs: 20, requestTimeoutMs: 60_000, limits: { minRequests: 10 } });
    const ran: string[] = [];
    const handler: LocalHandler = (body) => {
      ran.push(said(body));
      return echo(body);
    };
    const local = localAccount({ handler, fallback: true, requestTimeoutMs: 1_000 });
    const more = { accounts: [provider, local], thresholds: { maxRequests: 10, maxAgeMs: 300 }, leaseMs: 120_000 };
    const dispatcher = await dispatch({ handler }, more);
    await dispatcher.enqueueMany(names(13).map((name) => ask(name)));
    await outcomes(dispatcher, 13);
    expect(ran.toSorted()).toEqual(["r10", "r11", "r12"]);
    expect(fake.runs().size).toBe(10);
  });
});

describe("two dispatchers on one store", () => {
  test("share its batches: lines that one has no time for run at the other, and no line twice", async () => {
    const store = memoryStore();
    const limits = { maxRequests: 2 };
    const more = { store, thresholds: { maxRequests: 2, maxAgeMs: 20 } };
    const { handler, running, end } = held();
    const first = await dispatch({ handler, concurrency: 8, limits }, more);
    await first.enqueueMany(names(8).map((name) => ask(name)));
    await until(() => running.length === 4);
    const ran: string[] = [];
    const quick: LocalHandler = (body) => {
      ran.push(said(body));
      return echo(body);
    };
    const second = await dispatch({ handler: quick, limits }, more);
    await outcomes(second, 4);
    for (const name of [...running]) end(name);
    await outcomes(second, 8);
    expect([...running, ...ran].toSorted()).toEqual(names(8));
  });
});

describe("an account with options that make no sense", () => {
  const handler: LocalHandler = echo;

  test.each<[object, string]>([
    [{}, "Expected either `baseURL` or `handler`, got neither"],
    [{ baseURL: "http://127.0.0.1:1/v1", handler }, "Expected either `baseURL` or `handler`, got both"],
    [{ baseURL: "127.0.0.1:8000" }, "Expected `baseURL` to be an http or https address"],
    [{ baseURL: "http://127.0.0.1:1/v1", extraBody: "flex" }, "Expected `extraBody` to be an object"],
    [{ handler, extraBody: {} }, "`extraBody` is for `baseURL`, not for `handler`"],
    [{ handler, apiKey: "k" }, "`apiKey` is for `baseURL`, not for `handler`"],
    [{ handler: "x" }, "Expected `handler` to be a function"],
    [{ handler, concurrency: 0 }, "Expected `concurrency` to be an integer >= 1"],
    [{ handler, lineTimeoutMs: Number.POSITIVE_INFINITY }, "Expected `lineTimeoutMs` to be an integer >= 1"],
    [{ handler, endpoints: [] }, "Expected `endpoints` to be a list of at least one endpoint"],
    [{ handler, concurrent: 3 }, "Unknown option `concurrent`"],
  ])("%# is refused in words", (options, words) => {
    expect(() => localAccount(options as LocalAccountOptions)).toThrow(words);
  });
});
