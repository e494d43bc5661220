import { spawnSync } from "node:child_process";
import { threadId } from "node:worker_threads";
import { type Batcher, type BatchOptions, BatchwiseError, createBatcher } from "batchwise";
import { type ThreadHandler, type ThreadHandlerOptions, threadHandler } from "batchwise/threads";
import { afterEach, describe, expect, test } from "vitest";
import { reasonOf, thrownBy, watch } from "../../support.ts";

const urlOf = (name: string): URL => new URL(`./fixtures/${name}-handler.ts`, import.meta.url);
const MISBEHAVING = urlOf("misbehaving");

type Any = Batcher<unknown, unknown>;

const batchers: Any[] = [];

afterEach(async () => {
  await Promise.all(batchers.splice(0).map((batcher) => batcher.close({ drain: false })));
});

function threads(
  of: ThreadHandlerOptions & { readonly url?: URL } = {},
  options: BatchOptions<unknown, unknown> = {},
): { handler: ThreadHandler<unknown, unknown>; batcher: Any } {
  const { url = MISBEHAVING, ...others } = of;
  const handler = threadHandler<unknown, unknown>(url, others);
  const batcher = createBatcher(handler, options);
  batchers.push(batcher);
  return { handler, batcher };
}

describe("a handler in threads", () => {
  test("runs in a thread of its own, and the event loop continues while it is busy", async () => {
    const { batcher } = threads();
    expect(await batcher.submit("thread")).not.toBe(threadId);
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 5);
    expect(await batcher.submit("busy")).toBe("was busy");
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(10);
  });

  test("runs as many batches at once as it has workers, each in a thread of its own", async () => {
    const { batcher } = threads({ workers: 2 }, { maxBatchSize: 2 });
    expect(batcher.options.concurrency).toBe(2);
    expect(threads({ workers: 2 }, { concurrency: 1 }).batcher.options.concurrency).toBe(1);
    await batcher.open();
    const startedAt = performance.now();
    const answers = await batcher.submitMany(["thread", "busy", "thread", "busy"]);
    expect(new Set([answers[0], answers[2], threadId]).size).toBe(3);
    expect(performance.now() - startedAt).toBeLessThan(390);
  });

  test("holds batches back that are more than its workers, and loses none", async () => {
    const { batcher } = threads({ workers: 2 }, { concurrency: 16, maxBatchSize: 1 });
    const items = Array.from({ length: 200 }, (_, index) => index);
    expect(await batcher.submitMany(items)).toEqual(items);
  });

  test("is given key, cost and contexts; of a context that cannot be cloned, undefined", async () => {
    const { batcher } = threads({}, { maxWaitMs: 1_000, maxBatchSize: 2 });
    const [answer] = await Promise.all([
      batcher.submit("context", { key: "k", cost: 3, context: { user: "u" } }),
      batcher.submit("other", { key: "k", context: () => {} }),
    ]);
    expect(answer).toEqual(["k", 4, [{ user: "u" }, undefined]]);
  });

  test("has its stages run, and `open` and `close` once a thread", async () => {
    const calls = new Int32Array(new SharedArrayBuffer(8));
    const options = { url: urlOf("staged"), workers: 2, workerOptions: { workerData: { calls } } };
    const { batcher } = threads(options, { concurrency: 2 });
    expect(await batcher.submitMany([" ab ", "c"])).toEqual(["4", "2"]);
    const outcomes = await batcher.submitSettled(["a", "bad", "ab"]);
    expect(outcomes).toMatchObject([{ value: "2" }, { reason: { message: "bad item" } }, { value: "4" }]);
    await batcher.close();
    expect(Array.from(calls)).toEqual([2, 2]);
  });

  test("may answer with a typed array, with promises, and with errors in their places", async () => {
    const { batcher } = threads();
    expect(await batcher.submitMany(["numbers", "x"])).toEqual([1.5, 1.5]);
    const outcomes = await batcher.submitSettled(["later", "error", 1, "rejects"]);
    expect(outcomes.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason)))).toEqual([
      "later",
      "RangeError: this one",
      1,
      "TypeError: that one",
    ]);
  });

  test("may send messages of its own: each batch gets its own answer all the same", async () => {
    const { batcher, handler } = threads({}, { maxBatchSize: 1 });
    const items = ["a", "talk", "b", "talk", "c", "d"];
    expect(await batcher.submitMany(items)).toEqual(items);
    expect(handler.restarts).toBe(0);
  });

  test("keeps the memory of its results, unless `transferResults` gives it away", async () => {
    for (const transferResults of [false, true]) {
      const { batcher } = threads({ transferResults });
      expect(await batcher.submit("buffer")).toEqual({ data: new Float32Array(4).fill(5), mine: 4 });
      expect(await batcher.submit("buffer")).toMatchObject({ mine: transferResults ? 0 : 4 });
    }
  });
});

