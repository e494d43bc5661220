import { batchStream, createBatcher, type StreamOptions } from "batchwise";
import { describe, expect, test } from "vitest";
import { range, reasonOf, thrownBy } from "../support.ts";
import { addsUp, all, fateOf, finishAll, read, streamRig } from "./support.ts";

describe("the user's functions of a stream function see the items", () => {
  test("cost: a batch stays under maxBatchCost", async () => {
    const rig = streamRig({ cost: (item) => item.length, maxBatchCost: 5 });
    for (const item of ["aaa", "bb", "c", "dddd"]) read(rig.stream(item));
    expect(await finishAll(rig)).toEqual([
      ["aaa", "bb"],
      ["c", "dddd"],
    ]);
    expect(rig.stream.stats().averageBatchCost).toBe(5);
  });

  test("cost: an item over the cap fails only its stream", async () => {
    const { stream } = streamRig({ cost: (item) => item.length, maxBatchCost: 5 });
    expect((await fateOf(stream("aaaaaa"))).error).toMatchObject({ code: "ITEM_TOO_LARGE" });
    expect(stream.stats().rejected).toBe(1);
  });

  test.each(["estimateTokens", "estimateCost"])("no cost: the item's own %s() is called", async (name) => {
    class Weighed {
      readonly weight: number;
      constructor(weight: number) {
        this.weight = weight;
      }
      [name](): number {
        return this.weight;
      }
    }
    const costs: number[] = [];
    const stream = batchStream<Weighed, never>(
      (_items, { cost }) => {
        costs.push(cost);
        return [];
      },
      { maxBatchCost: 10 },
    );
    await stream.submitMany([new Weighed(9), new Weighed(8)]);
    expect(costs).toEqual([9, 8]);
    expect((await fateOf(stream(new Weighed(11)))).error).toMatchObject({ code: "ITEM_TOO_LARGE" });
    await all(stream(new Weighed(11), { cost: 2 }));
    expect(costs).toEqual([9, 8, 2]);
    const { error } = await fateOf(stream(new Weighed(-1)));
    expect(error).toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining("`cost`") });
  });

  test("no cost: the item's own estimate is called as little as by a plain batcher", async () => {
    const asked: string[] = [];
    const item = { estimateTokens: () => asked.push("tokens"), estimateCost: () => asked.push("cost") };
    const uncapped = batchStream<unknown, never>(function* () {});
    await uncapped.submitMany([item]);
    expect(asked).toEqual([]);
    const capped = batchStream<unknown, never>(function* () {}, { maxBatchCost: 10 });
    await capped.submitMany([item, "text", null, undefined, {}]);
    expect(asked).toEqual(["tokens"]);
    expect(capped.stats().averageBatchCost).toBe(5);
    await batchStream<unknown, never>(function* () {}, { maxBatchCost: 10, cost: () => 1 }).submitMany([item]);
    expect(asked).toEqual(["tokens"]);
  });

  test("batchCost: a measure of the user's own", async () => {
    const longest = (items: readonly string[]): number =>
      items.length * Math.max(...items.map((item) => item.length), 0);
    const rig = streamRig({ batchCost: longest, maxBatchCost: 6 });
    for (const item of ["a", "bbb", "c", "d"]) read(rig.stream(item));
    expect(await finishAll(rig)).toEqual([
      ["a", "bbb"],
      ["c", "d"],
    ]);
  });

  test("batchCost: padded", async () => {
    const rig = streamRig({ batchCost: "padded", cost: (item) => item.length, maxBatchCost: 6 });
    for (const item of ["a", "bbb", "c", "d"]) read(rig.stream(item));
    expect((await finishAll(rig))[0]).toEqual(["a", "bbb"]);
  });

  test("key: items of different keys never share a batch", async () => {
    const rig = streamRig({ key: (item) => item.slice(0, 1) });
    for (const item of ["a1", "b1", "a2", "b2"]) read(rig.stream(item));
    read(rig.stream("b3", { key: "a" }));
    const batches = await finishAll(rig);
    expect(batches).toEqual([
      ["a1", "a2", "b3"],
      ["b1", "b2"],
    ]);
    expect(rig.calls.map(({ context }) => context.key)).toEqual(["a", "b"]);
  });

  test("fairBy: tenants share a batch", async () => {
    const rig = streamRig({ fairBy: (item) => item.slice(0, 1), maxBatchSize: 4 });
    for (const item of ["a1", "a2", "a3", "a4", "a5", "b1"]) read(rig.stream(item));
    expect((await finishAll(rig))[0]).toContain("b1");
  });

  test.each<[keyof StreamOptions<string>]>([["cost"], ["key"], ["fairBy"]])(
    "%s: its error fails only that stream",
    async (name) => {
      const boom = new Error(name);
      const rig = streamRig({
        [name]: (item: string) => {
          if (item === "bad") throw boom;
          return name === "cost" ? 1 : "x";
        },
      });
      const good = read(rig.stream("good"));
      expect((await fateOf(rig.stream("bad"))).error).toBe(boom);
      await finishAll(rig);
      expect(good.state).toBe("ended");
      expect(rig.stream.stats()).toMatchObject({ completed: 1, failed: 1 });
    },
  );
});

