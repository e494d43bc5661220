// `prepareItem` that returns a promise: the item is awaited before it is queued, and counts like
// one in a cache look-up.

import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { reasonOf, watch } from "../support.ts";
import { subject, watchUnhandled } from "./prepare-item-kit.ts";

/** The linter warns of objects that have one. */
const THEN: string = "then";

watchUnhandled();

describe("an item whose `prepareItem` returned a promise", () => {
  test("is queued when the promise resolves, and the handler gets the prepared value", async () => {
    const of = subject();
    const answer = watch(of.batcher.submit("a"));
    await of.clock.settle();
    expect([of.begun, of.batches, answer.state]).toEqual([["a"], [], "pending"]);
    await of.ready("a", "prepared");
    expect([of.batches, answer.value]).toEqual([[["prepared"]], "PREPARED"]);
  });

  test("may be a thenable that is no Promise, whose `then` is called once", async () => {
    let asked = 0;
    const lazy = {
      // biome-ignore lint/suspicious/noThenProperty: the thenable is what is tested.
      then: (resolve: (value: string) => void) => {
        asked += 1;
        resolve("lazy");
      },
    };
    const batcher = createBatcher({
      prepareItem: (_: string) => lazy as PromiseLike<string>,
      run: (items: string[]) => items,
    });
    expect(await batcher.submit("a")).toBe("lazy");
    expect(asked).toBe(1);
  });

  test("does not wait, and does not count towards `maxQueueSize`, before it is prepared", async () => {
    const of = subject({ maxQueueSize: 1, onFull: "reject" });
    of.batcher.pause();
    const first = watch(of.batcher.submit("a"));
    const second = watch(of.batcher.submit("b"));
    await of.clock.advance(30);
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, waiting: 0, blocked: 0, oldestWaitMs: 0 });
    await of.ready("a");
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, oldestWaitMs: 0 });
    await of.ready("b");
    expect(second.reason).toMatchObject({ code: "QUEUE_FULL" });
    of.batcher.resume();
    await of.clock.settle();
    expect(first.value).toBe("A");
  });

  test("waits from then on: its wait counts from the end of its preparation, its latency from its submit", async () => {
    const of = subject({ maxWaitMs: 100 });
    void of.batcher.submit("a");
    await of.clock.advance(70);
    await of.ready("a");
    await of.clock.advance(99);
    expect(of.batches).toEqual([]);
    await of.clock.advance(1);
    expect(of.batches).toEqual([["a"]]);
    expect(of.batcher.stats()).toMatchObject({ waitMs: { max: 100 }, latencyMs: { max: 170 } });
  });

  test("goes in the order in which preparations end, with those that are ready", async () => {
    const of = subject({ maxWaitMs: 10 });
    const answers = of.batcher.submitMany(["slow", "a", "b"]);
    await of.ready("b");
    await of.ready("a");
    await of.clock.advance(10);
    await of.ready("slow");
    await of.clock.advance(10);
    expect(of.batches).toEqual([["b", "a"], ["slow"]]);
    expect(await answers).toEqual(["SLOW", "A", "B"]);
  });

  test("rejects only its caller when the promise rejects, with its own reason", async () => {
    const of = subject();
    const settled = watch(of.batcher.submitSettled(["a", "b", "c"]));
    const reason = new Error("unreadable");
    await of.fail("b", reason);
    await of.ready("a");
    await of.ready("c");
    expect(settled.value).toEqual([
      { status: "fulfilled", value: "A" },
      { status: "rejected", reason },
      { status: "fulfilled", value: "C" },
    ]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 3, completed: 2, failed: 1, rejected: 0 });
  });

  test("counts as failed also where another batcher refused it", async () => {
    const of = subject();
    const other = createBatcher((items: string[]) => items);
    await other.close();
    const refused = await reasonOf(other.submit("x"));
    const answer = reasonOf(of.batcher.submit("a"));
    await of.fail("a", refused);
    expect(await answer).toBe(refused);
    expect(of.batcher.stats()).toMatchObject({ failed: 1, rejected: 0 });
  });
});

