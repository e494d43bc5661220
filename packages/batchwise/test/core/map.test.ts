import { type BatchOptions, batch, createBatcher, createTokenBatcher, type MapOptions } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, gate, type Rig, range, reasonOf, rig, thrownBy, watch } from "../support.ts";

interface Watched extends AsyncIterable<number> {
  /** Number of items taken. */
  taken: number;
  /** Calls of `return`. */
  closed: number;
}

/** A source of `count` items that counts the taken ones. */
function watched(count: number): Watched {
  const source: Watched = {
    taken: 0,
    closed: 0,
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        if (source.taken === count) return { done: true, value: undefined };
        source.taken += 1;
        return { done: false, value: source.taken - 1 };
      },
      return: async () => {
        source.closed += 1;
        return { done: true, value: undefined };
      },
    }),
  };
  return source;
}

/** Reads all results while every call is answered with its own items. */
async function readAll<Value>(of: Rig<number, number>, results: AsyncIterable<Value>): Promise<Value[]> {
  const read: Value[] = [];
  const reading = (async () => {
    for await (const value of results) read.push(value);
  })();
  const fate = watch(reading);
  while (fate.state === "pending") await echo(of);
  await reading;
  return read;
}

function limited(options: BatchOptions<number, number> = {}): Rig<number, number> {
  return rig<number>({ maxBatchSize: 4, ...options });
}

describe("map", () => {
  test("gives the results in the order of the source, in full batches", async () => {
    const of = limited();
    expect(await readAll(of, of.batcher.map(watched(10)))).toEqual(range(10));
    expect(of.handler.batches.slice(0, 2)).toEqual([range(4), [4, 5, 6, 7]]);
  });

  test("takes arrays, generators, sets, and promises of items", async () => {
    const of = limited();
    const generator = function* (): Iterable<number> {
      yield* range(5);
    };
    const sources = [range(5), generator(), new Set(range(5)), range(5).map((item) => Promise.resolve(item))];
    for (const source of sources) expect(await readAll(of, of.batcher.map(source))).toEqual(range(5));
    expect(await readAll(of, of.batcher.map([]))).toEqual([]);
  });

  test("takes nothing before the first read, then always `maxPending` items ahead of the reader", async () => {
    const of = limited({ concurrency: 10 });
    const source = watched(100);
    const results = of.batcher.map(source, { maxPending: 6 });
    await of.clock.settle();
    expect(source.taken).toBe(0);
    for (const read of range(20)) {
      const next = watch(results.next());
      await echoAll(of);
      expect(next).toMatchObject({ state: "fulfilled", value: { value: read } });
      expect(source.taken).toBe(read + 7);
    }
    await results.return?.();
  });

  test.each([
    [{}, 8],
    [{ concurrency: 3 }, 24],
    [{ concurrency: Number.POSITIVE_INFINITY }, 10_000],
    [{ concurrency: 3, maxQueueSize: 5 }, 5],
  ])("has two rounds of batches under way by default: %o gives %i", async (options, most) => {
    const of = limited(options);
    const source = watched(20_000);
    const results = of.batcher.map(source);
    const first = results.next();
    await of.clock.settle();
    expect(source.taken).toBe(most);
    await echo(of);
    await first;
    await results.return?.();
  });

  test("gives each result as soon as it is there with `ordered: false`", async () => {
    const of = limited({ maxBatchSize: 1, concurrency: 3 });
    const results = of.batcher.map(range(3), { ordered: false });
    const first = results.next();
    await of.clock.settle();
    of.handler.calls[2]?.answer((item) => item);
    expect(await first).toEqual({ done: false, value: 2 });
    expect(await readAll(of, results)).toEqual([0, 1]);
  });

  test("answers reads that overlap one after the other, and all that come after the end with the end", async () => {
    const of = limited();
    const results = of.batcher.map(range(3));
    const reads = Promise.all(range(6).map(() => results.next()));
    await echoAll(of);
    const end = { done: true, value: undefined };
    expect(await reads).toEqual([...range(3).map((value) => ({ done: false, value })), end, end, end]);
    expect(await results.next()).toEqual(end);
  });

  test("answers reads in their order at its end: the error first, the end to all others", async () => {
    const reasons = { "a signal": "stopped", "the source": "broken" };
    for (const [by, reason] of Object.entries(reasons)) {
      const of = limited();
      const stop = new AbortController();
      const ask = gate();
      const next = (): Promise<never> => ask.promise.then(() => Promise.reject(reason));
      const source: AsyncIterable<number> = { [Symbol.asyncIterator]: () => ({ next }) };
      const results = of.batcher.map(source, { signal: stop.signal });
      const order: unknown[] = [];
      for (const read of range(3)) {
        results.next().then(
          () => order.push(read),
          (error: unknown) => order.push(error),
        );
      }
      if (by === "a signal") stop.abort(reason);
      else ask.open();
      await of.clock.settle();
      expect(order, by).toEqual([reason, 1, 2]);
    }
  });

  test("passes the options of a submit on, with functions of an item", async () => {
    const of = limited({ maxBatchCost: 100 });
    const priority = (item: number): number => item;
    const cost = (item: number): number => item + 1;
    await readAll(of, of.batcher.map(range(4), { priority, cost, key: "k", context: "c", timeoutMs: 5_000 }));
    const [call] = of.handler.calls;
    expect(call?.items).toEqual([3, 2, 1, 0]);
    expect(call?.context).toMatchObject({ key: "k", cost: 10, requests: [{ context: "c", priority: 3 }, {}, {}, {}] });
  });

  test("is on token batchers, in tokens, and on the functions of `batch`, also taken off them", async () => {
    const costs: number[] = [];
    const tokens = createTokenBatcher<string, string>((texts, context) => {
      costs.push(context.cost);
      return texts;
    });
    const texts = ["a", "b"];
    for await (const text of tokens.map(texts, { tokens: 7 })) expect(text).toBe(texts.shift() as never);
    expect(costs).toEqual([14]);
    const { map } = batch((items: number[]) => items.map((item) => item * 2));
    const doubled: number[] = [];
    for await (const value of map([1, 2])) doubled.push(value);
    expect(doubled).toEqual([2, 4]);
  });
});

