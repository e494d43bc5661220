import { batcherOf } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { compiled } from "./compiled.ts";
import type * as Fixture from "./fixtures/batched-classes.ts";

/** The type of a function called without types. */
type Loose = (this: unknown, ...args: unknown[]) => Promise<unknown[]>;

describe.each(["standard", "legacy"] as const)("the batcher of a method with a %s decorator", (form) => {
  let fixture: typeof Fixture;
  beforeAll(async () => {
    fixture = await compiled<typeof Fixture>("batched-classes", form);
  });

  describe("shares the instance's batcher", () => {
    type Encoder = InstanceType<ReturnType<typeof Fixture.makeClasses>["Encoder"]>;
    /**
     * A proxy like those of state libraries: values read from it and returned by it are proxies
     * too.
     */
    const wrapped = (value: unknown): unknown => {
      if (typeof value !== "function" && (typeof value !== "object" || value === null)) return value;
      if (value instanceof Promise) return value;
      return new Proxy(value, {
        get: (of, key) => wrapped(Reflect.get(of, key)),
        apply: (of, self, args) => wrapped(Reflect.apply(of as Loose, self, args)),
      });
    };
    const bound = (of: object, value: unknown): unknown => (typeof value === "function" ? value.bind(of) : value);

    test.each<[string, (encoder: Encoder) => Encoder]>([
      ["a proxy without traps", (encoder) => new Proxy(encoder, {})],
      ["a proxy of a proxy", (encoder) => new Proxy(new Proxy(encoder, {}), {})],
      [
        "a proxy that reads from its target",
        (encoder) => new Proxy(encoder, { get: (of, key) => Reflect.get(of, key) }),
      ],
      ["an object that inherits from it", (encoder) => Object.create(encoder)],
      ["an object that inherits from such a one", (encoder) => Object.create(Object.create(encoder))],
      ["an object that inherits from a proxy", (encoder) => Object.create(new Proxy(encoder, {}))],
    ])("with %s", async (_, of) => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      const other = of(encoder);
      expect(await Promise.all([other.encode(["a"]), encoder.encode(["b"])])).toEqual([["a!"], ["b!"]]);
      expect(calls.map(({ items }) => items)).toEqual([["a", "b"]]);
      expect(batcherOf(other, "encode")).toBe(batcherOf(encoder, "encode"));
    });

    test.each<[string, (encoder: Encoder) => Encoder]>([
      [
        "a proxy that has nothing but reads of it",
        (of) => new Proxy({} as Encoder, { get: (_, key) => Reflect.get(of, key) }),
      ],
      ["a proxy that binds its methods", (of) => new Proxy(of, { get: (_, key) => bound(of, Reflect.get(of, key)) })],
      ["a proxy that wraps all that it hands out", (of) => wrapped(of) as Encoder],
    ])("with %s, once there is one", async (_, of) => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      const batcher = batcherOf(encoder, "encode");
      const other = of(encoder);
      await Promise.all([other.encode(["a"]), encoder.encode(["b"])]);
      expect(calls.map(({ items }) => items)).toEqual([["a", "b"]]);
      expect(batcherOf(other, "encode")).toBe(batcher);
    });

    test("with a proxy, which is `this` in the method where it makes the batcher: legacy, at the first call", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      const proxy = new Proxy(encoder, {});
      await proxy.encode(["a"]);
      await encoder.encode(["b"]);
      const self = form === "legacy" ? proxy : encoder;
      expect(calls.map((call) => call.self === self)).toEqual([true, true]);
    });

    test("but not with another instance of its class that is frozen", async () => {
      const { Frozen, calls } = fixture.makeClasses({});
      const [one, two] = [new Frozen(), new Frozen()];
      await Promise.all([one.encode(["a"]), one.encode(["b"]), two.encode(["c"]), Object.create(one).encode(["d"])]);
      expect(calls.map(({ self, items }) => [self === one, items])).toEqual([
        [true, ["a", "b", "d"]],
        [false, ["c"]],
      ]);
    });
  });

  describe("may be static", () => {
    test("and inherited: a subclass has a batcher of its own", async () => {
      const { Encoder, Child, calls } = fixture.makeClasses({});
      const answers = [Encoder.count(["a"]), Child.count(["bb"]), Encoder.count(["c"]), Child.count(["dd"])];
      expect(await Promise.all(answers)).toEqual([[1], [2], [1], [2]]);
      expect(calls.map(({ self, items }) => [self, items])).toEqual([
        [Encoder, ["a", "c"]],
        [Child, ["bb", "dd"]],
      ]);
      expect(batcherOf(Child, "count")).not.toBe(batcherOf(Encoder, "count"));
      expect(batcherOf(Child, "count").stats().completed).toBe(2);
    });

    test("and inherited over two steps, in any order of first use", () => {
      const { Encoder, Child } = fixture.makeClasses({});
      class Grandchild extends Child {}
      Object.freeze(Grandchild);
      const batchers = [Child, Grandchild, Encoder].map((of) => batcherOf(of, "count"));
      expect(new Set(batchers).size).toBe(3);
      expect([Child, Grandchild, Encoder].map((of) => batcherOf(of, "count"))).toEqual(batchers);
    });

    test("and is shared with a proxy of the class", async () => {
      const { Encoder, Child, calls } = fixture.makeClasses({});
      for (const of of [Encoder, Child]) {
        batcherOf(of, "count");
        await Promise.all([new Proxy(of, {}).count(["a"]), of.count(["b"])]);
      }
      expect(calls.map(({ items }) => items)).toEqual([
        ["a", "b"],
        ["a", "b"],
      ]);
    });
  });

  describe("under a subclass", () => {
    test("belongs to its instances", async () => {
      const { Child, calls } = fixture.makeClasses({});
      const child = new Child("?");
      expect(await Promise.all([child.encode(["a"]), child.encode(["b"])])).toEqual([["a?"], ["b?"]]);
      expect(calls.map(({ self }) => self)).toEqual([child]);
    });

    test("works when it is overridden and called: `batcherOf` finds it by its name", async () => {
      const { Loud } = fixture.makeClasses({});
      const loud = new Loud();
      expect(await Promise.all([loud.encode(["a"]), loud.encode(["b"], { priority: 1 })])).toEqual([["A!"], ["B!"]]);
      expect(batcherOf(loud, "encode").stats()).toMatchObject({ completed: 2, batches: 1 });
    });

    test("has a batcher beside that of a decorated override, which `batcherOf` gives", async () => {
      const { Twice, calls } = fixture.makeClasses({});
      const twice = new Twice();
      expect(await Promise.all([twice.encode(["a"]), twice.encode(["b"])])).toEqual([["<a>!"], ["<b>!"]]);
      expect(calls.map(({ items }) => items)).toEqual([
        ["a", "b"],
        ["<a>", "<b>"],
      ]);
      expect(batcherOf(twice, "encode").options.maxBatchSize).toBe(5);
    });

    test("takes the signal and the key of a batch whose context an override passes on, and not its cost", async () => {
      const { Passing, calls } = fixture.makePassing({ maxBatchCost: 8 });
      const passing = new Passing();
      const answers = [["a", "b"], ["c"], ["d"]].map((texts, key) =>
        passing.encode(texts, { key: String(key), cost: 3 }),
      );
      expect(await Promise.all(answers)).toEqual([["<a>!", "<b>!"], ["<c>!"], ["<d>!"]]);
      const batches = calls.map(({ items, context }) => [items.join(), context?.cost, context?.key]);
      expect(batches.slice(0, 2)).toEqual([
        ["a,b", 6, "0"],
        ["<a>,<b>", 2, "0"],
      ]);
      expect(batches.slice(2)).toEqual([
        ["c", 3, "1"],
        ["<c>", 1, "1"],
        ["d", 3, "2"],
        ["<d>", 1, "2"],
      ]);
    });

    test("drops items whose override has lost its callers, where that passes its context on", async () => {
      const clock = virtualClock();
      const { Passing, calls } = fixture.makePassing({ maxWaitMs: 50, clock });
      const abort = new AbortController();
      const answer = new Passing().encode(["a"], { signal: abort.signal });
      while (clock.timers === 0) await clock.settle();
      abort.abort(new Error("gone"));
      await expect(answer).rejects.toThrow("gone");
      await clock.advance(50);
      expect(calls.map(({ items }) => items)).toEqual([["a"]]);
    });
  });
});