describe("a caller whose item is being prepared", () => {
  test("may be cancelled by its signal, and the handler never gets the item", async () => {
    const of = subject();
    const leave = new AbortController();
    const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    leave.abort(new Error("gone"));
    expect(await left).toEqual(new Error("gone"));
    await of.ready("a");
    expect(of.batches).toEqual([]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 1, cancelled: 1 });
  });

  test("expires on time, also when the preparation never ends or fails later", async () => {
    const of = subject();
    const expired = watch(of.batcher.submit("a", { timeoutMs: 50 }));
    await of.clock.advance(50);
    expect(expired.reason).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(of.clock.timers).toBe(0);
    await of.fail("a", new Error("too late"));
    expect(of.batcher.stats()).toMatchObject({ submitted: 1, expired: 1, failed: 0 });
  });

  test("has its deadline from the submit on, before and after the preparation", async () => {
    const of = subject({ timeoutMs: 100 });
    of.batcher.pause();
    const expired = watch(of.batcher.submit("a"));
    await of.clock.advance(60);
    await of.ready("a");
    await of.clock.advance(39);
    expect(expired.state).toBe("pending");
    await of.clock.advance(1);
    expect(expired.reason).toMatchObject({ code: "DEADLINE_EXCEEDED" });
  });

  test("that has cancelled holds neither idle() nor close(), though the preparation never ends", async () => {
    const of = subject();
    const leave = new AbortController();
    of.batcher.submit("never", { signal: leave.signal }).catch(() => {});
    of.batcher.submit("never either", { timeoutMs: 10 }).catch(() => {});
    const idle = watch(of.batcher.idle());
    await of.clock.settle();
    expect(idle.state).toBe("pending");
    leave.abort();
    await of.clock.advance(10);
    expect(idle.state).toBe("fulfilled");
    const closed = watch(of.batcher.close());
    await of.clock.settle();
    expect(closed.state).toBe("fulfilled");
  });
});

describe("a batcher with items in preparation", () => {
  test("is not idle, and a flush does not cover them", async () => {
    const of = subject({ maxWaitMs: 1_000 });
    const answer = watch(of.batcher.submit("a"));
    const idle = watch(of.batcher.idle());
    await of.batcher.flush();
    expect([answer.state, idle.state]).toEqual(["pending", "pending"]);
    await of.ready("a");
    void of.batcher.flush();
    await of.clock.settle();
    expect([answer.state, idle.state]).toEqual(["fulfilled", "fulfilled"]);
  });

  test("waits for them in close(), and answers them", async () => {
    const of = subject({ maxWaitMs: 1_000 });
    const settled = watch(of.batcher.submitSettled(["a", "b"]));
    const closed = watch(of.batcher.close());
    await of.clock.settle();
    expect(closed.state).toBe("pending");
    await of.ready("a");
    expect([of.batches, closed.state]).toEqual([[["a"]], "pending"]);
    await of.fail("b", new Error("unreadable"));
    expect(settled.value).toMatchObject([{ value: "A" }, { reason: new Error("unreadable") }]);
    expect(closed.state).toBe("fulfilled");
  });

  test.each(["ready", "fail"] as const)(
    "rejects them with CLOSED at once in close({ drain: false }), then %s",
    async (how) => {
      const of = subject();
      const answer = reasonOf(of.batcher.submit("a"));
      await of.batcher.close({ drain: false });
      expect(await answer).toMatchObject({ code: "CLOSED" });
      if (how === "ready") await of.ready("a");
      else await of.fail("a", new Error("too late"));
      expect(of.batches).toEqual([]);
      expect(of.batcher.stats()).toMatchObject({ submitted: 1, rejected: 1, failed: 0 });
    },
  );

  test("rejects them also when close({ drain: false }) comes after close()", async () => {
    const of = subject();
    const answer = reasonOf(of.batcher.submit("a"));
    const closed = of.batcher.close();
    await of.clock.settle();
    void of.batcher.close({ drain: false });
    expect(await answer).toMatchObject({ code: "CLOSED" });
    await closed;
  });
});

test("a promise of `prepareItem` whose own `then` throws rejects its item, and close() is not kept waiting", async () => {
  const failure = new Error("then");
  const batcher = createBatcher({
    prepareItem: (item: number) => {
      const promise = Promise.resolve(item);
      const value = (): never => {
        throw failure;
      };
      return Object.defineProperty(promise, THEN, { value });
    },
    run: (items: number[]) => items,
  });
  expect(await reasonOf(batcher.submit(1))).toBe(failure);
  await batcher.close();
});
