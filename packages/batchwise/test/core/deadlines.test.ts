import type { Clock } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

describe("an item with a deadline", () => {
  test("expires on time while it waits, also when every slot is busy", async () => {
    const of = rig<string>();
    void of.batcher.submit("running");
    await of.clock.settle();
    const waiting = watch(of.batcher.submit("a", { timeoutMs: 100 }));
    await of.clock.advance(99);
    expect(waiting.state).toBe("pending");
    await of.clock.advance(1);
    expect(waiting).toMatchObject({
      state: "rejected",
      reason: { name: "BatchwiseError", code: "DEADLINE_EXCEEDED", retryable: true },
    });
    expect(String(waiting.reason)).toContain("100");
    await echoAll(of);
    expect(of.handler.batches).toEqual([["running"]]);
    expect(of.batcher.stats()).toMatchObject({ expired: 1, completed: 1 });
  });

  test.each(["queued", "blocked", "with a signal"])(
    "expires at its own time, even late in its turn: %s",
    async (how) => {
      let turnMs = 0;
      const clock = virtualClock();
      const late: Clock = {
        now: () => clock.now() + turnMs,
        setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs),
        clearTimeout: (timer) => clock.clearTimeout(timer),
      };
      const { batcher } = rig<string>({ clock: late, maxQueueSize: how === "blocked" ? 1 : 10 });
      batcher.pause();
      void batcher.submit("first of the turn");
      turnMs = 300;
      const signal = how === "with a signal" ? new AbortController().signal : undefined;
      const result = watch(batcher.submit("a", { timeoutMs: 1_234, ...(signal && { signal }) }));
      await clock.advance(1_234);
      expect(String(result.reason)).toContain("within 1234 ms of its submit");
    },
  );

  test("frees its caller on time while its batch runs, and its result is thrown away", async () => {
    const of = rig<string>();
    const late = watch(of.batcher.submit("a", { timeoutMs: 100 }));
    const patient = of.batcher.submit("b");
    await of.clock.advance(100);
    expect(late).toMatchObject({ state: "rejected", reason: { code: "DEADLINE_EXCEEDED" } });
    await echo(of);
    expect(await patient).toBe("b");
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, expired: 1, completed: 1 });
  });

  test("is answered when the answer comes first", async () => {
    const of = rig<string>();
    const result = watch(of.batcher.submit("a", { timeoutMs: 100 }));
    await of.clock.advance(99);
    await echo(of);
    await of.clock.advance(1000);
    expect(result).toMatchObject({ state: "fulfilled", value: "a" });
    expect(of.clock.timers).toBe(0);
  });

  test("expires while all is paused", async () => {
    const of = rig<string>();
    of.batcher.pause();
    const waiting = watch(of.batcher.submit("a", { timeoutMs: 10 }));
    await of.clock.advance(10);
    expect(waiting).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    of.batcher.resume();
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(0);
  });

  test("has it from `timeoutMs` of the batcher unless the submit says otherwise", async () => {
    const of = rig<string>({ timeoutMs: 50 });
    const usual = watch(of.batcher.submit("a"));
    const longer = watch(of.batcher.submit("b", { timeoutMs: 200 }));
    const shorter = watch(of.batcher.submit("c", { timeoutMs: 20 }));
    const never = watch(of.batcher.submit("d", { timeoutMs: Number.POSITIVE_INFINITY }));
    await of.clock.advance(20);
    expect([usual, longer, shorter, never].map(({ state }) => state)).toEqual([
      "pending",
      "pending",
      "rejected",
      "pending",
    ]);
    await of.clock.advance(30);
    expect(usual.state).toBe("rejected");
    await of.clock.advance(150);
    expect(longer.state).toBe("rejected");
    await echo(of);
    expect(never).toMatchObject({ state: "fulfilled", value: "d" });
  });

  test.each([0, -5])("has no time at all with %i ms: it expires and is not run", async (timeoutMs) => {
    const of = rig<string>();
    expect(await reasonOf(of.batcher.submit("a", { timeoutMs }))).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(0);
  });

  test.each(["soon", Number.NaN, null])("must be a number of milliseconds: %s is refused", async (timeoutMs) => {
    const error = await reasonOf(rig().batcher.submit("a", { timeoutMs: timeoutMs as never }));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("expires in the order of the deadlines, not of the submits", async () => {
    const of = rig<number>();
    const order: number[] = [];
    of.batcher.pause();
    for (const timeoutMs of [30, 10, 20, 40]) {
      of.batcher.submit(timeoutMs, { timeoutMs }).catch(() => order.push(timeoutMs));
    }
    await of.clock.advance(50);
    expect(order).toEqual([10, 20, 30, 40]);
  });

  test("shares one timer with all others", async () => {
    const of = rig<number>();
    void of.batcher.submit(-1);
    await of.clock.settle();
    const settled = of.batcher.submitSettled(range(1_000), { timeoutMs: 500 });
    void of.batcher.submitSettled(range(1_000), { timeoutMs: 400 });
    await of.clock.settle();
    expect(of.clock.timers).toBe(1);
    await of.clock.advance(500);
    expect((await settled).every(({ status }) => status === "rejected")).toBe(true);
    expect(of.clock.timers).toBe(0);
    await echoAll(of);
  });

  test("leaves no timer behind when it was answered in time", async () => {
    const of = rig<string>();
    void of.batcher.submit("a", { timeoutMs: 1_000 });
    await of.clock.settle();
    expect(of.clock.timers).toBe(1);
    await echo(of);
    expect(of.clock.timers).toBe(0);
  });

  test("holds a deadline far beyond the longest timer of a platform", async () => {
    const of = rig<string>();
    const days = 60 * 24 * 3_600_000;
    const waiting = watch(of.batcher.submit("a", { timeoutMs: days }));
    await of.clock.advance(days - 1);
    expect(waiting.state).toBe("pending");
    await of.clock.advance(1);
    expect(waiting.state).toBe("rejected");
  });
});

