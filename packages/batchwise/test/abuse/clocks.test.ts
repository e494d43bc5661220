import { type BatchOptions, type Clock, createBatcher, createTokenBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { range, reasonOf, rig, watch } from "../support.ts";

const throwing = (): never => {
  throw new Error("no time");
};

/** Invalid readings of a clock. */
const readings: Readonly<Record<string, () => unknown>> = {
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  "-Infinity": () => Number.NEGATIVE_INFINITY,
  "the largest number": () => Number.MAX_VALUE,
  "the smallest number": () => -Number.MAX_VALUE,
  undefined: () => undefined,
  null: () => null,
  "a text": () => "5",
  "a bigint": () => 5n,
  "a symbol": () => Symbol("five"),
  "a date": () => new Date(0),
  "a promise": () => Promise.resolve(5),
  "an error thrown": throwing,
};

/** A virtual clock that reads wrongly at the readings that `isWrong` selects by number. */
function faulty(read: () => unknown, isWrong: (reading: number) => boolean) {
  const steady = virtualClock();
  let reading = 0;
  const clock: Clock = {
    now: () => {
      reading += 1;
      return isWrong(reading) ? (read() as number) : steady.now();
    },
    setTimeout: (callback, delayMs) => steady.setTimeout(callback, delayMs),
    clearTimeout: (handle) => steady.clearTimeout(handle),
  };
  return { clock, steady };
}

/** Single readings, and several in a row. */
const moments: readonly [string, (reading: number) => boolean][] = [
  ...range(24).map((at): [string, (reading: number) => boolean] => [`reading ${at + 1}`, (n) => n === at + 1]),
  ["every second reading", (reading) => reading % 2 === 0],
  ["every other reading", (reading) => reading % 2 === 1],
  ["two readings of three", (reading) => reading % 3 !== 0],
  ["all but the first", (reading) => reading > 1],
  ["every reading", () => true],
];

describe("a clock that returns invalid times", () => {
  afterEach(() => void vi.restoreAllMocks());

  test.each(Object.keys(readings))("ends all items, in time, whenever it does: %s", async (name) => {
    for (const [when, isWrong] of moments) {
      const { clock, steady } = faulty(readings[name] as () => unknown, isWrong);
      const options: BatchOptions<number, number> = {
        clock,
        maxWaitMs: 5,
        concurrency: 2,
        handlerTimeoutMs: 1_000,
        retry: { attempts: 2, backoffMs: 3 },
      };
      let calls = 0;
      const batcher = createBatcher<number, number>((items) => {
        calls += 1;
        if (calls === 1) throw new Error("once");
        return items.includes(0) ? new Promise<number[]>(() => {}) : items;
      }, options);
      const answered = watch(batcher.submit(1));
      const timed = watch(batcher.submit(2, { timeoutMs: 500 }));
      await steady.advance(200);
      expect([when, answered.state, timed.state]).toEqual([when, "fulfilled", "fulfilled"]);
      const expired = watch(batcher.submit(0, { timeoutMs: 50 }));
      const limited = watch(batcher.submit(0));
      await steady.advance(200);
      expect([when, expired.state, limited.state]).toEqual([when, "rejected", "pending"]);
      await steady.advance(4_000);
      expect([when, limited.state]).toEqual([when, "rejected"]);
      const { latencyMs, waitMs, utilization } = batcher.stats();
      for (const figure of [latencyMs.max, waitMs.max, utilization]) expect(Number.isFinite(figure)).toBe(true);
      await batcher.close();
      expect(steady.timers).toBe(0);
    }
  });

  test("holds no process when it is the platform's own: waits and deadlines end by their timers", async () => {
    vi.spyOn(performance, "now").mockReturnValue(Number.NaN);
    const batcher = createBatcher((items: number[]) => (items[0] === 0 ? new Promise<number[]>(() => {}) : items), {
      maxWaitMs: 2,
      concurrency: 2,
    });
    expect(await batcher.submit(1, { timeoutMs: 5_000 })).toBe(1);
    expect(await reasonOf(batcher.submit(0, { timeoutMs: 5 }))).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    await batcher.close({ drain: false });
  });

  test("continues where it stood when it reads time again, also far away", async () => {
    for (const jumpMs of [1e12, -1e12]) {
      const steady = virtualClock();
      let jumped = 0;
      const clock: Clock = {
        now: () => steady.now() + jumped,
        setTimeout: (callback, delayMs) => steady.setTimeout(callback, delayMs),
        clearTimeout: (handle) => steady.clearTimeout(handle),
      };
      const batcher = createBatcher((items: number[]) => items, { clock, maxWaitMs: 10 });
      const before = watch(batcher.submit(1));
      await steady.advance(1);
      jumped = jumpMs;
      const after = watch(batcher.submit(2));
      await steady.advance(20);
      jumped = 0;
      const last = watch(batcher.submit(3, { timeoutMs: 1_000 }));
      await steady.advance(20);
      expect([before.state, after.state, last.state]).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    }
  });
});

describe("options of times that change between two reads", () => {
  /** An object with a property that is valid at the first read and NaN afterwards. */
  const fickle = (name: string, good: number): object => {
    let reads = 0;
    return Object.defineProperty({}, name, {
      enumerable: true,
      get: () => {
        reads += 1;
        return reads === 1 ? good : Number.NaN;
      },
    });
  };

  test.each(["timeoutMs", "priority", "cost"])("are read once in a submit and in a call: %s", async (name) => {
    const of = rig<number>({ maxBatchCost: 100 });
    const one = watch(of.batcher.submit(1, fickle(name, 50)));
    const many = watch(of.batcher.submitMany(range(3), fickle(name, 30)));
    const settled = watch(of.batcher.submitSettled(range(3), fickle(name, 30)));
    await of.clock.advance(60);
    const expected = name === "timeoutMs" ? { code: "DEADLINE_EXCEEDED" } : undefined;
    expect(one.reason ?? {}).toMatchObject(expected ?? {});
    expect([one.state, many.state]).toEqual(name === "timeoutMs" ? ["rejected", "rejected"] : ["pending", "pending"]);
    expect(settled.state).toBe(name === "timeoutMs" ? "fulfilled" : "pending");
    expect(of.batcher.stats().failed).toBe(0);
  });

  test("are read once in a call for tokens", async () => {
    const clock = virtualClock();
    const batcher = createTokenBatcher((items: string[]) => items, { clock });
    expect(await batcher.submit("a", fickle("tokens", 5))).toBe("a");
    expect(await batcher.submitMany(["a", "b"], fickle("tokens", 5))).toEqual(["a", "b"]);
    expect(batcher.stats().averageBatchCost).toBe(7.5);
  });

  test("are the values that `configure` and `retry` checked", async () => {
    const of = rig<number>();
    of.batcher.configure(fickle("maxWaitMs", 20));
    expect(of.batcher.options.maxWaitMs).toBe(20);
    of.batcher.configure(fickle("preferredBatchSize", 2));
    of.batcher.configure({ maxBatchSize: 8 });
    expect(of.batcher.options.preferredBatchSize).toBe(2);
    for (const name of ["attempts", "backoffMs"]) {
      const retry = Object.defineProperties({ attempts: 2 }, Object.getOwnPropertyDescriptors(fickle(name, 2)));
      try {
        const { options } = rig<number>({ retry }).batcher;
        expect(options.retry?.[name as "attempts"]).not.toBeNaN();
      } catch (error) {
        expect(error).toMatchObject({ code: "INVALID_OPTION" });
      }
    }
  });

  test("are read of a prototype in a call as in a submit", async () => {
    class Hurry {
      get timeoutMs(): number {
        return 10;
      }
    }
    const of = rig<number>();
    const one = watch(of.batcher.submit(1, new Hurry()));
    const many = watch(of.batcher.submitMany([2], new Hurry()));
    await of.clock.advance(10);
    expect([one, many]).toMatchObject([
      { reason: { code: "DEADLINE_EXCEEDED" } },
      { reason: { code: "DEADLINE_EXCEEDED" } },
    ]);
  });

  test("fail all items of a call when reading them throws, and no other items", async () => {
    const of = rig<number>();
    const options = Object.defineProperty({}, "timeoutMs", { enumerable: true, get: throwing });
    const settled = await of.batcher.submitSettled([1, 2], options);
    expect(settled).toMatchObject([{ reason: new Error("no time") }, { reason: new Error("no time") }]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, failed: 2 });
  });

  test.each([Number.NaN, "5", 5n, {}, null])("are refused where they are no times: %s", async (timeoutMs) => {
    const of = rig<number>();
    const options = { timeoutMs: timeoutMs as number };
    expect(await reasonOf(of.batcher.submit(1, options))).toMatchObject({ code: "INVALID_OPTION" });
    expect(await reasonOf(of.batcher.submitMany([1], options))).toMatchObject({ code: "INVALID_OPTION" });
    for (const name of ["timeoutMs", "handlerTimeoutMs", "maxWaitMs", "priorityAgingMs"]) {
      expect(() => rig({ [name]: timeoutMs })).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    }
    expect(of.clock.timers).toBe(0);
  });
});
