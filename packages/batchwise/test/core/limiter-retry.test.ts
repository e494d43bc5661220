// Retries, halves and Retry-After with a limiter, on the virtual clock.

import { type BatchOptions, createBatcher, type RateLimiter, rateLimiter } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, type Rig, range, rig, watch } from "../support.ts";

/** A batcher with a limiter; an item is its own cost. Calls record their time and items. */
function limited(
  limits: { callsPerMinute?: number; costPerMinute?: number; burstMs?: number },
  options: BatchOptions<number, number>,
): Rig<number, number> & { limiter: ReturnType<typeof rateLimiter>; fail(error?: unknown): Promise<void> } {
  const clock = virtualClock();
  const limiter = rateLimiter({ ...limits, clock });
  const of = rig<number>({ clock, limiter, cost: (item) => item, concurrency: 100, ...options });
  const fail = async (error: unknown = new Error("again")): Promise<void> => {
    await clock.settle();
    for (const call of of.handler.open) call.reject(error);
    await clock.settle();
  };
  return { ...of, clock, limiter, fail };
}

/** Time until the next call of the handler. */
async function timeToNextCall(of: Rig<number, number>, limitMs = 200_000): Promise<number> {
  const { calls } = of.handler;
  const before = calls.length;
  const from = of.clock.now();
  await of.clock.settle();
  while (calls.length === before && of.clock.now() - from < limitMs && of.clock.nextAt < Number.POSITIVE_INFINITY) {
    await of.clock.advance(of.clock.nextAt - of.clock.now());
  }
  return of.clock.now() - from;
}

describe("a retry", () => {
  test("takes a call of the limit", async () => {
    const of = limited({ callsPerMinute: 60 }, { retry: { attempts: 3 } });
    const answer = of.batcher.submit(1);
    await of.fail();
    expect(of.handler.calls).toHaveLength(1);
    expect(await timeToNextCall(of)).toBe(1_000);
    await of.fail();
    expect(await timeToNextCall(of)).toBe(1_000);
    await echo(of);
    expect(await answer).toBe(1);
    expect(of.clock.timers).toBe(0);
  });

  test("keeps its grant where the limiter calls `retry` before it has answered", async () => {
    const returned: number[] = [];
    const limiter: RateLimiter = {
      reserve: async (client, cost) => {
        await null;
        client.retry();
        await null;
        return { granted: true, cost };
      },
      giveBack: (calls) => returned.push(calls),
      withdraw: () => {},
      hold: () => {},
    };
    const of = rig<number>({ limiter, retry: { attempts: 2 } });
    const answer = of.batcher.submit(1);
    await of.clock.settle();
    for (const call of of.handler.open) call.reject(new Error("again"));
    await of.clock.settle();
    await echo(of);
    expect([await answer, of.handler.calls.length, returned]).toEqual([1, 2, []]);
  });

  test("takes the cost of its batch", async () => {
    const of = limited({ costPerMinute: 60_000 }, { retry: { attempts: 2 } });
    void of.batcher.submitMany([500, 300]);
    await of.fail();
    expect(of.handler.calls).toHaveLength(1);
    expect(await timeToNextCall(of)).toBe(600);
    void of.batcher.submit(100);
    expect(await timeToNextCall(of)).toBe(100);
    expect(of.handler.batches).toEqual([[500, 300], [500, 300], [100]]);
  });

  test("takes the cost of the remaining items", async () => {
    const of = limited({ costPerMinute: 60_000 }, { retry: { attempts: 2 } });
    const leaving = new AbortController();
    of.batcher.submit(900, { signal: leaving.signal }).catch(() => {});
    void of.batcher.submit(100);
    await of.fail();
    leaving.abort();
    expect(await timeToNextCall(of)).toBe(100);
    expect(of.handler.batches).toEqual([[900, 100], [100]]);
  });

  test("of an item above a full bucket goes when the debt is paid, and makes a new debt", async () => {
    const of = limited({ costPerMinute: 60_000 }, { retry: { attempts: 2 } });
    void of.batcher.submit(3_000);
    await of.fail();
    expect(await timeToNextCall(of)).toBe(3_000);
    void of.batcher.submit(10);
    expect(await timeToNextCall(of)).toBe(2_010);
    expect(of.handler.batches).toEqual([[3_000], [3_000], [10]]);
  });

  test("goes before later items, also without a pause and when the bucket is full", async () => {
    const of = limited({ callsPerMinute: 60 }, { retry: { attempts: 2 }, maxBatchSize: 2, concurrency: 1 });
    void of.batcher.submitMany([1, 2, 3, 4]);
    await of.clock.advance(5_000);
    await of.fail();
    await of.clock.settle();
    expect(of.handler.batches).toEqual([
      [1, 2],
      [1, 2],
    ]);
    await of.clock.advance(5_000);
    await echoAll(of);
    expect(of.handler.batches).toEqual([
      [1, 2],
      [1, 2],
      [3, 4],
    ]);
  });

  test("that waits for the limiter holds no slot and counts as waiting", async () => {
    const of = limited({ callsPerMinute: 60 }, { retry: { attempts: 2 }, concurrency: 1 });
    void of.batcher.submitMany([1, 2]);
    await of.fail();
    expect(of.batcher.stats()).toMatchObject({ waiting: 2, running: 0, runningBatches: 0 });
    await timeToNextCall(of);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, running: 2, runningBatches: 1 });
  });

  test("`backoffMs` does not hold the limiter", async () => {
    const of = limited({ callsPerMinute: 120 }, { retry: { attempts: 2, backoffMs: 10_000 } });
    void of.batcher.submit(1);
    await of.fail();
    void of.batcher.submit(2);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[1], [2]]);
    expect(await timeToNextCall(of)).toBe(10_000);
    expect(of.handler.batches).toEqual([[1], [2], [1]]);
  });

  test("ends with its callers while it waits for the limiter", async () => {
    const of = limited({ callsPerMinute: 60 }, { retry: { attempts: 9 } });
    const leaving = new AbortController();
    of.batcher.submit(1, { signal: leaving.signal }).catch(() => {});
    const late = watch(of.batcher.submit(2, { timeoutMs: 200 }));
    await of.fail();
    leaving.abort();
    await of.clock.advance(200);
    expect(late).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    expect(of.clock.timers).toBe(0);
    await of.clock.advance(5_000);
    expect(of.handler.calls).toHaveLength(1);
  });

  test("is waited for by flush() and a draining close(), not by close({ drain: false })", async () => {
    const of = limited({ callsPerMinute: 60 }, { retry: { attempts: 9 } });
    const answer = of.batcher.submit(1);
    await of.fail();
    const flushed = watch(of.batcher.flush());
    const closed = watch(of.batcher.close());
    await of.clock.advance(999);
    expect([flushed.state, closed.state]).toEqual(["pending", "pending"]);
    await of.clock.advance(1);
    await echo(of);
    expect([flushed.state, closed.state]).toEqual(["fulfilled", "fulfilled"]);
    expect(await answer).toBe(1);

    const other = limited({ callsPerMinute: 60 }, { retry: { attempts: 9 } });
    const rejected = watch(other.batcher.submit(1));
    await other.fail();
    await other.batcher.close({ drain: false });
    expect(rejected).toMatchObject({ reason: { code: "CLOSED" } });
    expect(other.clock.timers).toBe(0);
  });
});