describe("a handler in threads that fails", () => {
  test("by throwing rejects its batch with the error's class, message and properties, and continues", async () => {
    const { batcher, handler } = threads();
    const error = await reasonOf(batcher.submit("throw"));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ message: "all of them", status: 503 });
    expect(await batcher.submit("x")).toBe("x");
    expect(handler.restarts).toBe(0);
  });

  test("by a wrong answer gives BATCH_RESULT", async () => {
    const { batcher } = threads();
    const message = "Expected the handler to return 2 results, one per item, got 1.";
    expect(await reasonOf(batcher.submitMany(["short", "x"]))).toMatchObject({ code: "BATCH_RESULT", message });
    expect(await reasonOf(batcher.submit("none"))).toMatchObject({ code: "BATCH_RESULT" });
    const { batcher: named } = threads({}, { name: "hash" });
    const namedMessage = `Batcher \`hash\`: ${message}`;
    expect(await reasonOf(named.submitMany(["short", "x"]))).toMatchObject({ message: namedMessage });
  });

  test("by a result or an item that cannot be cloned rejects only its caller", async () => {
    const { batcher } = threads();
    const outcomes = await batcher.submitSettled(["a", "function", () => {}, "b", "error"]);
    expect(outcomes.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).name))).toEqual([
      "a",
      "BatchwiseError",
      "DataCloneError",
      "b",
      "RangeError",
    ]);
    expect(await batcher.submitSettled([() => {}])).toMatchObject([{ reason: { name: "DataCloneError" } }]);
    expect(await batcher.submit("x")).toBe("x");
  });

  test("by an item that is too deep for the stack of the thread rejects its batch, and continues", async () => {
    const { batcher } = threads({ workerOptions: { resourceLimits: { stackSizeMb: 1 } } }, { maxBatchSize: 1 });
    const deep = (levels: number): unknown => (levels === 0 ? "bottom" : { below: deep(levels - 1) });
    const depths = Array.from({ length: 13 }, (_, index) => 500 + 250 * index);
    const outcomes = await batcher.submitSettled(depths.map(deep));
    expect(outcomes.filter(({ status }) => status === "rejected")).not.toEqual([]);
    expect(await batcher.submit("after")).toBe("after");
  });

  test("by an item that can be cloned only now and then rejects no other", async () => {
    const { batcher } = threads();
    let reads = 0;
    const odd = {
      get now() {
        reads += 1;
        return reads % 2 === 0 ? () => {} : reads;
      },
    };
    const [, other] = await batcher.submitSettled([odd, "other"]);
    expect(other).toEqual({ status: "fulfilled", value: "other" });
  });

  test("by a result or an item whose property throws rejects only its caller", async () => {
    const { batcher } = threads();
    const item = {
      get broken(): never {
        throw new RangeError("no such item");
      },
    };
    const outcomes = await batcher.submitSettled(["a", "getter", item, "b"]);
    expect(outcomes).toMatchObject([
      { value: "a" },
      { reason: { code: "BATCH_RESULT", cause: { message: "no such thing" } } },
      { reason: { name: "RangeError", message: "no such item" } },
      { value: "b" },
    ]);
  });

  test.each([
    ["exits", "exit", "exit code 0"],
    ["throws where nobody catches it", "crash", "out of nowhere"],
    ["runs out of memory", "memory", "memory limit"],
  ])("in a thread that %s fails only its batch: THREAD_ENDED, and the thread is replaced", async (_, item, message) => {
    const workerOptions = { resourceLimits: { maxOldGenerationSizeMb: 24 }, stderr: true };
    const { batcher, handler } = threads({ workers: 2, workerOptions }, { concurrency: 2, maxBatchSize: 1 });
    expect(await batcher.submitMany([1, 2])).toEqual([1, 2]);
    const outcomes = await batcher.submitSettled(["busy", item, "a", "b", "c"]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", ...Array(3).fill("fulfilled")]);
    const { reason } = outcomes[1] as PromiseRejectedResult;
    expect(reason).toBeInstanceOf(BatchwiseError);
    expect(reason).toMatchObject({
      code: "THREAD_ENDED",
      retryable: true,
      message: expect.stringContaining(message),
    });
    expect(await batcher.submitMany([1, 2, 3, 4])).toEqual([1, 2, 3, 4]);
    expect(handler.restarts).toBe(1);
  });

  test("to load rejects `open` and every batch with the module's error", async () => {
    const { batcher, handler } = threads({ url: urlOf("refusing"), workers: 2 });
    expect(await reasonOf(batcher.open())).toMatchObject({ name: "RangeError", message: "no model here" });
    expect(await reasonOf(batcher.submit(1))).toMatchObject({ message: "no model here" });
    expect(handler.restarts).toBe(0);
    for (const [name, message] of [
      ["no", "Expected a default export in"],
      ["missing", "Cannot find module"],
    ] as const) {
      const { batcher: other } = threads({ url: urlOf(name) });
      expect(await reasonOf(other.submit(1))).toMatchObject({ message: expect.stringContaining(message) });
    }
  });
});

