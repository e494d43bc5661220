// The function that `batch` returns: an ordinary function with a batcher's members, which can be
// collected.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type BatchFunction, batch, createBatcher, createTokenBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { thrownBy } from "../support.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const methods = [
  "submit",
  "submitMany",
  "map",
  "submitSettled",
  "ready",
  "open",
  "flush",
  "idle",
  "forget",
  "pause",
  "resume",
  "configure",
  "stats",
  "resetStats",
  "inspect",
  "on",
  "close",
  Symbol.asyncDispose,
] as const;
const properties = ["options", "closed"] as const;

const echo = (items: number[]): number[] => items;

test.each([
  ["createBatcher", () => createBatcher(echo)],
  ["createTokenBatcher", () => createTokenBatcher(echo)],
])("every method of an object that %s returned works when it is taken off", async (_name, make) => {
  const batcher = make();
  const named = methods.filter((name) => typeof name === "string");
  const taken = named.map((name) => [name, batcher[name] as (...args: unknown[]) => unknown] as const);
  for (const [name, method] of taken) {
    // Each may refuse its arguments with its own message.
    const answer = await Promise.resolve([])
      .then((items) => method(items))
      .catch(String);
    expect(String(answer), name).not.toMatch(/private member|Cannot read/);
  }
  expect(batcher.closed).toBe(true);
});

test("flush, idle, stats and close of createBatcher work when they are taken off", async () => {
  const { submit, flush, idle, stats, close, on, inspect } = createBatcher(echo, { maxWaitMs: Infinity });
  const sizes: number[] = [];
  on("batch", ({ size }) => void sizes.push(size));
  const answer = submit(1);
  await flush();
  await idle();
  expect([await answer, sizes, inspect(), stats().completed]).toEqual([1, [1], [], 1]);
  await close();
});

test("submit and submitMany of a batcher work through a Proxy", async () => {
  const batcher = createBatcher((items: string[]) => items);
  const proxy = new Proxy(batcher, {});
  expect([await proxy.submit("a"), await proxy.submitMany(["b"])]).toEqual(["a", ["b"]]);
  expect(await batcher.submit("c")).toBe("c");
});

describe("a function that batch() returned", () => {
  test.each(methods)("has its own %s, the same one each time", (name) => {
    const [one, two] = [batch(echo), batch(echo)];
    expect(one[name]).toBeTypeOf("function");
    expect(one[name]).toBe(one[name]);
    expect(one[name]).not.toBe(two[name]);
  });

  test("has members that work without it, each for its own batcher", async () => {
    const [one, two] = [batch(echo), batch(echo)];
    const { submit, submitMany, submitSettled, ready, open, flush, idle, stats, inspect, on, configure } = one;
    const { pause, resume, resetStats, close, [Symbol.asyncDispose]: dispose } = one;
    const seen: number[] = [];
    const stop = on("batch", ({ size }) => void seen.push(size));
    await Promise.all([ready(), open()]);
    configure({ maxBatchSize: 2 });
    pause();
    const answers = Promise.all([submit(1), submitMany([2]), submitSettled([3])]);
    resume();
    await flush();
    expect(await answers).toEqual([1, [2], [{ status: "fulfilled", value: 3 }]]);
    await idle();
    stop();
    expect([seen, inspect(), stats().completed]).toEqual([[2, 1], [], 3]);
    resetStats();
    expect(stats().completed).toBe(0);
    expect(dispose()).toBe(close());
    await close();
    expect([one.closed, two.closed, two.options.maxBatchSize]).toEqual([true, false, 32]);
    expect(await two(4)).toBe(4);
  });

  test("lists every member of a batcher, those of createBatcher() and no others", () => {
    const listed: string[] = [];
    for (const name in batch(echo)) listed.push(name);
    const expected = [...methods, ...properties].filter((name) => typeof name === "string");
    expect(listed.sort()).toEqual(expected.sort());
    const batcher = createBatcher(echo);
    for (const name of [...methods, ...properties]) expect(name in batcher).toBe(true);
  });

  test("is a function like any other: call, apply, bind, instanceof, length", async () => {
    const fn = batch(echo);
    expect(fn).toBeInstanceOf(Function);
    expect(fn.length).toBe(2);
    expect(fn.name).toBeTypeOf("string");
    expect(String(fn)).toContain("=>");
    const own = { fn };
    expect(await Promise.all([fn.call(null, 1), fn.apply(undefined, [2]), fn.bind(null, 3)(), own.fn(4)])).toEqual([
      1, 2, 3, 4,
    ]);
  });

  test.each([...methods, ...properties])("keeps its %s: it cannot be overwritten", (name) => {
    const fn = batch(echo);
    const before = fn[name];
    expect(thrownBy(() => Object.assign(fn, { [name]: 1 }))).toBeInstanceOf(TypeError);
    expect(fn[name]).toEqual(before);
    expect(thrownBy(() => Object.assign(fn, { [name]: 1 }))).toBeInstanceOf(TypeError);
  });

  test("has its members when it is frozen", async () => {
    const fn = Object.freeze(batch(echo));
    expect(await fn.submit(1)).toBe(1);
    expect(fn.stats().completed).toBe(1);
    await fn[Symbol.asyncDispose]();
    expect(fn.closed).toBe(true);
  });

  test("lends its members to an object that inherits from it", async () => {
    const child = Object.create(batch(echo)) as BatchFunction<number, number>;
    expect(await child.submit(1)).toBe(1);
    expect(child.stats().completed).toBe(1);
  });
});

describe("a batcher that is made and dropped", () => {
  /** Whether the subject of `make` has been collected, even if its options are still referenced. */
  async function isGone(make: () => object | Promise<object>): Promise<boolean> {
    const subject = new WeakRef(await make());
    for (let round = 0; round < 5; round += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
    }
    return subject.deref() === undefined;
  }

  const clock = virtualClock();
  const makers: Record<string, () => object | Promise<object>> = {
    "never used": () => batch(echo),
    "never used, as an object": () => createBatcher(echo),
    "never used, on a clock that lives on": () => batch(echo, { clock, maxWaitMs: 10, timeoutMs: 50 }),
    "after an answer": async () => {
      const fn = batch(echo);
      await fn(1);
      return fn;
    },
    "after answers with a signal, a deadline and a cache": async () => {
      const fn = batch(echo, { dedupe: String, cache: new Map<string, number>(), timeoutMs: 60_000 });
      const { signal } = new AbortController();
      await Promise.all([fn(1, { signal }), fn(1), fn.submitMany([2, 3])]);
      return fn;
    },
    "after a close": async () => {
      const fn = batch(echo);
      await fn(1);
      await fn.close();
      return fn;
    },
    "with a warning that nobody heard": () => batch(echo, { prefetch: 1 }),
  };

  test.each(Object.keys(makers))("keeps nothing in memory: %s", async (how) => {
    expect(await isGone(makers[how] as () => object)).toBe(true);
    expect(clock.timers).toBe(0);
  });

  test("keeps nothing in memory when a shared signal outlives it", async () => {
    const { signal } = new AbortController();
    const gone = await isGone(async () => {
      const fn = batch(echo);
      await fn(1, { signal });
      return fn;
    });
    expect([gone, signal.aborted]).toEqual([true, false]);
  });

  test("takes no timer, no call and no reading of its options until the first submit", () => {
    const calls: string[] = [];
    const note = (name: string) => (): never => {
      calls.push(name);
      throw new Error(name);
    };
    batch(echo, { clock, cost: note("cost"), key: note("key"), captureContext: note("context"), maxWaitMs: 5 });
    expect([calls, clock.timers]).toEqual([[], 0]);
  });
});
