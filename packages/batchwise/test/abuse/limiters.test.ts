// Limiters other than `rateLimiter`: slow ones, which return promises, and broken ones. A broken
// limiter blocks no caller: it is called again after a second.

import { type LimiterAnswer, type LimiterClient, type RateLimiter, rateLimiter, type WarningEvent } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, type Rig, range, rig, watch } from "../support.ts";
import { thenable, unreadable } from "./objects.ts";

const failure = new Error("of the limiter's own making");
const throwing = (): never => {
  throw failure;
};

interface Limited extends Rig<number, number> {
  readonly warnings: WarningEvent[];
}

function limited(limiter: RateLimiter, of: Rig<number, number> = rig()): Limited {
  const made = rig<number>({ clock: of.clock, limiter, concurrency: 100, cost: (item) => item, maxBatchSize: 4 });
  const warnings: WarningEvent[] = [];
  made.batcher.on("warning", (warning) => warnings.push(warning));
  return { ...made, clock: of.clock, warnings };
}

const open: RateLimiter = {
  reserve: (_client, cost) => ({ granted: true, cost }),
  giveBack() {},
  withdraw() {},
  hold() {},
};

/** Returns a `rateLimiter`'s answers through promises, `delayMs` later. */
function remote(of: Rig<number, number>, delayMs: number, limits: Parameters<typeof rateLimiter>[0]): RateLimiter {
  const inner = rateLimiter({ ...limits, clock: of.clock });
  const later = <Value>(value: () => Value): Promise<Value> =>
    new Promise((resolve) => {
      of.clock.setTimeout(() => resolve(value()), delayMs);
    });
  return {
    reserve: (client, cost) => later(() => inner.reserve(client, cost) as LimiterAnswer),
    giveBack: (calls, cost) => inner.giveBack(calls, cost),
    withdraw: (client) => inner.withdraw(client),
    hold: (forMs) => inner.hold(forMs),
  };
}

describe("a limiter that answers with promises", () => {
  test("is waited for; no slot is taken meanwhile", async () => {
    const base = rig<number>();
    const of = limited(remote(base, 5, { callsPerMinute: 60_000 }), base);
    const answers = of.batcher.submitMany([1, 2]);
    await of.clock.advance(4);
    expect(of.batcher.stats()).toMatchObject({ waiting: 2, runningBatches: 0 });
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([[1, 2]]);
    await echoAll(of);
    expect(await answers).toEqual([1, 2]);
    expect(of.clock.timers).toBe(0);
    expect(of.warnings).toEqual([]);
  });

  test("gets one request at a time", async () => {
    let asked = 0;
    let most = 0;
    const of = limited({
      ...open,
      reserve: async (_client, cost) => {
        asked += 1;
        most = Math.max(most, asked);
        await null;
        asked -= 1;
        return { granted: true, cost };
      },
    });
    const answers = Promise.all(range(20).map((item) => of.batcher.submit(item)));
    for (const item of range(5)) void of.batcher.submit(item);
    await echoAll(of);
    await answers;
    expect(most).toBe(1);
  });

  test("that waits and calls back lets the batch grow, and keeps the limits", async () => {
    const base = rig<number>();
    const of = limited(remote(base, 3, { callsPerMinute: 60 }), base);
    for (const item of range(9)) {
      void of.batcher.submit(item);
      await of.clock.advance(100);
    }
    await of.clock.advance(200);
    expect(of.handler.batches).toEqual([[0], [1, 2, 3, 4]]);
  });

  test("gets back a grant that comes when nothing waits", async () => {
    const base = rig<number>();
    const given: [number, number][] = [];
    const of = limited(
      { ...remote(base, 5, { callsPerMinute: 60 }), giveBack: (calls, cost) => void given.push([calls, cost]) },
      base,
    );
    const leaving = new AbortController();
    of.batcher.submit(7, { signal: leaving.signal }).catch(() => {});
    await of.clock.settle();
    leaving.abort();
    await of.clock.advance(10);
    expect(given).toEqual([[1, 7]]);
    expect(of.handler.calls).toHaveLength(0);
  });

  test("gets a grant back that comes after close(), and warns of nothing then", async () => {
    const base = rig<number>();
    const given: [number, number][] = [];
    const of = limited(
      { ...remote(base, 5, { callsPerMinute: 60 }), giveBack: (calls, cost) => void given.push([calls, cost]) },
      base,
    );
    of.batcher.submit(7).catch(() => {});
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    await of.clock.advance(10);
    expect(given).toEqual([[1, 7]]);
    expect(of.clock.timers).toBe(0);
  });

  test("that fails after close() leaves no timer", async () => {
    const base = rig<number>();
    const of = limited(
      {
        ...open,
        reserve: () =>
          new Promise((_, reject) => {
            base.clock.setTimeout(() => reject(failure), 5);
          }),
      },
      base,
    );
    of.batcher.submit(7).catch(() => {});
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    await of.clock.advance(5);
    expect(of.clock.timers).toBe(0);
    expect(of.warnings).toEqual([]);
  });

  test("gets a new request for a retry that costs more than before", async () => {
    const base = rig<number>();
    const limiter = remote(base, 5, { costPerMinute: 60_000 });
    const of = rig<number>({
      clock: base.clock,
      limiter,
      concurrency: 2,
      cost: (item) => item,
      retry: { attempts: 2 },
    });
    const startedAt: number[] = [];
    void of.batcher.submit(900);
    await base.clock.advance(5);
    void of.batcher.submit(10);
    await base.clock.advance(1);
    of.handler.open[0]?.reject(new Error("again"));
    await base.clock.settle();
    while (base.clock.nextAt < Number.POSITIVE_INFINITY) {
      const calls = of.handler.calls.length;
      await base.clock.advance(base.clock.nextAt - base.clock.now());
      if (of.handler.calls.length > calls) startedAt.push(base.clock.now());
    }
    expect(of.handler.batches).toEqual([[900], [900], [10]]);
    expect(startedAt[0]).toBeGreaterThanOrEqual(805);
    expect(startedAt).toHaveLength(2);
  });

  test("gets no new request until it calls back, or the cost has changed", async () => {
    const asked: number[] = [];
    let waiting: LimiterClient | undefined;
    let isOpen = false;
    const of = limited({
      ...open,
      reserve: async (client, cost) => {
        asked.push(cost);
        waiting = client;
        return isOpen ? { granted: true, cost } : { granted: false };
      },
    });
    void of.batcher.submit(3);
    await of.clock.advance(5_000);
    expect(asked).toEqual([3]);
    void of.batcher.submit(4);
    await of.clock.advance(5_000);
    expect(asked).toEqual([3, 7]);
    waiting?.retry();
    await of.clock.advance(5_000);
    expect(asked).toEqual([3, 7, 7]);
    isOpen = true;
    waiting?.retry();
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[3, 4]]);
  });

  test("may call back before its answer has arrived", async () => {
    let asked = 0;
    const of = limited({
      ...open,
      reserve: async (client, cost) => {
        asked += 1;
        if (asked > 1) return { granted: true, cost };
        queueMicrotask(() => client.retry());
        for (let job = 0; job < 10; job += 1) await null;
        return { granted: false };
      },
    });
    const answer = of.batcher.submit(1);
    await echoAll(of);
    expect(await answer).toBe(1);
    expect(asked).toBe(2);
  });

  test("drains at close()", async () => {
    const base = rig<number>();
    const of = limited(remote(base, 5, { callsPerMinute: 600 }), base);
    const answers = of.batcher.submitMany(range(10));
    const closed = watch(of.batcher.close());
    for (const _ of range(60)) {
      await of.clock.advance(10);
      await echo(of);
    }
    expect(closed.state).toBe("fulfilled");
    expect(await answers).toEqual(range(10));
  });
});

