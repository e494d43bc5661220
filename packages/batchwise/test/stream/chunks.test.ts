import { runInNewContext } from "node:vm";
import { batchStream, DONE, SKIP } from "batchwise";
import { afterEach, describe, expect, test, vi } from "vitest";
import { all, fateOf, streamRig } from "./support.ts";

/** Streams to two callers; the first gets `place` between two chunks. */
async function around(place: unknown): Promise<{ chunks: unknown[]; error?: unknown }[]> {
  const stream = batchStream<string, unknown>(async function* () {
    yield ["before", "before"];
    yield [place, "between"];
    yield ["after", "after"];
  });
  return Promise.all([fateOf(stream("a")), fateOf(stream("b"))]);
}

const whole = { chunks: ["before", "between", "after"] };

function throws(): never {
  throw new Error("trap");
}

describe("a chunk that is a promise that rejects", () => {
  test("while its reader is busy causes no unhandled rejection; the reader gets it", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a");
    await clock.settle();
    call(0).yield(Promise.reject(new Error("chunk")));
    await clock.settle();
    call(0).yield(DONE);
    const { value } = await a.next();
    await expect(value).rejects.toThrow("chunk");
    expect(await a.next()).toEqual({ done: true, value: undefined });
  });

  test("of `submitMany` is the caller's when the stream has ended", async () => {
    const { stream, call, clock } = streamRig();
    const answer = stream.submitMany(["a"]);
    await clock.settle();
    call(0).yield(Promise.reject(new Error("chunk")));
    await clock.settle();
    call(0).yield(DONE);
    await expect((await answer)[0]?.[0]).rejects.toThrow("chunk");
  });
});

describe("a chunk", () => {
  const hostile = new Proxy({}, { get: throws });
  const alwaysEqual = { valueOf: () => DONE, toString: () => "DONE", equals: () => true };
  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["NaN", Number.NaN],
    ["negative zero", -0],
    ["false", false],
    ["an empty string", ""],
    ["a bigint", 0n],
    ["a symbol of the user's", Symbol("DONE")],
    ["a function", () => 1],
    ["an array", [DONE, SKIP]],
    ["an empty array", []],
    ["a typed array, as a numeric library would give", new Float32Array([1, 2])],
    ["an iterator result", { done: true, value: 1 }],
    ["an object that claims to be DONE", alwaysEqual],
    ["an object without a prototype", Object.create(null)],
    ["an object that throws whatever is read of it, its `then` too", hostile],
    ["an object with a message", { message: "no error" }],
  ])("may be anything, and is handed on as it is: %s", async (_, place) => {
    const [a, b] = await around(place);
    expect(Object.keys(a ?? {})).toEqual(["chunks"]);
    expect(a?.chunks).toHaveLength(3);
    expect(Object.is(a?.chunks[1], place)).toBe(true);
    expect(b).toEqual(whole);
  });

  test("may be an element of a numeric typed array", async () => {
    const stream = batchStream<number, number>(function* (items) {
      yield Int32Array.from(items) as never;
      yield new Float64Array(1) as never;
    });
    expect(await all(stream(7))).toEqual([7, 0]);
  });
});

describe("a place that fails only its caller", () => {
  const realm = runInNewContext("new TypeError('elsewhere')");
  const cause = new Error("trap");
  const trap = (): never => {
    throw cause;
  };
  test.each<[string, unknown, unknown]>([
    ["an Error", cause, cause],
    ["an Error of another realm", realm, realm],
    ["an AbortError", new DOMException("x", "AbortError"), undefined],
    ["a proxy whose prototype cannot be read", new Proxy({}, { getPrototypeOf: trap }), cause],
    ["a proxy whose keys cannot be read", new Proxy({}, { has: trap }), cause],
  ])("%s", async (_, place, error) => {
    const [a, b] = await around(place);
    expect(a?.chunks).toEqual(["before"]);
    expect(a?.error).toBe(error ?? place);
    expect(b).toEqual(whole);
  });

  test("a place that throws when it is read", async () => {
    const stream = batchStream<string, unknown>(function* () {
      const round: unknown[] = ["", "b"];
      Object.defineProperty(round, 0, { get: trap });
      yield round;
    });
    expect(await Promise.all([fateOf(stream("a")), fateOf(stream("b"))])).toEqual([
      { chunks: [], error: cause },
      { chunks: ["b"] },
    ]);
  });

  test("not of a caller who has ended: its place is ignored, whatever its value", async () => {
    const stream = batchStream<string, unknown>(function* () {
      yield [DONE, "b"];
      const round: unknown[] = ["", "b"];
      Object.defineProperty(round, 0, { get: trap });
      yield round;
    });
    expect(await Promise.all([fateOf(stream("a")), fateOf(stream("b"))])).toEqual([
      { chunks: [] },
      { chunks: ["b", "b"] },
    ]);
  });
});

describe("a promise as a chunk", () => {
  const fail = (): Promise<never> => Promise.reject(new Error("unheard"));

  test("is handed on as it is, not waited for", async () => {
    const promise = Promise.resolve(1);
    const stream = batchStream<string, unknown>(function* () {
      yield [promise];
    });
    expect((await stream("a").next()).value).toBe(promise);
  });

  test("causes no unhandled rejection without a recipient: its caller has ended, or cancels without reading", async () => {
    const stream = batchStream<string, unknown>(async function* () {
      yield [DONE, fail(), SKIP];
      yield [fail(), fail(), 1];
    });
    const [a, b, c] = [stream("a"), stream("b"), stream("c")];
    expect(await all(c)).toEqual([1]);
    await b.return?.();
    expect(await all(a)).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("DONE and SKIP of another copy of the package", () => {
  afterEach(() => vi.resetModules());

  test("work, and its errors are recognised by their code", async () => {
    vi.resetModules();
    const other = await import("batchwise");
    expect(other.batchStream).not.toBe(batchStream);
    const stream = batchStream<string, string>(function* (items) {
      yield items.map(() => other.SKIP);
      yield items;
      yield items.map(() => other.DONE);
      throw new Error("never reached");
    });
    expect(await stream.submitMany(["a", "b"])).toEqual([["a"], ["b"]]);
    const wrong = await fateOf(other.batchStream(() => [[]] as never)("a"));
    expect(wrong.error).toMatchObject({ code: "BATCH_RESULT" });
  });
});