describe("halves of `isolateFailures`", () => {
  test("take a call and their cost each", async () => {
    const of = limited({ callsPerMinute: 60, costPerMinute: 60_000 }, { isolateFailures: true });
    const settled = of.batcher.submitSettled([1, 2, 3, 4]);
    await of.fail();
    expect(of.handler.batches).toEqual([[1, 2, 3, 4]]);
    for (const _ of range(4)) {
      expect(await timeToNextCall(of)).toBe(1_000);
      for (const call of of.handler.open) {
        if (call.items.includes(2)) call.reject(new Error("poison"));
        else call.answer((item) => item);
      }
    }
    expect(of.handler.batches).toEqual([[1, 2, 3, 4], [1, 2], [1], [2], [3, 4]]);
    expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(of.clock.timers).toBe(0);
  });

  test("go before later items", async () => {
    const of = limited({ callsPerMinute: 60 }, { isolateFailures: true, maxBatchSize: 2, concurrency: 1 });
    of.batcher.submitMany([1, 2, 3, 4]).catch(() => {});
    await of.clock.settle();
    await of.clock.advance(5_000);
    await of.fail();
    for (const _ of range(3)) {
      await of.clock.advance(1_000);
      await echo(of);
    }
    expect(of.handler.batches).toEqual([[1, 2], [1], [2], [3, 4]]);
  });

  test("whose callers have all left take no call", async () => {
    const of = limited({ callsPerMinute: 60 }, { isolateFailures: true });
    const leaving = new AbortController();
    of.batcher.submit(1, { signal: leaving.signal }).catch(() => {});
    void of.batcher.submit(2);
    await of.fail();
    leaving.abort();
    expect(await timeToNextCall(of)).toBe(1_000);
    expect(of.handler.batches).toEqual([[1, 2], [2]]);
  });
});

