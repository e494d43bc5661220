import { describe, expect, test } from "vitest";
import { echo, echoAll, reasonOf, rig, watch } from "../support.ts";

describe("equal items", () => {
  test("share one place in a batch, and each caller gets the result", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    const results = of.batcher.submitMany(["a", "b", "a", "a"]);
    await echoAll(of);
    expect(await results).toEqual(["a", "b", "a", "a"]);
    expect(of.handler.batches).toEqual([["a", "b"]]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 4, completed: 4, deduped: 2 });
  });

  test("share it also while it runs", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    const first = of.batcher.submit("a");
    await of.clock.settle();
    const second = of.batcher.submit("a");
    await echoAll(of);
    expect([await first, await second]).toEqual(["a", "a"]);
    expect(of.handler.calls).toHaveLength(1);
  });

  test("are computed again once the first has been answered", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    void of.batcher.submit("a");
    await echoAll(of);
    void of.batcher.submit("a");
    await echoAll(of);
    expect(of.handler.calls).toHaveLength(2);
  });

  test("are computed again after a failure, which rejects all callers that shared it", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    const failure = new Error("broken");
    const settled = of.batcher.submitSettled(["a", "a"]);
    await of.clock.settle();
    of.handler.calls[0]?.reject(failure);
    expect(await settled).toEqual([
      { status: "rejected", reason: failure },
      { status: "rejected", reason: failure },
    ]);
    expect(of.batcher.stats()).toMatchObject({ failed: 2 });
    const again = of.batcher.submit("a");
    await echoAll(of);
    expect(await again).toBe("a");
  });

  test("go by the string of `dedupe`, not by identity", async () => {
    const of = rig<{ id: string; from: number }>({ dedupe: ({ id }) => id });
    const results = of.batcher.submitMany([
      { id: "x", from: 1 },
      { id: "x", from: 2 },
    ]);
    await echoAll(of);
    expect(await results).toEqual([
      { id: "x", from: 1 },
      { id: "x", from: 1 },
    ]);
  });

  test("are not equal under different keys", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    void of.batcher.submit("a", { key: "k1" });
    void of.batcher.submit("a", { key: "k2" });
    void of.batcher.submit("a");
    await echoAll(of);
    expect(of.handler.calls.map(({ context }) => context.key)).toEqual(["k1", "k2", undefined]);
  });

  test("do not meet by a clever choice of keys", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    void of.batcher.submit("b=c", { key: "a" });
    void of.batcher.submit("c", { key: "a=b" });
    void of.batcher.submit("1:a=b=c");
    await echoAll(of);
    expect(of.handler.calls).toHaveLength(3);
  });

  test("take one place in the queue", async () => {
    const of = rig<string>({ dedupe: (item) => item, maxQueueSize: 1, onFull: "reject" });
    const results = of.batcher.submitMany(["a", "a", "a"]);
    expect(of.batcher.stats().waiting).toBe(1);
    await echoAll(of);
    expect(await results).toEqual(["a", "a", "a"]);
  });
});

describe("callers that share a place", () => {
  test("cancel one by one: cancelling one does not cancel the other", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    const leave = new AbortController();
    const first = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    const second = of.batcher.submit("a");
    leave.abort(new Error("gone"));
    expect(await first).toEqual(new Error("gone"));
    await echoAll(of);
    expect(await second).toBe("a");
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, cancelled: 1, completed: 1 });
  });

  test("keep it running for the remaining one, and the handler's signal does not abort", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    const [one, two] = [new AbortController(), new AbortController()];
    const first = reasonOf(of.batcher.submit("a", { signal: one.signal }));
    const second = reasonOf(of.batcher.submit("a", { signal: two.signal }));
    await of.clock.settle();
    const signal = of.handler.calls[0]?.context.signal;
    one.abort(new Error("first"));
    expect(signal?.aborted).toBe(false);
    two.abort(new Error("second"));
    expect(signal?.aborted).toBe(true);
    expect([await first, await second]).toEqual([new Error("first"), new Error("second")]);
  });

  test("cancel it when the last one cancels: then it is not computed", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    const leave = new AbortController();
    const both = of.batcher.submitSettled(["a", "a"], { signal: leave.signal });
    leave.abort();
    await both;
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(0);
    expect(of.batcher.stats()).toMatchObject({ cancelled: 2, waiting: 0 });
  });

  test("are not joined by a caller that comes after all have gone: it gets its own place", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    const leave = new AbortController();
    const gone = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    await of.clock.settle();
    leave.abort(new Error("gone"));
    const late = of.batcher.submit("a");
    await echo(of);
    await echoAll(of);
    expect(await gone).toEqual(new Error("gone"));
    expect(await late).toBe("a");
    expect(of.handler.calls).toHaveLength(2);
  });

  test("have each their own deadline", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    const short = watch(of.batcher.submit("a", { timeoutMs: 10 }));
    const long = watch(of.batcher.submit("a", { timeoutMs: 100 }));
    await of.clock.advance(10);
    expect(short).toMatchObject({ state: "rejected", reason: { code: "DEADLINE_EXCEEDED" } });
    expect(long.state).toBe("pending");
    await echoAll(of);
    expect(long).toMatchObject({ state: "fulfilled", value: "a" });
  });

  test("have each their own latency", async () => {
    const of = rig<string>({ dedupe: (item) => item });
    void of.batcher.submit("a");
    await of.clock.advance(30);
    void of.batcher.submit("a");
    await of.clock.advance(10);
    await echoAll(of);
    const { latencyMs } = of.batcher.stats();
    expect(latencyMs.max).toBe(40);
    expect(latencyMs.p50).toBeGreaterThan(9);
    expect(latencyMs.p50).toBeLessThan(11);
  });

  test("send a held batch earlier when a new caller has an earlier deadline", async () => {
    const of = rig<string>({ dedupe: (item) => item, maxWaitMs: 1000 });
    void of.batcher.submit("a");
    await of.clock.advance(10);
    expect(of.handler.calls).toHaveLength(0);
    void of.batcher.submit("a", { timeoutMs: 50 });
    await of.clock.settle();
    expect(of.handler.calls[0]?.context.reason).toBe("deadline");
  });
});