type Reserve = (client: LimiterClient, cost: number) => unknown;

const broken: Record<string, Reserve> = {
  throws: throwing,
  rejects: () => Promise.reject(failure),
  "throws in `then`": () => thenable(throwing),
  "answers an object whose `then` cannot be read": () => unreadable(),
  "answers undefined": () => undefined,
  "answers null": () => null,
  "answers true": () => true,
  "answers a number": () => 5,
  "answers an empty object": () => ({}),
  "grants no cost": () => ({ granted: true }),
  "grants NaN": () => ({ granted: true, cost: Number.NaN }),
  "grants less than nothing": () => ({ granted: true, cost: -1 }),
  "grants a string": () => ({ granted: true, cost: "5" }),
  "says yes in words": () => ({ granted: "yes", cost: 5 }),
  "promises undefined": async () => undefined,
  "promises an empty object": async () => ({}),
  "promises NaN": async () => ({ granted: true, cost: Number.NaN }),
};

test.each([
  ["grants NaN", "Expected the limiter's `cost` to be a number >= 0, got `NaN` (number)"],
  ["says yes in words", "Expected the limiter's `granted` to be a boolean, got `yes` (string)"],
])("a limiter that %s gets an error with the expected and the actual value", async (name, message) => {
  const of = limited({ ...open, reserve: broken[name] as RateLimiter["reserve"] });
  of.batcher.submit(1).catch(() => {});
  await of.clock.settle();
  expect(of.warnings).toMatchObject([{ cause: { message } }]);
  await of.batcher.close({ drain: false });
});

