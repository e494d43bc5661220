import { type BatchOptions, createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echoAll, range, reasonOf, rig, watch } from "../support.ts";

const held = { maxWaitMs: Number.POSITIVE_INFINITY, maxBatchSize: 8 };

/** Reads all results while calls are answered, until nothing runs. */
async function readSome(
  options: BatchOptions<number, number>,
  count: number,
  maxPending?: number,
): Promise<{ readonly read: number[]; readonly batches: readonly (readonly number[])[] }> {
  const of = rig<number>(options);
  const results = of.batcher.map(range(count), maxPending === undefined ? {} : { maxPending });
  const read: number[] = [];
  const reading = (async () => {
    for await (const value of results) read.push(value);
  })();
  await echoAll(of);
  await results.return?.();
  await reading;
  return { read, batches: of.handler.batches };
}

describe("a map of a batcher that holds items without a bound", () => {
  test("reads the last items, which fill no batch", async () => {
    const { read, batches } = await readSome(held, 20);
    expect(read).toEqual(range(20));
    expect(batches.map(({ length }) => length)).toEqual([8, 8, 4]);
  });

  test("continues where no batch can be full because so few are under way", async () => {
    const { read, batches } = await readSome(held, 10, 5);
    expect(read).toEqual(range(10));
    expect(batches.map(({ length }) => length)).toEqual([5, 5]);
  });

  test("reads items that come into the queue late, from a cache that knows none of them", async () => {
    const cache = { get: async () => undefined, set: () => {} };
    expect((await readSome({ ...held, dedupe: String, cache }, 3)).read).toEqual(range(3));
  });

  test("holds other callers' items again when it has ended, and holds them while its source may give more", async () => {
    const of = rig<number>(held);
    const results = of.batcher.map(
      (async function* () {
        yield 1;
        await new Promise(() => {});
      })(),
    );
    void results.next();
    await of.clock.settle();
    expect(of.handler.calls).toEqual([]);
    void results.return?.();
    const last = of.batcher.map([2]);
    const read = last.next();
    await echoAll(of);
    expect(await read).toEqual({ done: false, value: 2 });
    await last.next();
    const other = watch(of.batcher.submit(3));
    await of.clock.advance(1_000);
    expect([other.state, of.handler.batches]).toEqual(["pending", [[2]]]);
  });

  test("sends nothing while the batcher is paused", async () => {
    const of = rig<number>(held);
    of.batcher.pause();
    const read = of.batcher.map([1]).next();
    await of.clock.settle();
    expect(of.handler.calls).toEqual([]);
    of.batcher.resume();
    await echoAll(of);
    expect(await read).toEqual({ done: false, value: 1 });
  });
});

describe("a map beside other callers", () => {
  test("drops no item of other callers that fill the queue while its source is read", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 2, onFull: "drop-oldest" });
    const others: Promise<PromiseSettledResult<number>[]>[] = [];
    const source = (async function* () {
      others.push(of.batcher.submitSettled([10]));
      await of.clock.settle();
      others.push(of.batcher.submitSettled([11, 12]));
      yield 1;
    })();
    const read = of.batcher.map(source).next();
    await echoAll(of);
    expect(await read).toEqual({ done: false, value: 1 });
    const settled = (await Promise.all(others)).flat();
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
  });

  test("ends with CLOSED where its batcher closes while an item waits for room", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1, onFull: "reject" });
    const source = (async function* () {
      void of.batcher.submit(10);
      await of.clock.settle();
      void of.batcher.submit(11);
      yield 1;
    })();
    const read = reasonOf(of.batcher.map(source).next());
    await of.clock.settle();
    void of.batcher.close();
    await echoAll(of);
    expect(await read).toMatchObject({ code: "CLOSED" });
  });
});

test("a map that is not read does not listen to its signal", async () => {
  let listeners = 0;
  const { signal } = new AbortController();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    listeners += 1;
    add(...given);
  };
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...given);
  };
  const batcher = createBatcher((items: number[]) => items);
  const unread = batcher.map([1], { signal });
  expect(listeners).toBe(0);
  await unread.return?.();
  await unread.next();
  expect(listeners).toBe(0);
  const read = batcher.map([1], { signal });
  await read.next();
  expect(listeners).toBeGreaterThan(0);
  await read.return?.();
  expect(listeners).toBe(0);
});
