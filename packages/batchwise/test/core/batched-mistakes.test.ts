import { type BatchedCall, batched, batcherOf } from "batchwise";
import { beforeAll, describe, expect, test } from "vitest";
import { reasonOf, thrownBy } from "../support.ts";
import { compiled } from "./compiled.ts";
import type * as Fixture from "./fixtures/batched-classes.ts";

/** The type of a method called without types. */
type Loose = (this: unknown, ...args: unknown[]) => Promise<unknown[]>;

describe.each(["standard", "legacy"] as const)("a method with a %s decorator", (form) => {
  let fixture: typeof Fixture;
  beforeAll(async () => {
    fixture = await compiled<typeof Fixture>("batched-classes", form);
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

describe("mistakes that `batched` refuses when the class is defined", () => {
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
