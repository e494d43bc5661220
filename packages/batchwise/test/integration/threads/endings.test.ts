import { spawnSync } from "node:child_process";
import { type MessagePort, Worker } from "node:worker_threads";
import { type Batcher, BatchwiseError, createBatcher } from "batchwise";
import { shareBatcher } from "batchwise/threads";
import { describe, expect, test } from "vitest";
import { gate } from "../../support.ts";
import { CallingThread } from "./calling-thread.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A batcher that fails every batch, or every item, with this. */
function failing(reason: unknown): CallingThread {
  const batcher = createBatcher(async function throwInHandler(): Promise<number[]> {
    throw reason;
  });
  return new CallingThread(shareBatcher(batcher));
}

function circular(): Error {
  const error = new Error("round");
  error.cause = error;
  return error;
}

describe("an error sent to a thread", () => {
  test("keeps class, code, message and retryable of a BatchwiseError", async () => {
    const batcher = createBatcher(async (items: number[]) => items, { maxBatchCost: 2 });
    const caller = new CallingThread(shareBatcher(batcher));
    for (const name of ["submitSync", "submit"]) {
      const error = await caller.errorOf(name, 1, { cost: 9 });
      expect(error).toMatchObject({ isBatchwise: true, name: "BatchwiseError", code: "ITEM_TOO_LARGE" });
      expect(error).toMatchObject({ retryable: false, message: expect.stringContaining("The item costs 9") });
    }
  });

  test("keeps class, message, stack, own properties and causes of the handler's error", async () => {
    const cause = new BatchwiseError({ code: "X", message: "inner", retryable: true, cause: "text" });
    const reason = Object.assign(new TypeError("bad", { cause }), { status: 429, code: "E_BAD", send: () => {} });
    reason.stack = `TypeError: bad\n    at throwInHandler (file.js:1:1)`;
    const error = await failing(reason).errorOf("submitSync", 1);
    expect(error).toMatchObject({ isTypeError: true, name: "TypeError", message: "bad", hasHandlerStack: true });
    expect(error).toMatchObject({ own: { status: 429, code: "E_BAD" }, isBatchwise: false });
    const seenCause = { isBatchwise: true, code: "X", retryable: true, cause: { isError: false, value: "text" } };
    expect(error).toMatchObject({ cause: seenCause });
  });

  test.each([
    ["a class of one's own", Object.assign(new Error("m"), { name: "MyError" }), { name: "MyError", message: "m" }],
    ["a DOMException", new DOMException("m", "AbortError"), { name: "AbortError", message: "m" }],
    [
      "a DOMException with a cause",
      new DOMException("m", { name: "AbortError", cause: "c" }),
      { name: "AbortError", message: "m", cause: { value: "c" } },
    ],
    ["an AggregateError", new AggregateError([new Error("a")], "m"), { isAggregate: true, message: "m" }],
    ["a text", "gone", { isError: false, value: "gone" }],
    ["nothing", undefined, { isError: false, value: undefined }],
    ["a function", () => {}, { message: "Expected an Error, got a function, which cannot be cloned." }],
    ["its own cause", circular(), { message: "round" }],
  ])("is the same where it is %s", async (_, reason, expected) => {
    expect(await failing(reason).errorOf("submitSync", 1)).toMatchObject(expected);
  });

  test("rejects only its own caller where it stands in a place", async () => {
    const batcher = createBatcher(async (items: number[]) =>
      items.map((item) => (item === 2 ? new Error("two") : item)),
    );
    const caller = new CallingThread(shareBatcher(batcher));
    const reports = await Promise.all([1, 2, 3].map((item) => caller.report("submit", [item])));
    expect(reports.map(({ value, error }) => value ?? error)).toMatchObject([1, { message: "two" }, 3]);
  });
});

describe("a value that cannot be cloned", () => {
  test("as an item rejects its own submit, and the thread continues", async () => {
    const caller = new CallingThread(shareBatcher(createBatcher(async (items: number[]) => items)));
    expect(await caller.errorOf("uncloneable")).toMatchObject({ name: "DataCloneError" });
    expect(await caller.errorOf("uncloneableSync")).toMatchObject({ name: "DataCloneError" });
    expect(await caller.ask("submitSync", 1)).toBe(1);
  });

  test("as a result rejects its own caller with BATCH_RESULT, and no other", async () => {
    const batcher = createBatcher<number, unknown>(async (items: number[]) =>
      items.map((item) => (item === 2 ? { call: () => {} } : item)),
    );
    const caller = new CallingThread(shareBatcher(batcher));
    const reports = await Promise.all([1, 2, 3].map((item) => caller.report("submit", [item])));
    expect(reports.map(({ value, error }) => value ?? error)).toMatchObject([1, { code: "BATCH_RESULT" }, 3]);
    expect(await caller.errorOf("submitSync", 2)).toMatchObject({ isBatchwise: true, code: "BATCH_RESULT" });
  });
});

test("messages that a thread posts on its port by itself are ignored", async () => {
  const batcher = createBatcher(async (items: number[]) => items);
  const caller = new CallingThread(shareBatcher(batcher));
  for (const message of ["hello", null, undefined, 7, {}, []]) await caller.ask("post", message);
  expect(await caller.ask("submitSync", 1)).toBe(1);
  expect(batcher.stats().submitted).toBe(1);
});

