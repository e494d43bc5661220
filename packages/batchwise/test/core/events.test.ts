import { describe, expect, test } from "vitest";
import { echo, echoAll, rig, thrownBy } from "../support.ts";

describe('on("batch")', () => {
  test("reports each batch when it has ended", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), cost: (item) => item.length });
    const seen: unknown[] = [];
    of.batcher.on("batch", (event) => void seen.push(event));
    await of.clock.advance(100);
    void of.batcher.submitMany(["ab", "abc"]);
    await of.clock.settle();
    expect(seen).toEqual([]);
    await of.clock.advance(30);
    await echo(of);
    expect(seen).toEqual([
      {
        id: of.handler.calls[0]?.context.id,
        key: "a",
        reason: "idle",
        size: 2,
        cost: 5,
        startedAt: 100,
        runMs: 30,
        predictedMs: null,
        waitMs: 0,
        error: undefined,
      },
    ]);
  });

  test("names the cap on cost if the queue is full, too", async () => {
    const of = rig<string>({ maxBatchSize: 8, maxQueueSize: 4, maxBatchCost: 4 });
    const reasons: unknown[] = [];
    of.batcher.on("batch", ({ reason }) => void reasons.push(reason));
    for (const item of "abcd") void of.batcher.submit(item);
    await of.clock.settle();
    await echo(of);
    expect(reasons).toEqual(["cost"]);
  });

  test("carries the error of a batch that failed", async () => {
    const of = rig<string>();
    const seen: unknown[] = [];
    of.batcher.on("batch", ({ error }) => void seen.push(error));
    of.batcher.submit("a").catch(() => {});
    await of.clock.settle();
    const failure = new Error("broken");
    of.handler.calls[0]?.reject(failure);
    await of.clock.settle();
    expect(seen).toEqual([failure]);
  });
});

describe('on("item")', () => {
  test("reports how each item ended and how long it took", async () => {
    const of = rig<string>({ maxQueueSize: 4, onFull: "reject" });
    const seen: unknown[] = [];
    of.batcher.on("item", (event) => void seen.push(event));
    const leave = new AbortController();
    void of.batcher.submitSettled(["a", "b"]);
    of.batcher.submit("c", { signal: leave.signal }).catch(() => {});
    of.batcher.submit("d", { timeoutMs: 10 }).catch(() => {});
    of.batcher.submit("e").catch(() => {});
    await of.clock.advance(5);
    leave.abort();
    await of.clock.advance(15);
    of.handler.calls[0]?.resolve(["A", new Error("b"), "C", "D"]);
    await of.clock.settle();
    expect(seen).toEqual([
      { outcome: "rejected", latencyMs: 0 },
      { outcome: "cancelled", latencyMs: 5 },
      { outcome: "expired", latencyMs: 10 },
      { outcome: "completed", latencyMs: 20 },
      { outcome: "failed", latencyMs: 20 },
    ]);
  });
});

test("an item of an earlier turn is counted and reported before one of a later turn in the same batch", async () => {
  const of = rig<string>();
  const seen: [string, number][] = [];
  of.batcher.on("item", ({ outcome }) => seen.push([outcome, of.batcher.stats().completed]));
  void of.batcher.submit("busy");
  await of.clock.advance(1);
  void of.batcher.submit("a");
  await of.clock.advance(1);
  of.batcher.submit("b").catch(() => {});
  await of.clock.advance(1);
  of.handler.calls[0]?.resolve(["BUSY"]);
  await of.clock.settle();
  of.handler.calls[1]?.resolve(["A", new Error("b")]);
  await of.clock.settle();
  expect(seen).toEqual([
    ["completed", 1],
    ["completed", 2],
    ["failed", 2],
  ]);
  expect(of.batcher.stats().latencyMs.max).toBe(3);
});

describe("a listener", () => {
  test("gets no events after its unsubscribe, and others still do", async () => {
    const of = rig<string>();
    let [one, two] = [0, 0];
    const stop = of.batcher.on("batch", () => {
      one += 1;
    });
    of.batcher.on("batch", () => {
      two += 1;
    });
    void of.batcher.submit("a");
    await echo(of);
    stop();
    stop();
    void of.batcher.submit("b");
    await echo(of);
    expect([one, two]).toEqual([1, 2]);
  });

  test("may be added twice and is then called twice, and each unsubscribe ends one", async () => {
    const of = rig<string>();
    let heard = 0;
    const listener = (): void => {
      heard += 1;
    };
    const stop = of.batcher.on("batch", listener);
    of.batcher.on("batch", listener);
    void of.batcher.submit("a");
    await echo(of);
    expect(heard).toBe(2);
    stop();
    void of.batcher.submit("b");
    await echo(of);
    expect(heard).toBe(3);
  });

  test.each<[how: string, listener: () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("listener");
      },
    ],
    ["rejects", () => Promise.reject(new Error("listener"))],
  ])("that %s affects no other listener and no caller, and causes a warning", async (_, listener) => {
    const of = rig<string>();
    const warnings: unknown[] = [];
    let heard = 0;
    of.batcher.on("batch", listener as () => void);
    of.batcher.on("item", listener as () => void);
    of.batcher.on("batch", () => {
      heard += 1;
    });
    of.batcher.on("warning", (warning) => void warnings.push(warning));
    const result = of.batcher.submit("a");
    await echoAll(of);
    expect(await result).toBe("a");
    expect(heard).toBe(1);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatchObject({ code: "LISTENER_FAILED", cause: new Error("listener") });
  });

  test("of warnings that throws does not get its own failure", async () => {
    const of = rig<string>();
    let warned = 0;
    of.batcher.on("batch", () => {
      throw new Error("listener");
    });
    of.batcher.on("warning", () => {
      warned += 1;
      throw new Error("again");
    });
    void of.batcher.submit("a");
    await echoAll(of);
    expect(warned).toBe(1);
  });

  test.each([undefined, null, "log"])("has to be a function: %s is refused", (listener) => {
    const error = thrownBy(() => rig().batcher.on("batch", listener as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("has to be of an event that exists", () => {
    const error = thrownBy(() => rig().batcher.on("done" as never, () => {}));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain("batch, item, warning");
  });
});
