import { type BatchedCall, type Batcher, batched, batcherOf } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { reasonOf, thrownBy, watch } from "../support.ts";
import { compiled, type DecoratorForm } from "./compiled.ts";
import type * as Fixture from "./fixtures/batched-classes.ts";

const forms: readonly DecoratorForm[] = ["standard", "legacy"];

/** Stands for a method that is called without types. */
type Loose = (this: unknown, ...args: unknown[]) => Promise<unknown[]>;

describe.each(forms)("a method with a %s decorator", (form) => {
  let fixture: typeof Fixture;
  beforeAll(async () => {
    fixture = await compiled<typeof Fixture>("batched-classes", form);
  });

  describe("merges calls", () => {
    test("of one turn, and gives each caller its own part", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      const answers = [encoder.encode(["a", "b"]), encoder.encode([]), encoder.encode(["c"])];
      expect(await Promise.all(answers)).toEqual([["a!", "b!"], [], ["c!"]]);
      expect(calls.map(({ items }) => items)).toEqual([["a", "b", "c"]]);
    });

    test("without brackets and under a symbol as well", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      await Promise.all([encoder.bare(["a"]), encoder.bare(["b"])]);
      await Promise.all([encoder[fixture.shout](["c"]), encoder[fixture.shout](["d"])]);
      expect(calls.map(({ items }) => items)).toEqual([
        ["a", "b"],
        ["c", "d"],
      ]);
      expect(batcherOf(encoder, fixture.shout).stats().completed).toBe(2);
    });

    test("of one instance and of no other", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const [one, two] = [new Encoder("1"), new Encoder("2")];
      expect(await Promise.all([one.encode(["a"]), two.encode(["b"])])).toEqual([["a1"], ["b2"]]);
      expect(calls.map(({ self, items }) => [self, items])).toEqual([
        [one, ["a"]],
        [two, ["b"]],
      ]);
      batcherOf(one, "encode").configure({ maxBatchSize: 3 });
      expect(batcherOf(two, "encode").options.maxBatchSize).toBe(32);
    });

    test("and leaves the instance as it looks: no property that can be listed", async () => {
      const { Encoder } = fixture.makeClasses({});
      const encoder = new Encoder();
      await encoder.encode(["a"]);
      expect(Object.keys({ ...encoder })).toEqual(["suffix"]);
      expect(Object.getOwnPropertySymbols({ ...encoder })).toEqual([]);
      expect(encoder.encode.name).toBe("encode");
      expect(encoder[fixture.shout].name).toBe("[shout]");
    });
  });

  describe("takes submit options as the second argument of a call", () => {
    test("and shows the method the context of the batch in their place", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      await Promise.all([encoder.encode(["a"], { context: "first", priority: 2 }), encoder.encode(["b"])]);
      const { context } = calls[0] as Fixture.Call;
      expect(context).toMatchObject({ reason: "idle", cost: 2, requests: [{ context: "first", priority: 2 }, {}] });
      expect(context?.signal).toBeInstanceOf(AbortSignal);
    });

    test("`signal` takes that call's items out, and no other", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      const leave = new AbortController();
      const gone = encoder.encode(["a"], { signal: leave.signal });
      const stays = encoder.encode(["b"], undefined);
      leave.abort("left");
      expect([await reasonOf(gone), await stays]).toEqual(["left", ["b!"]]);
      expect(calls.map(({ items }) => items)).toEqual([["b"]]);
    });

    test("`priority`, `key` and `cost` decide on its batch, `timeoutMs` on its end", async () => {
      const clock = virtualClock();
      const { Encoder, calls } = fixture.makeClasses({ clock, maxBatchCost: 4 });
      const encoder = new Encoder();
      batcherOf(encoder, "encode").pause();
      const late = watch(encoder.encode(["late"], { timeoutMs: 5 }));
      await clock.advance(5);
      expect(late).toMatchObject({ state: "rejected", reason: { code: "DEADLINE_EXCEEDED" } });
      const answers = [
        encoder.encode(["cheap"]),
        encoder.encode(["dear"], { cost: 4 }),
        encoder.encode(["other"], { key: "b" }),
        encoder.encode(["urgent"], { priority: 1 }),
      ];
      batcherOf(encoder, "encode").resume();
      await Promise.all(answers);
      expect(calls.map(({ items }) => items).sort()).toEqual([["dear"], ["other"], ["urgent", "cheap"]]);
    });
  });

  describe("has its batcher under `batcherOf`", () => {
    test("always the same one, which counts its calls and changes its limits", async () => {
      const { Encoder, calls } = fixture.makeClasses({ maxBatchSize: 4 });
      const encoder = new Encoder();
      const batcher: Batcher<string, string> = batcherOf(encoder, "encode");
      expect(batcher.options.maxBatchSize).toBe(4);
      batcher.configure({ maxBatchSize: 2 });
      await encoder.encode(["a", "b", "c"]);
      expect(calls.map(({ items }) => items)).toEqual([["a", "b"], ["c"]]);
      expect(batcher.stats()).toMatchObject({ submitted: 3, completed: 3, batches: 2 });
      expect(batcherOf(encoder, "encode")).toBe(batcher);
      expect(await batcher.submit("one")).toBe("one!");
    });

    test("which holds calls back while it is paused, and refuses them once it is closed", async () => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder();
      batcherOf(encoder, "encode").pause();
      const answer = encoder.encode(["a"]);
      const closed = batcherOf(encoder, "encode").close();
      expect([await answer, await closed]).toEqual([["a!"], undefined]);
      expect(await reasonOf(encoder.encode(["b"]))).toMatchObject({ code: "CLOSED" });
      expect(calls.length).toBe(1);
    });

    test.each([
      ["a method that is not decorated", "plain"],
      ["a name that the object does not have", "encde"],
      ["a static method's name", "count"],
    ])("but not %s", (_, name) => {
      const { Encoder } = fixture.makeClasses({});
      const error = thrownBy(() => batcherOf(new Encoder(), name));
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining(`\`${name}\``) });
    });

    test.each([[null], [undefined], ["text"], [{}], [[]], [() => {}]])(
      "but nothing of a foreign object: %j",
      (object) => {
        expect(thrownBy(() => batcherOf(object as object, "encode"))).toMatchObject({ code: "INVALID_OPTION" });
      },
    );

    test("but nothing of the class's prototype, which is no instance", () => {
      const { Encoder } = fixture.makeClasses({});
      expect(thrownBy(() => batcherOf(Encoder.prototype, "encode"))).toMatchObject({ code: "INVALID_OPTION" });
    });
  });

  describe("shares the instance's batcher", () => {
    type Encoder = InstanceType<ReturnType<typeof Fixture.makeClasses>["Encoder"]>;
    /** As proxies of state libraries do: what is read and what functions return are proxies too. */
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

    test("and inherited over two steps, whichever class is asked first", () => {
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
  });

  describe("refuses", () => {
    test.each<[string, unknown]>([
      ["an object of no class", {}],
      ["an object that holds the method", { encode: 1 }],
      ["nothing", undefined],
      ["an instance of another class", new Map()],
    ])("to be called on %s", async (_, self) => {
      const { Encoder } = fixture.makeClasses({});
      const { encode } = new Encoder() as unknown as { encode: Loose };
      const error = await reasonOf(encode.call(self, ["a"]));
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({
        code: "INVALID_OPTION",
        message: "`encode` was called on an object it does not belong to",
      });
    });

    test("to be called on an instance of another class that has decorated methods, or on the prototype", async () => {
      const { Encoder } = fixture.makeClasses({});
      const other = new (fixture.makeClasses({}).Encoder)();
      const encode = new Encoder().encode as Loose;
      for (const self of [other, Encoder.prototype]) {
        expect(await reasonOf(encode.call(self, ["a"]))).toMatchObject({ code: "INVALID_OPTION" });
      }
    });

    test.each<[string, readonly unknown[]]>([
      ["more than two arguments", [["a"], {}, "more"]],
      ["a second argument that is no object", [["a"], "normalize"]],
      ["items that are no array", ["abc"]],
    ])("%s", async (_, args) => {
      const { Encoder, calls } = fixture.makeClasses({});
      const encoder = new Encoder() as unknown as { encode: Loose };
      const error = await reasonOf(encoder.encode(...args));
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ code: "INVALID_OPTION" });
      expect(calls).toEqual([]);
    });
  });
});