describe("a batcher that closes", () => {
  test("gives CLOSED to threads that come, blocked or not", async () => {
    const batcher = createBatcher(async (items: number[]) => items);
    const caller = new CallingThread(shareBatcher(batcher));
    await batcher.close();
    for (const name of ["submitSync", "submit"]) {
      expect(await caller.errorOf(name, 1)).toMatchObject({ isBatchwise: true, code: "CLOSED", retryable: false });
    }
  });

  test("answers threads that wait, unless it does not drain: they get CLOSED", async () => {
    for (const drain of [true, false]) {
      const batcher = createBatcher(async (items: number[]) => items, { maxWaitMs: 60_000 });
      const shared = shareBatcher(batcher);
      const reports = ["submitSync", "submit"].map((name) => new CallingThread(shared).report(name, [1]));
      while (batcher.stats().waiting < 2) await turn();
      await batcher.close({ drain });
      const expected = drain ? { value: 1 } : { error: { code: "CLOSED" } };
      expect(await Promise.all(reports)).toMatchObject([expected, expected]);
    }
  });

  test("loses only its threads where only the sharing ends: they get CLOSED, their items are cancelled", async () => {
    const batcher = createBatcher(async (items: number[]) => items, { maxWaitMs: 60_000 });
    const shared = shareBatcher(batcher);
    const threads = ["submitSync", "submit"].map((name) => ({ name, caller: new CallingThread(shared) }));
    const reports = threads.map(({ name, caller }) => caller.report(name, [1]));
    while (batcher.stats().waiting < 2) await turn();
    shared.close();
    shared.close();
    expect(await Promise.all(reports)).toMatchObject([{ error: { code: "CLOSED" } }, { error: { code: "CLOSED" } }]);
    expect(batcher.stats()).toMatchObject({ cancelled: 2, waiting: 0 });
    for (const { caller } of threads) expect(await caller.ask("closed")).toBe(true);
    for (const { caller } of threads) expect(await caller.errorOf("submitSync", 1)).toMatchObject({ code: "CLOSED" });
    const own = batcher.submit(5);
    void batcher.flush();
    expect(await own).toBe(5);
  });
});

/**
 * A batcher with one running batch that ends on the test's command, and the input of its handler.
 */
function held(): { batcher: Batcher<number, number>; handed: number[]; signals: AbortSignal[]; open: () => void } {
  const { promise, open } = gate();
  const handed: number[] = [];
  const signals: AbortSignal[] = [];
  const batcher = createBatcher(
    async (items: number[], { signal }) => {
      handed.push(...items);
      signals.push(signal);
      await promise;
      return items;
    },
    { maxBatchSize: 1 },
  );
  return { batcher, handed, signals, open };
}

describe("a thread that ends", () => {
  test.each([
    ["exits by itself", async (caller: CallingThread) => void (await caller.ask("leave", 2))],
    ["throws", async (caller: CallingThread) => void (await caller.ask("crash", 2))],
    ["is terminated while it is blocked", async (caller: CallingThread) => void caller.report("submitSync", [2])],
  ])("has only its waiting items cancelled where it %s", async (what, end) => {
    const { batcher, handed, open } = held();
    const shared = shareBatcher(batcher);
    const first = batcher.submit(1);
    const other = new CallingThread(shared).ask("submitSync", 3);
    while (batcher.stats().waiting < 1) await turn();
    const caller = new CallingThread(shared);
    await end(caller);
    while (batcher.stats().waiting < 2 && batcher.stats().cancelled < 1) await turn();
    if (what.startsWith("is terminated")) await caller.worker.terminate();
    await caller.ended;
    while (batcher.stats().cancelled < 1) await turn();
    open();
    expect(await first).toBe(1);
    expect(await other).toBe(3);
    expect(handed).toEqual([1, 3]);
    expect(batcher.stats()).toMatchObject({ cancelled: 1, completed: 2, waiting: 0 });
  });

  test("has the signal of a batch aborted in which it was the only caller", async () => {
    const { batcher, signals, open } = held();
    const caller = new CallingThread(shareBatcher(batcher));
    void caller.report("submitSync", [1]);
    while (signals.length < 1) await turn();
    await caller.worker.terminate();
    while (signals[0]?.aborted !== true) await turn();
    expect(signals[0].reason).toBeDefined();
    open();
    await batcher.idle();
    expect(batcher.stats()).toMatchObject({ cancelled: 1 });
  });

  test("keeps nothing: the one listener of all connections goes with the last of them", async () => {
    const shared = shareBatcher(createBatcher(async (items: number[]) => items));
    const without = process.listenerCount("exit");
    for (let round = 0; round < 3; round += 1) {
      const threads = Array.from({ length: 4 }, () => new CallingThread(shared));
      await Promise.all(threads.map((caller) => caller.ask("submitSync", 1)));
      expect(process.listenerCount("exit")).toBe(without + 1);
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
      while (process.listenerCount("exit") > without) await turn();
    }
  });
});

describe("a batcher whose own thread is a worker", () => {
  test("gives CLOSED to a blocked thread when that worker ends", async () => {
    const host = new Worker(new URL("./fixtures/leaving-host.ts", import.meta.url));
    const port = await new Promise<MessagePort>((resolve) => host.once("message", resolve));
    const caller = new CallingThread({ port: () => port, close: () => {} });
    expect(await caller.errorOf("submitSync", 1)).toMatchObject({ code: "CLOSED" });
    expect(await caller.errorOf("submit", 1)).toMatchObject({ code: "CLOSED" });
  });
});

describe("a process with connected threads", () => {
  const run = (name: string): { status: number | null; stdout: string; stderr: string } => {
    const file = new URL(`./fixtures/${name}`, import.meta.url).pathname;
    return spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 20_000 });
  };

  test("ends by itself when nothing waits, with nothing closed", () => {
    expect(run("ends-by-itself.ts")).toMatchObject({ status: 0, stdout: "[2,4,6] ready\n", stderr: "" });
  });
});
