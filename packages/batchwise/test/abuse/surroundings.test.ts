import { type BatchCache, type Clock, createBatcher } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echoAll, range, reasonOf, rig, thrownBy } from "../support.ts";
import { thenable, unreadable } from "./objects.ts";

const failure = new Error("of the user's own making");
const throwing = (): never => {
  throw failure;
};

/** A clock that can be set back; its timers continue. */
function reversible(): { clock: Clock; steady: VirtualClock; stepBack(ms: number): void } {
  const steady = virtualClock();
  let back = 0;
  const clock: Clock = {
    now: () => steady.now() - back,
    setTimeout: (callback, delayMs) => steady.setTimeout(callback, delayMs),
    clearTimeout: (handle) => steady.clearTimeout(handle),
  };
  return {
    clock,
    steady,
    stepBack(ms) {
      back += ms;
    },
  };
}

describe("a cache", () => {
  const caches: Record<string, () => BatchCache<number>> = {
    "throws in get": () => ({ get: throwing, set() {} }),
    "throws in set": () => ({ get: () => undefined, set: throwing }),
    "rejects in get": () => ({ get: () => Promise.reject(failure), set() {} }),
    "rejects in set": () => ({ get: () => undefined, set: () => Promise.reject(failure) }),
    "gets a thenable that throws": () => ({
      get: () => thenable(throwing) as never,
      set() {},
    }),
    "gets an object whose then throws": () => ({
      get: () => unreadable() as never,
      set() {},
    }),
  };

  test.each(Object.keys(caches))("that %s fails no caller", async (how) => {
    const batcher = createBatcher((items: number[]) => items, { dedupe: String, cache: caches[how]?.() });
    expect(await batcher.submitMany([1, 2, 1])).toEqual([1, 2, 1]);
    expect(batcher.stats()).toMatchObject({ submitted: 3, completed: 3, waiting: 0 });
    await batcher.close();
  });

  test("that submits to the same batcher while it is called is served", async () => {
    const inner: Promise<number>[] = [];
    const batcher = createBatcher((items: number[]) => items, {
      dedupe: String,
      cache: {
        get: (key) => {
          if (key === "1") inner.push(batcher.submit(2));
          return undefined;
        },
        set: (key) => {
          if (key === "1") inner.push(batcher.submit(3));
        },
      },
    });
    expect(await batcher.submit(1)).toBe(1);
    expect(await Promise.all(inner)).toEqual([2, 3]);
    await batcher.close();
  });
});