describe("what `batched` refuses when the class is defined", () => {
  const decorators: [string, (...args: unknown[]) => unknown][] = [
    ["@batched", batched as never],
    ["@batched()", batched() as never],
  ];

  describe.each(decorators)("%s", (_, decorator) => {
    const accessor = Object.getOwnPropertyDescriptor(Map.prototype, "size");
    const addInitializer = (): void => {};

    test.each<[string, readonly unknown[]]>([
      ["class", [class {}, { kind: "class", name: "A" }]],
      ["getter", [() => 1, { kind: "getter", name: "a" }]],
      ["setter", [() => 1, { kind: "setter", name: "a" }]],
      ["field", [undefined, { kind: "field", name: "a" }]],
      ["accessor", [{ get: () => 1 }, { kind: "accessor", name: "a" }]],
      ["class or function", [class {}]],
      ["getter or setter", [{}, "a", accessor]],
      ["field", [{}, "a", undefined]],
      ["field", [{}, "a", { value: 1 }]],
      ["parameter", [{}, "a", 0]],
    ])("a %s", (kind, args) => {
      const error = thrownBy(() => decorator(...args));
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringContaining(`Expected \`batched\` to decorate a method, got \`${kind}\``),
      });
    });

    test.each<[string, unknown]>([
      ["an async generator", async function* (_: unknown) {}],
      ["a generator", function* (_: unknown) {}],
      ["a method of three parameters", async (items: unknown, _call: unknown, _more: unknown) => items],
    ])("%s", (_, value) => {
      for (const args of [
        [value, { kind: "method", name: "chat", addInitializer }],
        [{}, "chat", { value }],
      ]) {
        const error = thrownBy(() => decorator(...args));
        expect(error).toBeInstanceOf(TypeError);
        expect(error).toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining("`chat`") });
      }
    });
  });

  test("options that are wrong", () => {
    expect(thrownBy(() => batched({ maxBatchSize: 0 }))).toMatchObject({ code: "INVALID_OPTION" });
    expect(thrownBy(() => batched({ maxBatchsize: 2 } as never))).toMatchObject({ code: "INVALID_OPTION" });
    expect(thrownBy(() => batched(7 as never))).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("and later changes of the options change nothing", () => {
    const options = { maxBatchSize: 4 };
    class Late {
      async encode(items: string[], _call?: BatchedCall): Promise<string[]> {
        return items;
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Late.prototype, "encode") as PropertyDescriptor;
    Object.defineProperty(Late.prototype, "encode", batched(options)(Late.prototype, "encode", descriptor));
    options.maxBatchSize = 0;
    expect(batcherOf(new Late(), "encode").options.maxBatchSize).toBe(4);
  });
});