describe("a thread that dies before it has answered anything", () => {
  test("is not started again and again: only the next batch needs one", async () => {
    const { batcher, handler } = threads({ url: urlOf("dying") });
    await batcher.open();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(handler.restarts).toBe(0);
    expect(await batcher.submit(1)).toBe(1);
    expect(handler.restarts).toBe(1);
  });
});

describe("a batch in a thread without waiting callers", () => {
  test("has its signal aborted there", async () => {
    const { batcher } = threads();
    await batcher.open();
    const controller = new AbortController();
    const answer = watch(batcher.submit("signal", { signal: controller.signal }));
    while (batcher.stats().running < 1) await new Promise(setImmediate);
    controller.abort(new Error("enough"));
    await batcher.idle();
    expect(answer).toMatchObject({ state: "rejected", reason: { message: "enough" } });
    // The one thread is free again: the handler has heard of it.
    expect(await batcher.submit("x")).toBe("x");
  });

  test("is ended with its thread after `terminateAfterMs`, and the thread is replaced", async () => {
    const { batcher, handler } = threads({ terminateAfterMs: 50 }, { handlerTimeoutMs: 800 });
    expect(await batcher.submit("x")).toBe("x");
    expect(await reasonOf(batcher.submit("loop"))).toMatchObject({ code: "HANDLER_TIMEOUT" });
    expect(await batcher.submit("y")).toBe("y");
    expect(handler.restarts).toBe(1);
  });

  test("ends a thread that never comes to the end of loading in place of a dead one, and holds no close up", async () => {
    const starts = new Int32Array(new SharedArrayBuffer(4));
    const module = `import { workerData } from "node:worker_threads";
      if (Atomics.add(workerData, 0, 1) === 1) await new Promise(() => setInterval(() => {}, 1000));
      export default (items) => (items.includes("exit") ? process.exit(1) : items);`;
    const handler = threadHandler<string, string>(`data:text/javascript,${encodeURIComponent(module)}`, {
      terminateAfterMs: 50,
      workerOptions: { workerData: starts },
    });
    const batcher = createBatcher(handler, { handlerTimeoutMs: 1_000 });
    expect(await batcher.submit("x")).toBe("x");
    expect(await reasonOf(batcher.submit("exit"))).toMatchObject({ code: "THREAD_ENDED" });
    expect(await reasonOf(batcher.submit("y"))).toMatchObject({ code: "HANDLER_TIMEOUT" });
    expect(await batcher.submit("z")).toBe("z");
    expect(starts[0]).toBe(3);
    await batcher.close();
    expect(process.getActiveResourcesInfo()).not.toContain("Worker");
  });

  test("never runs where it still waited for a thread", async () => {
    const { batcher } = threads({}, { concurrency: 2, maxBatchSize: 1 });
    const first = batcher.submit("busy");
    const controller = new AbortController();
    const second = batcher.submit("exit", { signal: controller.signal });
    while (batcher.stats().running < 2) await new Promise(setImmediate);
    controller.abort();
    expect(await reasonOf(second)).toMatchObject({ name: "AbortError" });
    expect(await first).toBe("was busy");
    expect(await batcher.submit("x")).toBe("x");
  });
});