describe("a full queue", () => {
  test.each(["wait", "reject", "drop-oldest"] as const)("is waited for: %s", async (onFull) => {
    const of = limited({ onFull, maxQueueSize: 5 });
    const own = of.batcher.submitSettled(range(5));
    const results = readAll(of, of.batcher.map(range(50), { maxPending: 20 }));
    await of.clock.settle();
    const others = of.batcher.submitSettled([70, 71]);
    expect(await results).toEqual(range(50));
    await echoAll(of);
    await Promise.all([own, others]);
  });

  test("lets an item that was refused during its look-up come again", async () => {
    const of = limited({
      onFull: "reject",
      maxQueueSize: 2,
      dedupe: String,
      cache: { get: async () => undefined, set: () => {} },
    });
    expect(await readAll(of, of.batcher.map(range(30), { maxPending: 20 }))).toEqual(range(30));
  });

  test("of another batcher, below the handler, is a failure like any other", async () => {
    let calls = 0;
    const inner = createBatcher((items: number[]) => items, { onFull: "reject", maxQueueSize: 1 });
    inner.pause();
    void inner.submit(1);
    const outer = createBatcher(async (items: number[]) => {
      calls += 1;
      return Promise.all(items.map((item) => inner.submit(item)));
    });
    expect(await reasonOf(outer.map([1]).next())).toMatchObject({ code: "QUEUE_FULL" });
    expect(calls).toBe(1);
    inner.resume();
  });
});

