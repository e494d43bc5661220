import { type BatchEvent, batchStream } from "batchwise";
import { describe, expect, test } from "vitest";
import { addsUp, fateOf, finishAll, read, streamRig } from "./support.ts";

describe("the members of a stream function", () => {
  test("work as a batcher's: wait, flush, pause, configure, events", async () => {
    const rig = streamRig({ maxWaitMs: 1000, maxBatchSize: 8 });
    const { stream, clock, calls } = rig;
    const events: BatchEvent[] = [];
    stream.on("batch", (event) => events.push(event));
    read(stream("a"));
    await clock.advance(999);
    expect(calls).toHaveLength(0);
    await clock.advance(1);
    expect(calls).toHaveLength(1);
    read(stream("b"));
    calls[0]?.finish();
    await clock.advance(10);
    const flushed = stream.flush();
    await finishAll(rig);
    await flushed;
    stream.pause();
    read(stream("c"));
    await clock.advance(5000);
    expect(calls).toHaveLength(2);
    stream.configure({ maxBatchSize: 1 });
    expect(stream.options.maxBatchSize).toBe(1);
    stream.resume();
    await finishAll(rig);
    expect(events.map(({ reason, size }) => [reason, size])).toEqual([
      ["wait", 1],
      ["flush", 1],
      ["size", 1],
    ]);
    await stream.ready();
  });

  test("submitMany collects the chunks of each, and rejects with the first failure while the others continue", async () => {
    const { stream, call, clock } = streamRig();
    const many = Promise.allSettled([stream.submitMany(["a", "b"])]);
    await clock.settle();
    call(0).yield(1, new Error("no"));
    await clock.settle();
    expect(await many).toMatchObject([{ status: "rejected", reason: { message: "no" } }]);
    call(0).yield(2, 2);
    await clock.settle();
    call(0).finish();
    await clock.settle();
    expect(stream.stats()).toMatchObject({ completed: 1, failed: 1 });
    expect(await stream.submitMany([])).toEqual([]);
  });

  test("submitSettled gives each one's chunks or failure, in order", async () => {
    const failure = new Error("no");
    const stream = batchStream<number, number>(function* (items) {
      yield items;
      yield items.map((item) => (item === 2 ? failure : item));
    });
    expect(await stream.submitSettled([1, 2, 3])).toEqual([
      { status: "fulfilled", value: [1, 1] },
      { status: "rejected", reason: failure },
      { status: "fulfilled", value: [3, 3] },
    ]);
  });

  test("submitMany reads its options once a call, and fails every item with the error of reading them", async () => {
    const stream = batchStream<number, never>(function* () {});
    const reads: string[] = [];
    const note = (name: string): undefined => void reads.push(name);
    const options = {
      get signal() {
        return note("signal");
      },
      get priority() {
        return note("priority");
      },
      get cost() {
        return note("cost");
      },
      get timeoutMs() {
        return note("timeoutMs");
      },
      get key() {
        return note("key");
      },
      get context() {
        return note("context");
      },
    };
    await stream.submitMany([1, 2, 3], options);
    expect(reads).toEqual(["signal", "priority", "cost", "timeoutMs", "key", "context"]);
    const boom = new Error("boom");
    let throws = 0;
    const throwing = {
      get key(): string {
        throws += 1;
        throw boom;
      },
    };
    const rejected = { status: "rejected", reason: boom };
    expect(await stream.submitSettled([1, 2], throwing)).toEqual([rejected, rejected]);
    expect(throws).toBe(1);
  });

  test("submitMany gives each item its own cost, and refuses options as submit does", async () => {
    const stream = batchStream<number, number>((_items, { cost }) => [[cost]], { maxBatchSize: 1 });
    expect(await stream.submitMany([1, 2], { cost: (item) => 10 * item })).toEqual([[10], [20]]);
    for (const options of [null, [], "x", { unknown: 1 }, { signal: 1 }]) {
      const reason = expect.objectContaining({ code: "INVALID_OPTION" });
      const rejected = { status: "rejected", reason };
      expect(await stream.submitSettled([1, 2], options as never)).toEqual([rejected, rejected]);
    }
  });

  test("stats() add up whatever became of the streams", async () => {
    const { stream, call, clock } = streamRig({ cost: (item) => item.length, maxBatchCost: 3 });
    const controller = new AbortController();
    const [left] = [stream("a"), read(stream("b", { signal: controller.signal })), read(stream("c", { timeoutMs: 5 }))];
    await fateOf(stream("too large"));
    await clock.settle();
    call(0).yield(1, 1, 1);
    controller.abort();
    await left.return?.();
    await clock.advance(5);
    const [d, e] = [read(stream("d")), read(stream("e"))];
    await clock.settle();
    call(0).finish();
    await clock.settle();
    call(1).yield(new Error("no"), 1);
    await clock.settle();
    call(1).finish();
    await clock.settle();
    expect([d.state, e.state]).toEqual(["failed", "ended"]);
    expect(stream.stats()).toMatchObject({
      submitted: 6,
      completed: 1,
      failed: 1,
      cancelled: 2,
      expired: 1,
      rejected: 1,
    });
    expect(addsUp(stream)).toBe(true);
  });
});
