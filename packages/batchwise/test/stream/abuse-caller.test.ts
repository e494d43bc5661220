import { batchStream, type SubmitOptions } from "batchwise";
import { describe, expect, test } from "vitest";
import { AbortSignals } from "../../src/core/submit/abort-signals.ts";
import { optionsFor, StreamSignal } from "../../src/stream/submission.ts";
import { range } from "../support.ts";
import { addsUp, all, chunk, ended, fateOf, read, streamRig } from "./support.ts";

const invalid = { code: "INVALID_OPTION" };

describe("reads of one stream at the same time", () => {
  test("get the chunks in the order in which they were made", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a");
    const reads = range(4).map(() => a.next());
    await clock.settle();
    for (const value of range(3)) {
      call(0).yield(value);
      await clock.settle();
    }
    call(0).finish();
    expect(await Promise.all(reads)).toEqual([chunk(0), chunk(1), chunk(2), ended]);
  });

  test("see an error once: the first gets it, for the others the stream has ended", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a");
    const reads = Promise.allSettled([a.next(), a.next(), a.next()]);
    await clock.settle();
    call(0).fail("boom");
    const end = { status: "fulfilled", value: ended };
    expect(await reads).toEqual([{ status: "rejected", reason: "boom" }, end, end]);
    expect(await a.next()).toEqual(ended);
  });

  test("after the end are answered, as often as they are made", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a");
    await clock.settle();
    call(0).finish();
    await clock.settle();
    expect(await Promise.all([a.next(), a.next()])).toEqual([ended, ended]);
  });

  test("by two loops share the chunks", async () => {
    const stream = batchStream<number, number>(function* () {
      for (const value of range(10)) yield [value];
    });
    const a = stream(1);
    const [one, two] = await Promise.all([all(a), all(a)]);
    expect([...one, ...two].sort((left, right) => left - right)).toEqual(range(10));
  });
});

describe("a stream without a reader", () => {
  test("and that fails brings no unhandled rejection, and its error waits for a reader", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a");
    await clock.settle();
    call(0).fail(new Error("unseen"));
    await clock.settle();
    await expect(a.next()).rejects.toThrow("unseen");
  });

  test("holds its batch once more than maxBufferedChunks wait for it", async () => {
    const { stream, call, clock } = streamRig({ maxBufferedChunks: 1 });
    stream("a");
    await clock.settle();
    call(0).yield(1);
    await clock.settle();
    call(0).yield(2);
    await clock.advance(1_000_000);
    expect(call(0).asked).toBe(2);
    expect(clock.timers).toBe(0);
  });
});

describe("submit options that are not valid", () => {
  const noSignal = {} as AbortSignal;
  const throwing = {
    get signal(): AbortSignal {
      throw new Error("trap");
    },
  };
  test.each<[string, SubmitOptions, unknown]>([
    ["a number (`items.map(stream)`)", 1 as never, invalid],
    ["null", null as never, invalid],
    ["an array", [] as never, invalid],
    ["a signal that is none", { signal: noSignal }, invalid],
    ["a signal that is a string", { signal: "abort" as never }, invalid],
    ["a priority that is no number", { priority: "high" as never }, invalid],
    ["a deadline that is no number", { timeoutMs: Number.NaN }, invalid],
    ["a key that is no string", { key: 7 as never }, invalid],
    ["a negative cost", { cost: -1 }, invalid],
    ["a getter that throws", throwing, { message: "trap" }],
  ])("fail the stream, and do not throw: %s", async (_, options, error) => {
    const { stream, calls, clock } = streamRig();
    const fate = await fateOf(stream("a", options));
    expect(fate).toMatchObject({ chunks: [], error });
    await clock.settle();
    expect(calls).toEqual([]);
    expect(stream.stats()).toMatchObject({ submitted: 1, failed: 1 });
    expect(addsUp(stream)).toBe(true);
  });

  test("are passed to the engine with the unknown names, for it to refuse them", () => {
    const given = { priority: 2, prioritty: 1 } as SubmitOptions;
    expect(
      optionsFor(given, new StreamSignal(), new AbortSignals({ inOneStep: (work) => work() }), null),
    ).toMatchObject(given);
  });

  test("fail with the same error as a plain submit", async () => {
    const { stream } = streamRig();
    const fate = await fateOf(stream("a", { signal: noSignal }));
    const message = "Expected `signal` to be an AbortSignal, got an object (Object)";
    expect(fate.error).toMatchObject({ name: "TypeError", message });
  });

  test("may be an object of a class", async () => {
    class Options {
      get priority(): number {
        return 5;
      }
    }
    const { stream, call, clock } = streamRig();
    read(stream("a", new Options()));
    await clock.settle();
    expect(call(0).context.requests[0]?.priority).toBe(5);
  });
});

describe("submitMany() and submitSettled()", () => {
  test("reject a value that is no array of items", async () => {
    const { stream } = streamRig();
    await expect(stream.submitMany("ab" as never)).rejects.toMatchObject(invalid);
    await expect(stream.submitSettled(undefined as never)).rejects.toMatchObject(invalid);
    expect(stream.stats().submitted).toBe(0);
  });

  test("give a place to every hole of a sparse array", async () => {
    const stream = batchStream<number | undefined, unknown>(function* (items) {
      yield items;
    });
    const sparse: number[] = [];
    sparse[1] = 5;
    expect(await stream.submitMany(sparse)).toEqual([[undefined], [5]]);
  });

  test("submit nothing where reading the items throws", async () => {
    const { stream } = streamRig();
    const items = new Proxy(["a", "b"], {
      get: (target, name) => {
        if (name === "1") throw new Error("trap");
        return Reflect.get(target, name);
      },
    });
    await expect(stream.submitMany(items)).rejects.toThrow("trap");
    expect(stream.stats().submitted).toBe(0);
  });

  test("take cost and priority as functions of the item; one that throws rejects only that item", async () => {
    const boom = new Error("boom");
    const { stream, call, clock } = streamRig();
    const settled = stream.submitSettled(["aa", "b", "cccc"], {
      cost: (item) => item.length,
      priority: (item) => {
        if (item === "b") throw boom;
        return item.length;
      },
    });
    await clock.settle();
    expect(call(0).items).toEqual(["cccc", "aa"]);
    expect(call(0).context.cost).toBe(6);
    expect(call(0).context.requests.map(({ priority }) => priority)).toEqual([4, 2]);
    call(0).finish();
    expect(await settled).toMatchObject([{ status: "fulfilled" }, { reason: boom }, { status: "fulfilled" }]);
    expect(stream.stats()).toMatchObject({ submitted: 3, completed: 2, failed: 1 });
  });

  test("refuse a function of the item that returns a promise, and handle its rejection", async () => {
    const { stream } = streamRig();
    const cost = (async () => Promise.reject(new Error("late"))) as never;
    await expect(stream.submitMany(["a"], { cost })).rejects.toMatchObject(invalid);
    await expect(all(stream("a", { cost }))).rejects.toMatchObject(invalid);
  });

  test("fail each item for options that are not valid", async () => {
    const { stream } = streamRig();
    const options = { signal: {} as AbortSignal };
    await expect(stream.submitMany(["a", "b"], options)).rejects.toMatchObject(invalid);
    const settled = await stream.submitSettled(["c"], options);
    expect(settled).toMatchObject([{ status: "rejected", reason: invalid }]);
    expect(stream.stats()).toMatchObject({ submitted: 3, failed: 3 });
  });
});