describe("a failure", () => {
  const failing = (options: BatchOptions<number, number> = {}): Rig<number, number> =>
    limited({ maxBatchSize: 2, concurrency: 2, ...options });

  test("ends the iteration after the results before it, cancels the others and closes the source", async () => {
    const of = failing();
    const source = watched(100);
    const results = of.batcher.map(source);
    const reads = range(4).map(() => watch(results.next()));
    await of.clock.settle();
    of.handler.calls[1]?.answer((item) => (item === 3 ? new Error("no 3") : item) as number);
    await of.clock.settle();
    expect(reads.map(({ state }) => state)).toEqual(range(4).map(() => "pending"));
    of.handler.calls[0]?.answer((item) => item);
    await of.clock.settle();
    expect(reads.map(({ state }) => state)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected"]);
    expect(reads[3]).toMatchObject({ reason: { message: "no 3" } });
    expect(await results.next()).toEqual({ done: true, value: undefined });
    await echoAll(of);
    const { waiting, running } = of.batcher.stats();
    expect([waiting, running, source.closed]).toEqual([0, 0, 1]);
    expect(source.taken).toBeLessThanOrEqual(8);
  });

  test("is an entry with `settled`, and the iteration continues", async () => {
    const of = limited({ maxBatchCost: 10, cost: (item) => item });
    const entries = await readAll(of, of.batcher.map([1, 11, 2], { settled: true }));
    expect(entries).toMatchObject([
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: { code: "ITEM_TOO_LARGE" } },
      { status: "fulfilled", value: 2 },
    ]);
  });

  test("of the source ends the iteration after the results of its earlier items", async () => {
    const of = limited();
    const broken = function* (): Iterable<number> {
      yield* range(3);
      throw new Error("no more rows");
    };
    const results = of.batcher.map(broken(), { settled: true });
    const reads = range(4).map(() => watch(results.next()));
    await echoAll(of);
    expect(reads.slice(0, 3).map(({ value }) => value?.value)).toMatchObject(range(3).map((value) => ({ value })));
    expect(reads[3]).toMatchObject({ state: "rejected", reason: { message: "no more rows" } });
  });

  test("of a promise in a plain source closes the source", async () => {
    let closed = 0;
    const source = (function* () {
      try {
        yield Promise.resolve(1);
        yield Promise.reject<number>(new Error("lost row"));
      } finally {
        closed += 1;
      }
    })();
    const of = limited();
    expect(await reasonOf(readAll(of, of.batcher.map(source)))).toMatchObject({ message: "lost row" });
    expect(closed).toBe(1);
  });

  test("is CLOSED once the batcher closes: items already taken are answered first, and no more are taken", async () => {
    const of = limited();
    const source = watched(1_000);
    const results = of.batcher.map(source, { settled: true });
    const first = results.next();
    await of.clock.settle();
    void of.batcher.close();
    await echoAll(of);
    expect(await first).toMatchObject({ value: { value: 0 } });
    for (let read = 1; read < 8; read += 1) expect(await results.next()).toMatchObject({ value: { value: read } });
    expect(await reasonOf(results.next())).toMatchObject({ code: "CLOSED" });
    expect([source.taken, source.closed]).toEqual([8, 1]);
  });

  test.each<[unknown, unknown, string]>([
    [5, {}, "Expected `source` to be an iterable or an async iterable, got `5` (number)"],
    ["text", {}, "Expected `source` to be an iterable or an async iterable, got `text` (string)"],
    [[], { ordered: 1 }, "Expected `ordered` to be a boolean"],
    [[], { maxPending: 0 }, "Expected `maxPending` to be an integer >= 1 or Infinity"],
    [[], { settled: "yes" }, "Expected `settled` to be a boolean"],
    [[], { signal: {} }, "Expected `signal` to be an AbortSignal"],
    [[], 5, "Expected `options` to be an object"],
  ])("is INVALID_OPTION, at once, for %j with %j", (source, options, message) => {
    const { batcher } = limited();
    const error = thrownBy(() => batcher.map(source as never, options as never));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(String(error)).toContain(message);
  });

  test("is INVALID_OPTION, at the first item, for an option that no submit has", async () => {
    const { batcher } = limited();
    const results = batcher.map([1], { prioritty: 1 } as MapOptions<number, false>);
    expect(await reasonOf(results.next())).toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("the end of an iteration", () => {
  test("cancels waiting items, aborts the running batch, and closes the source once", async () => {
    const of = limited();
    const source = watched(100);
    const left = watch(
      (async () => {
        for await (const value of of.batcher.map(source)) if (value === 0) break;
      })(),
    );
    await of.clock.settle();
    of.handler.calls[0]?.answer((item) => item);
    await of.clock.settle();
    expect(left.state).toBe("fulfilled");
    expect(of.handler.calls[1]?.context.signal.aborted).toBe(true);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, completed: 4 });
    expect(source.closed).toBe(1);
    await echoAll(of);
  });

  test("does not wait for a source that never answers", async () => {
    const of = limited();
    const stuck = gate();
    const source = (async function* () {
      yield 1;
      await stuck.promise;
    })();
    const results = of.batcher.map(source);
    const first = results.next();
    await echoAll(of);
    expect(await first).toEqual({ done: false, value: 1 });
    const second = results.next();
    expect(await results.return?.()).toEqual({ done: true, value: undefined });
    expect(await second).toEqual({ done: true, value: undefined });
    stuck.open();
  });

  test("by `throw` rejects with that error", async () => {
    const source = watched(3);
    const results = limited().batcher.map(source);
    expect(await reasonOf(results.throw?.(new Error("enough")) as Promise<unknown>)).toMatchObject({
      message: "enough",
    });
    expect(source.closed).toBe(1);
    expect(await results.next()).toEqual({ done: true, value: undefined });
  });

  test("passes on an error of closing the source; a failure of the iteration takes precedence", async () => {
    const closing = (async function* () {
      try {
        yield* range(9);
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: a source that fails to close
        throw new Error("cannot close");
      }
    })();
    const of = limited();
    const results = of.batcher.map(closing, { maxPending: 1 });
    const first = results.next();
    await echoAll(of);
    await first;
    expect(await reasonOf(results.return?.() as Promise<unknown>)).toMatchObject({ message: "cannot close" });
  });

  test.each([true, false])("comes of a signal, with its reason, for the reader (waiting: %s)", async (waits) => {
    const of = limited();
    const source = watched(100);
    const controller = new AbortController();
    const results = of.batcher.map(source, { signal: controller.signal, settled: true });
    const first = results.next();
    await echo(of);
    await first;
    const waiting = waits ? range(8).map(() => watch(results.next())) : [];
    controller.abort(new Error("no time"));
    await of.clock.settle();
    const last = waits ? waiting.find(({ state }) => state === "rejected")?.reason : await reasonOf(results.next());
    expect(last).toMatchObject({ message: "no time" });
    expect(await results.next()).toEqual({ done: true, value: undefined });
    await echoAll(of);
    expect(source.closed).toBe(1);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, running: 0 });
  });

  test("comes of a signal that has aborted before, at the first read", async () => {
    const source = watched(3);
    const results = limited().batcher.map(source, { signal: AbortSignal.abort("gone") });
    expect(await reasonOf(results.next())).toBe("gone");
    expect([source.taken, source.closed]).toEqual([0, 1]);
  });
});
