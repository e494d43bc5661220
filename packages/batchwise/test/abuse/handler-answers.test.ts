import { runInNewContext } from "node:vm";
import { createBatcher } from "batchwise";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { range } from "../support.ts";
import { revoked, thenable, trapped, unreadable } from "./objects.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));
afterEach(async () => {
  await new Promise(setImmediate);
  expect(unhandled.splice(0)).toEqual([]);
});

type Answer = () => unknown;

const throwing = (): never => {
  throw new Error("read");
};

/** Wrong answers to three items: all callers must be rejected, and none may hang. */
const wrong: Record<string, Answer> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  "a number": () => 3,
  "a bigint": () => 3n,
  "a symbol": () => Symbol("three"),
  "a string of three": () => "abc",
  "a function": () => () => [1, 2, 3],
  "an object": () => ({ 0: 1, 1: 2, 2: 3, length: 3 }),
  "an object without a prototype": () => Object.create(null),
  "an object whose constructor throws": () => unreadable("constructor"),
  "an object whose constructor has a symbol for a name": () => ({ constructor: { name: Symbol("odd") } }),
  "a very long string": () => "x".repeat(10_000_000),
  "an iterator": () => [1, 2, 3].values(),
  "a generator": function* () {
    yield* [1, 2, 3];
  },
  "a set": () => new Set([1, 2, 3]),
  "a map": () => new Map([[1, 1]]),
  "a DataView": () => new DataView(new ArrayBuffer(3)),
  "an array too short": () => [1, 2],
  "an array too long": () => [1, 2, 3, 4],
  "a sparse array too long": () => new Array(2 ** 32 - 1),
  "a typed array too short": () => new Uint8Array(2),
  "a revoked proxy of an array": () => revoked([1, 2, 3]),
  "a proxy whose length throws": () => trapped("get", [1, 2, 3]),
  "a proxy without a prototype to ask for": () => trapped("getPrototypeOf", {}),
  "an error": () => new Error("returned, not thrown"),
  "an object whose then throws": () => unreadable(),
  "a thenable that throws": () => thenable(throwing),
  "a thenable that rejects": () => thenable((_, reject) => reject(new Error("no"))),
};

describe("an answer of the wrong kind", () => {
  test.each(Object.keys(wrong))("rejects each caller and nothing else: %s", async (name) => {
    for (const handler of [wrong[name] as Answer, async () => (wrong[name] as Answer)()]) {
      let calls = 0;
      const batcher = createBatcher((items: number[]) => {
        calls += 1;
        return calls === 1 ? (handler() as number[]) : items;
      });
      const settled = await batcher.submitSettled([1, 2, 3]);
      expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
      for (const one of settled) expect(String((one as PromiseRejectedResult).reason).length).toBeLessThan(300);
      expect(await batcher.submitMany([4, 5])).toEqual([4, 5]);
      expect(batcher.stats()).toMatchObject({ submitted: 5, failed: 3, completed: 2, running: 0 });
      await batcher.close();
    }
  });
});

/** Values of the second of three places, and the outcome of its caller. */
const places: Record<string, [place: () => unknown, outcome: "fulfilled" | "rejected"]> = {
  "a hole": [() => undefined, "fulfilled"],
  "an error": [() => new Error("place"), "rejected"],
  "an error of another realm": [() => runInNewContext("new RangeError('place')"), "rejected"],
  "an object that calls itself an error": [() => ({ [Symbol.toStringTag]: "Error", message: "place" }), "rejected"],
  "a DOMException": [() => new DOMException("place", "DataError"), "rejected"],
  "an object with a message": [() => ({ message: "no error" }), "fulfilled"],
  "a rejected promise": [() => Promise.reject(new Error("place")), "rejected"],
  "a promise of another realm": [() => runInNewContext("Promise.resolve(2)"), "fulfilled"],
  "an object whose then throws when read": [() => unreadable(), "rejected"],
  "a proxy that throws when asked what it is": [() => trapped("getPrototypeOf", {}), "rejected"],
  "a proxy that throws when read": [() => trapped("get", {}), "rejected"],
  "a revoked proxy": [() => revoked({}), "rejected"],
  "a promise of a proxy that throws": [() => Promise.resolve(trapped("getPrototypeOf", {})), "rejected"],
  "a promise whose constructor throws": [() => unreadable("constructor", Promise.resolve(2)), "rejected"],
  "a function": [() => () => 2, "fulfilled"],
};

describe("a place of the wrong kind", () => {
  test.each(Object.keys(places))("is its own caller's affair: %s", async (name) => {
    const [place, outcome] = places[name] as [() => unknown, string];
    const batcher = createBatcher((items: number[]) => items.map((item) => (item === 2 ? (place() as number) : item)));
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", outcome, "fulfilled"]);
    expect(batcher.stats()).toMatchObject({ submitted: 3, completed: outcome === "fulfilled" ? 3 : 2, running: 0 });
    await batcher.close();
  });

  test("is its own caller's affair when reading it throws", async () => {
    const batcher = createBatcher((items: number[]) => {
      const get = (target: number[], key: string | symbol): unknown => {
        if (key === "1") throw new Error("half-way");
        return Reflect.get(target, key);
      };
      return new Proxy(items, { get });
    });
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(batcher.stats()).toMatchObject({ completed: 2, failed: 1, running: 0 });
    await batcher.close();
  });
});

describe("an answer that comes more than once", () => {
  test("counts the first time", async () => {
    const batcher = createBatcher((items: number[]) => {
      const twice = thenable((resolve, reject) => {
        resolve([Promise.resolve(items[0]), 2]);
        resolve([3, 4]);
        reject(new Error("too late"));
        throw new Error("later still");
      });
      return twice as never;
    });
    expect(await batcher.submitMany([1, 2])).toEqual([1, 2]);
    expect(batcher.stats()).toMatchObject({ completed: 2, failed: 0, running: 0 });
    await batcher.close();
  });
});

describe("a handler that plays with its items", () => {
  const games: Record<string, (items: number[]) => void> = {
    empties: (items) => void items.splice(0),
    sorts: (items) => void items.sort((a, b) => b - a),
    reverses: (items) => void items.reverse(),
    fills: (items) => void items.fill(0),
    grows: (items) => void items.push(...range(50)),
    "cuts short": (items) => {
      items.length = 1;
    },
    freezes: (items) => void Object.freeze(items),
    "puts holes in": (items) => {
      delete items[1];
    },
  };

  test.each(Object.keys(games))("gets its callers no others' answers: one that %s them", async (name) => {
    for (const options of [{}, { retry: { attempts: 2 } }, { isolateFailures: true }]) {
      const handed: number[][] = [];
      const batcher = createBatcher(
        (items: number[]) => {
          const own = [...items];
          handed.push(own);
          (games[name] as (items: number[]) => void)(items);
          if (handed.length === 1) throw new Error("first");
          return own.map((item) => item * 10);
        },
        { maxBatchSize: 4, ...options },
      );
      const settled = await batcher.submitSettled(range(10));
      settled.forEach((one, item) => {
        if (one.status === "fulfilled") expect(one.value).toBe(item * 10);
        else expect(Object.keys(options)).toEqual([]);
      });
      expect(handed.flat().every((item) => item < 10)).toBe(true);
      await batcher.close();
    }
  });

  test("may answer with the very array it was given", async () => {
    const batcher = createBatcher((items: number[]) => items.sort((a, b) => b - a));
    expect(await batcher.submitMany([1, 2, 3])).toEqual([3, 2, 1]);
  });
});