describe("a signal", () => {
  const whole = (): AbortSignal => new AbortController().signal;

  test.each([null, "stop", {}, { aborted: false }, () => {}])("that is none is refused: %s", async (signal) => {
    const error = await reasonOf(rig().batcher.submit("a", { signal: signal as never }));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("that accepts no listener rejects only that item, also under `dedupe`, and keeps no deadline", async () => {
    for (const options of [{}, { dedupe: String }]) {
      const of = rig<number>(options);
      const signal = Object.defineProperty(whole(), "addEventListener", { value: throwing });
      const wrong = reasonOf(of.batcher.submit(1, { signal, timeoutMs: 100 }));
      const right = of.batcher.submit(1);
      expect(await wrong).toBe(failure);
      await echoAll(of);
      expect(await right).toBe(1);
      expect(of.clock.timers).toBe(0);
      await of.clock.advance(200);
      expect(of.batcher.stats()).toMatchObject({ submitted: 2, completed: 1, failed: 1, expired: 0 });
    }
  });

  test("that cannot remove its listener fails no caller", async () => {
    const of = rig<number>();
    const signal = Object.defineProperty(whole(), "removeEventListener", { value: throwing });
    const results = of.batcher.submitMany(range(5), { signal });
    await echoAll(of);
    expect(await results).toEqual(range(5));
    await of.batcher.close();
  });

  test("that reports its abort only when it is read again is believed then", async () => {
    const of = rig<number>();
    const leave = new AbortController();
    const signal = new Proxy(leave.signal, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const left = reasonOf(of.batcher.submit(1, { signal }));
    leave.abort(failure);
    expect(await left).toBe(failure);
  });

  test("that aborts in the middle of the submit ends the item once", async () => {
    const of = rig<number>({
      cost: () => {
        leave.abort(failure);
        return 1;
      },
    });
    const leave = new AbortController();
    const result = reasonOf(of.batcher.submit(1, { signal: leave.signal }));
    await echoAll(of);
    expect(await result).toBe(failure);
    expect(of.handler.calls).toHaveLength(0);
    expect(of.batcher.stats()).toMatchObject({ submitted: 1, cancelled: 1, waiting: 0 });
  });
});

describe("a listener", () => {
  const listeners: Record<string, () => unknown> = {
    throws: throwing,
    rejects: () => Promise.reject(failure),
    "returns a thenable that throws": () => thenable(throwing),
    "returns an object whose then throws": () => unreadable(),
  };

  test.each(Object.keys(listeners))("that %s affects no other listener and no caller, on any event", async (how) => {
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject" });
    for (const event of ["batch", "item", "warning"] as const) of.batcher.on(event, listeners[how] as () => void);
    const settled = Promise.allSettled(range(3).map((item) => of.batcher.submit(item)));
    await echoAll(of);
    expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    await of.batcher.close();
  });
});

describe("chance and time", () => {
  test("from a `random` that returns nonsense still give each batch an id of its own", async () => {
    const ids = new Set<string>();
    const batcher = createBatcher(
      (items: number[], { id }) => {
        ids.add(id);
        return items;
      },
      { random: () => Number.NaN, maxBatchSize: 1 },
    );
    await batcher.submitMany([1, 2, 3]);
    expect(ids.size).toBe(3);
  });

  test("from a `random` that returns a promise which rejects give an id all the same", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const random = async (): Promise<never> => {
        throw failure;
      };
      const batcher = createBatcher((_items: number[], { id }) => [id], { random: random as never });
      expect(await batcher.submit(1)).toMatch(/-1$/);
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });

  test("from a `random` that throws fail where the batcher is made, not later", () => {
    expect(thrownBy(() => createBatcher((items: number[]) => items, { random: throwing }))).toBe(failure);
  });

  test("that run backwards lose no item and never make a wait or a latency negative", async () => {
    const { clock, steady, stepBack } = reversible();
    const batcher = createBatcher((items: number[]) => items, { clock, maxWaitMs: 20, timeoutMs: 10_000 });
    const first = batcher.submit(1);
    stepBack(500);
    const second = batcher.submit(2);
    await steady.advance(1_000);
    expect([await first, await second]).toEqual([1, 2]);
    const { latencyMs, waitMs, utilization } = batcher.stats();
    expect(latencyMs.p50).toBeGreaterThanOrEqual(0);
    expect(waitMs.p50).toBeGreaterThanOrEqual(0);
    expect(utilization).toBeLessThanOrEqual(1);
  });

  test("that run backwards within a turn make no wait of a batch negative", async () => {
    const { clock, stepBack } = reversible();
    const batcher = createBatcher((items: number[]) => items, { clock });
    const waits: number[] = [];
    batcher.on("batch", ({ waitMs }) => waits.push(waitMs));
    const answer = batcher.submit(1);
    stepBack(500);
    expect(await answer).toBe(1);
    expect(waits).toEqual([0]);
  });

  test("with timers that ring too early do not end a wait or a deadline early", async () => {
    const steady = virtualClock();
    const clock: Clock = {
      now: () => steady.now(),
      setTimeout: (callback, delayMs) => steady.setTimeout(callback, Math.ceil(delayMs * 0.7)),
      clearTimeout: (handle) => steady.clearTimeout(handle),
    };
    const seen: number[] = [];
    const batcher = createBatcher(
      (items: number[], { requests }) => {
        seen.push(...requests.map(({ waitedMs }) => waitedMs));
        return items;
      },
      { clock, maxWaitMs: 20 },
    );
    const result = batcher.submit(1);
    await steady.advance(50);
    await result;
    expect(seen[0]).toBeGreaterThanOrEqual(20);
  });
});