describe("closing a handler in threads", () => {
  test("waits for running and waiting items, then ends the threads", async () => {
    const { batcher } = threads({ workers: 2 }, { concurrency: 2, maxBatchSize: 1 });
    const answers = batcher.submitMany(["busy", "a", "busy", "b", "c"]);
    await batcher.close();
    expect(await answers).toEqual(["was busy", "a", "was busy", "b", "c"]);
    expect(process.getActiveResourcesInfo()).not.toContain("Worker");
  });

  test("waits also for a batch that was given up, and may be called twice", async () => {
    const { batcher, handler } = threads();
    await batcher.open();
    const answer = watch(batcher.submit("busy"));
    while (batcher.stats().running < 1) await new Promise(setImmediate);
    const startedAt = performance.now();
    await batcher.close({ drain: false });
    expect(performance.now() - startedAt).toBeGreaterThan(100);
    expect(answer).toMatchObject({ state: "rejected", reason: { code: "CLOSED" } });
    await handler.close();
  });

  test("ends a thread whose `close` never comes to its end, after `terminateAfterMs`", async () => {
    const module =
      "export default { run: (items) => items, close: () => new Promise(() => setInterval(() => {}, 1000)) }";
    const handler = threadHandler<number, number>(`data:text/javascript,${encodeURIComponent(module)}`, {
      terminateAfterMs: 50,
    });
    const batcher = createBatcher(handler);
    expect(await batcher.submit(1)).toBe(1);
    await batcher.close();
    expect(process.getActiveResourcesInfo()).not.toContain("Worker");
  });

  test("that cannot be loaded, or closed, is reported where nothing else keeps the process alive", () => {
    const file = new URL("./fixtures/waits-for-failures.ts", import.meta.url).pathname;
    const run = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 20_000 });
    expect(run).toMatchObject({ status: 0, stdout: "cannot open, cannot close\n", stderr: "" });
  });

  test("may be forgotten: idle threads keep no process alive", () => {
    const file = new URL("./fixtures/forgets-to-close.ts", import.meta.url).pathname;
    const run = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 20_000 });
    expect(run).toMatchObject({ status: 0, stdout: "a,b,was busy\n", stderr: "" });
  });
});

describe("mistakes with threadHandler", () => {
  test("name the expected and the actual value", () => {
    const messageOf = (url: unknown, options?: unknown): unknown =>
      (thrownBy(() => threadHandler(url as URL, options as ThreadHandlerOptions)) as Error).message;
    const aUrl = 'Expected `url` to be a URL such as new URL("./handler.js", import.meta.url), got';
    expect(messageOf("./handler.js")).toBe(`${aUrl} \`./handler.js\` (string)`);
    expect(messageOf(() => {})).toBe(`${aUrl} a function`);
    expect(messageOf(MISBEHAVING, { workers: 0 })).toBe("Expected `workers` to be an integer >= 1, got `0` (number)");
    expect(messageOf(MISBEHAVING, { concurrency: 2 })).toContain("it is an option of the batcher");
    expect(messageOf(MISBEHAVING, { worker: 2 })).toContain("did you mean `workers`?");
  });
});