describe.each(Object.entries(broken))("a limiter that %s", (_, answer) => {
  test("causes a warning and a new request in a second; no item is lost", async () => {
    let isBroken = true;
    const reserve: Reserve = (client, cost) => (isBroken ? answer(client, cost) : { granted: true, cost });
    const of = limited({ ...open, reserve: reserve as RateLimiter["reserve"] });
    const answers = of.batcher.submitMany([1, 2, 3]);
    await of.clock.advance(999);
    expect(of.handler.calls).toHaveLength(0);
    expect(of.warnings).toMatchObject([{ code: "LIMITER_FAILED" }]);
    await of.clock.advance(1_001);
    expect(of.warnings).toHaveLength(3);
    isBroken = false;
    void of.batcher.submit(4);
    await of.clock.advance(999);
    expect(of.handler.calls).toHaveLength(0);
    await of.clock.advance(1);
    await echoAll(of);
    expect(of.handler.batches).toEqual([[1, 2, 3, 4]]);
    expect(await answers).toEqual([1, 2, 3]);
    expect(of.clock.timers).toBe(0);
  });

  test("holds up neither deadlines nor close({ drain: false })", async () => {
    const of = limited({ ...open, reserve: answer as RateLimiter["reserve"] });
    const late = watch(of.batcher.submit(1, { timeoutMs: 100 }));
    const closed = watch(of.batcher.submit(2));
    await of.clock.advance(100);
    expect(late).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    await of.batcher.close({ drain: false });
    expect(closed).toMatchObject({ reason: { code: "CLOSED" } });
    expect(of.clock.timers).toBe(0);
  });
});

describe("a limiter whose other methods throw", () => {
  test("in giveBack fails no caller", async () => {
    const half = (_client: LimiterClient, cost: number): LimiterAnswer => ({ granted: true, cost: cost / 2 });
    const of = limited({ ...open, reserve: half, giveBack: throwing });
    const answers = of.batcher.submitMany(range(4));
    for (const _ of range(10)) {
      await of.clock.advance(1_000);
      await echo(of);
    }
    expect(await answers).toEqual(range(4));
    expect(of.warnings[0]).toMatchObject({ code: "LIMITER_FAILED", cause: failure });
    await of.batcher.close();
    expect(of.clock.timers).toBe(0);
  });

  test("in withdraw fails no caller", async () => {
    let isOpen = false;
    const reserve = (_client: LimiterClient, cost: number): LimiterAnswer =>
      isOpen ? { granted: true, cost } : { granted: false };
    const of = limited({ ...open, reserve, withdraw: throwing });
    const leaving = new AbortController();
    of.batcher.submit(1, { signal: leaving.signal }).catch(() => {});
    await of.clock.settle();
    leaving.abort();
    await of.clock.settle();
    expect(of.warnings).toMatchObject([{ code: "LIMITER_FAILED", cause: failure }]);
    isOpen = true;
    const answer = of.batcher.submit(2);
    await of.clock.advance(1_000);
    await echo(of);
    expect(await answer).toBe(2);
    await of.batcher.close();
    expect(of.clock.timers).toBe(0);
  });

  test("in hold costs the batch neither its retry nor the provider's wait", async () => {
    const base = rig<number>();
    const of = rig<number>({ clock: base.clock, limiter: { ...open, hold: throwing }, retry: { attempts: 2 } });
    const warnings: WarningEvent[] = [];
    of.batcher.on("warning", (warning) => warnings.push(warning));
    const answer = of.batcher.submit(1);
    await base.clock.settle();
    of.handler.open[0]?.reject(Object.assign(new Error("429"), { retryAfterMs: 3_000 }));
    await base.clock.advance(2_999);
    expect(of.handler.calls).toHaveLength(1);
    await base.clock.advance(1);
    expect(of.handler.calls).toHaveLength(2);
    of.handler.open[0]?.answer((item) => item);
    expect(await answer).toBe(1);
    expect(warnings).toMatchObject([{ code: "LIMITER_FAILED", cause: failure }]);
  });
});

describe("a limiter that calls back when it should not", () => {
  test("inside reserve, in place of an answer, blocks no caller", async () => {
    let asked = 0;
    const reserve = (client: LimiterClient, cost: number): LimiterAnswer => {
      asked += 1;
      if (asked > 3) return { granted: true, cost };
      client.retry();
      return { granted: false };
    };
    const of = limited({ ...open, reserve });
    const answer = of.batcher.submit(1);
    await echoAll(of);
    expect(await answer).toBe(1);
  });

  test("without a request, and after close(), changes nothing", async () => {
    let known: LimiterClient | undefined;
    const reserve = (client: LimiterClient, cost: number): LimiterAnswer => {
      known = client;
      return { granted: true, cost };
    };
    const of = limited({ ...open, reserve });
    void of.batcher.submit(1);
    await echoAll(of);
    known?.retry();
    await of.batcher.close();
    known?.retry();
    expect(of.handler.calls).toHaveLength(1);
    expect(of.clock.timers).toBe(0);
  });

  test("grants without end free calls, and more than requested", async () => {
    const of = limited({ ...open, reserve: () => ({ granted: true, cost: Number.POSITIVE_INFINITY }) });
    const answers = of.batcher.submitMany([0, 5, 0]);
    await echoAll(of);
    expect(await answers).toEqual([0, 5, 0]);
    expect(of.handler.batches).toEqual([[0, 5, 0]]);
  });
});