describe("a full queue", () => {
  test("holds a stream back by default, which goes when there is room", async () => {
    const rig = streamRig({ maxBatchSize: 1, maxQueueSize: 1 });
    const readings = range(4).map((item) => read(rig.stream(String(item))));
    await rig.clock.settle();
    expect(rig.stream.stats()).toMatchObject({ submitted: 4, waiting: 1 });
    expect(await finishAll(rig)).toEqual([["0"], ["1"], ["2"], ["3"]]);
    expect(readings.every(({ state }) => state === "ended")).toBe(true);
  });

  test("fails a stream with QUEUE_FULL where `onFull` is reject", async () => {
    const { stream, clock } = streamRig({ maxBatchSize: 1, maxQueueSize: 1, onFull: "reject" });
    read(stream("a"));
    await clock.settle();
    read(stream("b"));
    expect((await fateOf(stream("c"))).error).toMatchObject({ code: "QUEUE_FULL" });
    expect(stream.stats()).toMatchObject({ rejected: 1, waiting: 1 });
  });

  test("fails every item of a call that can never fit, as a plain batcher does", async () => {
    const options = { maxQueueSize: 3, onFull: "reject" } as const;
    const rig = streamRig(options);
    const { stream } = rig;
    const plain = createBatcher((items: string[]) => items, options);
    const items = ["a", "b", "c", "d", "e"];
    const settling = stream.submitSettled(items);
    expect(await finishAll(rig)).toEqual([]);
    const settled = await settling;
    expect(settled).toEqual(await plain.submitSettled(items));
    expect(settled).toHaveLength(5);
    for (const outcome of settled) {
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: {
          code: "QUEUE_FULL",
          retryable: false,
          message: expect.stringMatching(/ 5 items .* 3 \(maxQueueSize\)/),
        },
      });
    }
    expect(await reasonOf(stream.submitMany(items))).toMatchObject({ code: "QUEUE_FULL", retryable: false });
    expect(stream.stats()).toMatchObject({ submitted: 10, rejected: 10 });
    expect(addsUp(stream)).toBe(true);
    await stream.close();
    expect(await reasonOf(stream.submitMany(items))).toMatchObject({ code: "CLOSED" });
  });

  test("takes a call in that just fits, and a larger one after `configure` made room", async () => {
    const rig = streamRig({ maxQueueSize: 2, onFull: "reject" });
    const two = rig.stream.submitMany(["a", "b"]);
    await finishAll(rig);
    expect(await two).toEqual([[], []]);
    rig.stream.configure({ maxQueueSize: 3 });
    const three = rig.stream.submitMany(["c", "d", "e"]);
    await finishAll(rig);
    expect(await three).toEqual([[], [], []]);
  });

  test("fails the oldest where `onFull` is drop-oldest", async () => {
    const rig = streamRig({ maxBatchSize: 1, maxQueueSize: 1, onFull: "drop-oldest" });
    read(rig.stream("a"));
    await rig.clock.settle();
    const [b] = [read(rig.stream("b")), read(rig.stream("c"))];
    await rig.clock.settle();
    expect(b.error).toMatchObject({ code: "QUEUE_FULL" });
    expect(await finishAll(rig)).toEqual([["a"], ["c"]]);
  });

  test("lets a held back reader break off", async () => {
    const rig = streamRig({ maxBatchSize: 1, maxQueueSize: 1 });
    read(rig.stream("a"));
    await rig.clock.settle();
    read(rig.stream("b"));
    await rig.stream("c").return?.();
    expect(await finishAll(rig)).toEqual([["a"], ["b"]]);
    expect(rig.stream.stats().cancelled).toBe(1);
  });
});

describe("the options of a batcher that do not apply to streams", () => {
  test.each<[string, unknown]>([
    ["dedupe", String],
    ["cache", new Map()],
    ["retry", { attempts: 2 }],
    ["isolateFailures", true],
    ["smallCallFirst", 3],
  ])("are refused: %s", (name, value) => {
    const error = thrownBy(() => batchStream(function* () {}, { [name]: value }));
    expect(error).toMatchObject({
      code: "INVALID_OPTION",
      message: `Expected no \`${name}\`: it does not apply to a stream`,
    });
    expect(batchStream(function* () {}, { [name]: undefined }).closed).toBe(false);
  });

  test.each<[unknown, string]>([
    [{ maxBatchsize: 3 }, "Unknown option `maxBatchsize`, did you mean `maxBatchSize`?"],
    [{ maxBatchSize: 0 }, "Expected `maxBatchSize` to be an integer >= 1 or Infinity, got `0` (number)"],
    [{ key: "id" }, "Expected `key` to be a function, got `id` (string)"],
    [{ batchCost: 7 }, 'Expected `batchCost` to be "sum", "padded" or a function, got `7` (number)'],
    [null, "Expected `options` to be an object, got `null`"],
    [{ maxBufferedChunks: 0 }, "Expected `maxBufferedChunks` to be an integer >= 1 or Infinity, got `0` (number)"],
    [{ maxBufferedChunks: 1.5 }, "Expected `maxBufferedChunks` to be an integer >= 1 or Infinity, got `1.5` (number)"],
    [{ maxBufferedChunks: "4" }, "Expected `maxBufferedChunks` to be an integer >= 1 or Infinity, got `4` (string)"],
    [{ maxBufferedChunk: 4 }, "Unknown option `maxBufferedChunk`, did you mean `maxBufferedChunks`?"],
    [{ bufferSize: 4 }, expect.stringContaining("Unknown option `bufferSize`. Expected one of ")],
  ])("nor are others that are wrong: %j", (options, message) => {
    expect(thrownBy(() => batchStream(function* () {}, options as never))).toMatchObject({
      code: "INVALID_OPTION",
      message,
    });
  });

  test("nor is a change of maxBufferedChunks: it is set where the stream function is made", () => {
    const { stream } = streamRig();
    expect(thrownBy(() => stream.configure({ maxBufferedChunks: 4 } as never))).toMatchObject({
      code: "INVALID_OPTION",
    });
  });

  test("nor is a handler that is no function", () => {
    expect(thrownBy(() => batchStream({ run: () => [] } as never))).toMatchObject({
      name: "TypeError",
      code: "INVALID_OPTION",
      message: "Expected `handler` to be a function, got an object (Object)",
    });
  });
});