describe("`handlerTimeoutMs`", () => {
  test("rejects the callers of a batch that runs longer, and aborts its signal", async () => {
    const of = rig<string>({ handlerTimeoutMs: 100 });
    const results = watch(of.batcher.submitSettled(["a", "b"]));
    await of.clock.advance(99);
    expect(results.state).toBe("pending");
    await of.clock.advance(1);
    expect(results.value).toMatchObject([
      { reason: { name: "BatchwiseError", code: "HANDLER_TIMEOUT" } },
      { reason: { code: "HANDLER_TIMEOUT" } },
    ]);
    expect(of.handler.calls[0]?.context.signal.aborted).toBe(true);
    expect(of.handler.calls[0]?.context.signal.reason).toMatchObject({ code: "HANDLER_TIMEOUT" });
    expect(of.batcher.stats()).toMatchObject({ failed: 2, running: 0 });
  });

  test("frees the slot: a handler that never answers no longer counts against `concurrency`", async () => {
    const of = rig<string>({ handlerTimeoutMs: 100, maxBatchSize: 1 });
    of.batcher.submit("a").catch(() => {});
    const next = of.batcher.submit("b");
    await of.clock.advance(100);
    expect(of.handler.batches).toEqual([["a"], ["b"]]);
    of.handler.calls[1]?.resolve(["b"]);
    expect(await next).toBe("b");
    await of.batcher.close();
  });

  test("rejects before the signal aborts: an equal item of its listener gets a call of its own", async () => {
    const of = rig<string>({ handlerTimeoutMs: 100, dedupe: (item) => item });
    const first = reasonOf(of.batcher.submit("a"));
    await of.clock.settle();
    const failed: number[] = [];
    let again: Promise<string> | undefined;
    of.handler.calls[0]?.context.signal.addEventListener("abort", () => {
      failed.push(of.batcher.stats().failed);
      again = of.batcher.submit("a");
    });
    await of.clock.advance(100);
    expect(await first).toMatchObject({ code: "HANDLER_TIMEOUT" });
    expect(failed).toEqual([1]);
    of.handler.calls[1]?.resolve(["A"]);
    expect(await again).toBe("A");
  });

  test("makes a late answer count for nothing", async () => {
    const of = rig<string>({ handlerTimeoutMs: 100 });
    const result = reasonOf(of.batcher.submit("a"));
    await of.clock.advance(100);
    of.handler.calls[0]?.resolve(["late"]);
    await of.clock.settle();
    expect(await result).toMatchObject({ code: "HANDLER_TIMEOUT" });
    expect(of.batcher.stats()).toMatchObject({ submitted: 1, failed: 1, completed: 0, batches: 1 });
    expect(of.batcher.inspect()).toEqual([]);
  });

  test("covers promises in the places too", async () => {
    const of = rig<string>({ handlerTimeoutMs: 100 });
    const settled = watch(of.batcher.submitSettled(["a", "b"]));
    await of.clock.settle();
    of.handler.calls[0]?.resolve(["A", new Promise(() => {}) as Promise<string>]);
    await of.clock.advance(100);
    expect(settled.value).toMatchObject([{ value: "A" }, { reason: { code: "HANDLER_TIMEOUT" } }]);
  });

  test("counts from the start of the batch, not from the submit", async () => {
    const of = rig<string>({ handlerTimeoutMs: 100, maxWaitMs: 80 });
    const result = watch(of.batcher.submit("a"));
    await of.clock.advance(80);
    await of.clock.advance(99);
    expect(result.state).toBe("pending");
    await of.clock.advance(1);
    expect(result.state).toBe("rejected");
  });

  test("leaves no timer behind when the handler answers in time", async () => {
    const of = rig<string>({ handlerTimeoutMs: 100 });
    void of.batcher.submit("a");
    await echo(of);
    expect(of.clock.timers).toBe(0);
  });
});