describe("a provider's Retry-After", () => {
  const withHeaders = (headers: Record<string, string>): Error => Object.assign(new Error("429"), { headers });

  test.each([
    ["in seconds", () => withHeaders({ "retry-after": "7" }), 7_000, 7_000],
    ["in milliseconds by a header", () => withHeaders({ "retry-after-ms": "2500" }), 2_500, 2_500],
    ["in milliseconds by the error", () => Object.assign(new Error("429"), { retryAfterMs: 3_250 }), 3_250, 3_250],
    ["as an HTTP date", () => withHeaders({ "retry-after": new Date(Date.now() + 9_000).toUTCString() }), 7_900, 9_000],
  ])("%s is waited for", async (_, error, least, most) => {
    const of = limited({ callsPerMinute: 600 }, { retry: { attempts: 2, backoffMs: 10 } });
    const answer = of.batcher.submit(1);
    await of.fail(error());
    const waited = await timeToNextCall(of);
    expect(waited).toBeGreaterThanOrEqual(least);
    expect(waited).toBeLessThanOrEqual(most);
    await echo(of);
    expect(await answer).toBe(1);
  });

  test("holds all slots of the batcher, and all batchers that share the limiter", async () => {
    const of = limited({ callsPerMinute: 6_000 }, { retry: { attempts: 2 } });
    const seen: [number, number][] = [];
    const other = createBatcher(
      (items: number[]) => {
        for (const item of items) seen.push([item, of.clock.now()]);
        return items;
      },
      { clock: of.clock, limiter: of.limiter },
    );
    void of.batcher.submit(1);
    await of.fail(withHeaders({ "retry-after": "5" }));
    void of.batcher.submit(2);
    await of.clock.settle();
    void other.submit(3);
    await of.clock.advance(4_999);
    expect(of.handler.batches).toEqual([[1]]);
    expect(seen).toEqual([]);
    await of.clock.advance(1);
    await echoAll(of);
    await of.clock.advance(100);
    await echoAll(of);
    expect(of.handler.batches.flat().toSorted()).toEqual([1, 1, 2]);
    expect(seen.map(([item]) => item)).toEqual([3]);
  });

  test("holds the limiter where the batch is not tried again, too", async () => {
    for (const options of [{}, { retry: { attempts: 2, when: () => false } }, { retry: { attempts: 1 } }]) {
      const of = limited({ callsPerMinute: 6_000 }, options);
      of.batcher.submit(1).catch(() => {});
      await of.fail(withHeaders({ "retry-after": "5" }));
      void of.batcher.submit(2);
      expect(await timeToNextCall(of)).toBe(5_000);
    }
  });

  test("of the answer that comes last wins where it ends later, and not where it ends earlier", async () => {
    const of = limited({ callsPerMinute: 6_000 }, { maxBatchSize: 1 });
    of.batcher.submitSettled([1, 2, 3]);
    await of.clock.advance(100);
    const [first, second, third] = of.handler.open;
    first?.reject(withHeaders({ "retry-after": "2" }));
    second?.reject(withHeaders({ "retry-after": "6" }));
    await of.clock.advance(1_000);
    third?.reject(withHeaders({ "retry-after": "1" }));
    await of.clock.settle();
    void of.batcher.submit(4);
    expect(await timeToNextCall(of)).toBe(5_000);
  });

  test("of `backoffMs` or of the header, the longer one counts for the batch", async () => {
    const of = limited({ callsPerMinute: 6_000 }, { retry: { attempts: 2, backoffMs: 8_000 } });
    void of.batcher.submit(1);
    await of.fail(withHeaders({ "retry-after": "2" }));
    void of.batcher.submit(2);
    expect(await timeToNextCall(of)).toBe(2_000);
    expect(await timeToNextCall(of)).toBe(6_000);
    expect(of.handler.batches).toEqual([[1], [2], [1]]);
  });

  test("does not hold up deadlines, cancels and close({ drain: false })", async () => {
    const of = limited({ callsPerMinute: 6_000 }, { retry: { attempts: 2 } });
    const late = watch(of.batcher.submit(1, { timeoutMs: 500 }));
    await of.fail(withHeaders({ "retry-after": "60" }));
    const closed = watch(of.batcher.submit(2));
    await of.clock.advance(500);
    expect(late).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    await of.batcher.close({ drain: false });
    expect(closed).toMatchObject({ reason: { code: "CLOSED" } });
    expect(of.clock.timers).toBe(0);
  });

  test("without a limiter lengthens the wait of its own batch only", async () => {
    const clock: VirtualClock = virtualClock();
    const of = { ...rig<number>({ clock, concurrency: 2, retry: { attempts: 2 } }), clock };
    void of.batcher.submit(1);
    await clock.settle();
    of.handler.open[0]?.reject(withHeaders({ "retry-after": "5" }));
    await clock.settle();
    void of.batcher.submit(2);
    await clock.settle();
    expect(of.handler.batches).toEqual([[1], [2]]);
    expect(await timeToNextCall(of)).toBe(5_000);
  });
});
