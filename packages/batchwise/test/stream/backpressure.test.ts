import { batchStream, DONE, SKIP } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { range } from "../support.ts";
import { all, chunk, ended, read, type StreamRig, streamRig } from "./support.ts";

/**
 * Two rounds, of which the first caller reads none: with `maxBufferedChunks: 1` the batch waits for
 * it.
 */
async function hold(call: StreamRig["call"], clock: VirtualClock): Promise<void> {
  await clock.settle();
  for (const value of [1, 2]) {
    call(0).yield(value, value);
    await clock.settle();
  }
}

describe("a slow reader", () => {
  test("holds the producer: no round is read while a caller has more than maxBufferedChunks unread", async () => {
    const { stream, call, clock } = streamRig({ maxBufferedChunks: 3 });
    const [fast, slow] = [read(stream("fast")), stream("slow")];
    await clock.settle();
    for (const value of [1, 2, 3]) {
      call(0).yield(value, value);
      await clock.settle();
      expect(call(0).asked).toBe(value + 1);
    }
    call(0).yield(4, 4);
    await clock.settle();
    expect(call(0).asked).toBe(4);
    expect(fast.chunks).toEqual([1, 2, 3, 4]);
    expect(await slow.next()).toEqual(chunk(1));
    await clock.settle();
    expect(call(0).asked).toBe(5);
    call(0).yield(5, SKIP);
    await clock.settle();
    expect(call(0).asked).toBe(6);
    expect(fast.chunks).toEqual([1, 2, 3, 4, 5]);
  });

  test("has 16 unread chunks kept by default before it holds the producer", async () => {
    const { stream, call, clock } = streamRig();
    const slow = stream("slow");
    await clock.settle();
    for (let value = 1; value < 30; value += 1) {
      call(0).yield(value);
      await clock.settle();
    }
    expect(call(0).asked).toBe(17);
    call(0).finish();
    for (let value = 1; value <= 17; value += 1) expect(await slow.next()).toEqual(chunk(value));
  });

  test("never holds the producer where maxBufferedChunks is Infinity, and gets every chunk in order", async () => {
    const stream = batchStream(
      function* (items: number[]) {
        for (let value = 0; value < 5000; value += 1) yield items.map(() => value);
      },
      { maxBufferedChunks: Number.POSITIVE_INFINITY },
    );
    const slow = stream(1);
    await stream.flush();
    expect(stream.stats()).toMatchObject({ completed: 1, running: 0 });
    expect(await all(slow)).toEqual(range(5000));
  });

  test.each([1, 16])(
    "that takes a second for each chunk gets one a second: at %i kept, the producer is bounded",
    async (maxBufferedChunks) => {
      const clock = virtualClock();
      let produced = 0;
      const stream = batchStream(
        function* (items: number[]) {
          for (;;) {
            produced += 1;
            yield items.map(() => produced);
          }
        },
        { clock, maxBufferedChunks },
      );
      const consumed: number[] = [];
      const behind: number[] = [];
      void (async () => {
        for await (const value of stream(1)) {
          consumed.push(value);
          behind.push(produced - consumed.length);
          await new Promise<void>((resolve) => {
            clock.setTimeout(resolve, 1000);
          });
        }
      })();
      await clock.advance(50_000);
      expect(consumed).toEqual(range(51).map((index) => index + 1));
      expect(Math.max(...behind)).toBe(maxBufferedChunks);
      expect(produced).toBe(consumed.length + maxBufferedChunks + 1);
    },
  );

  test("of one batch does not hold another batch", async () => {
    const { stream, call, clock } = streamRig({ maxBatchSize: 1, concurrency: 2, maxBufferedChunks: 1 });
    stream("never read");
    const b = read(stream("b"));
    await clock.settle();
    for (const value of [1, 2, 3]) {
      call(0).yield(value);
      call(1).yield(value);
      await clock.settle();
    }
    expect(b.chunks).toEqual([1, 2, 3]);
    expect([call(0).asked, call(1).asked]).toEqual([2, 4]);
  });

  test("that got DONE with a chunk unread holds no other caller, and still gets its chunk", async () => {
    const { stream, call, clock } = streamRig();
    const [a, b] = [stream("a"), read(stream("b"))];
    await clock.settle();
    call(0).yield(1, 1);
    await clock.settle();
    expect(await a.next()).toEqual(chunk(1));
    await clock.settle();
    call(0).yield(DONE, 2);
    await clock.settle();
    call(0).yield(SKIP, 3);
    await clock.settle();
    expect(b.chunks).toEqual([1, 2, 3]);
    expect(await a.next()).toEqual(ended);
  });

  test("that cancels with a chunk unread no longer holds the others", async () => {
    const { stream, call, clock } = streamRig({ maxBufferedChunks: 1 });
    const [slow, fast] = [stream("slow"), read(stream("fast"))];
    await hold(call, clock);
    expect(call(0).asked).toBe(2);
    await slow.return?.();
    await clock.settle();
    expect(call(0).asked).toBe(3);
    call(0).yield("ignored", 3);
    await clock.settle();
    expect(fast.chunks).toEqual([1, 2, 3]);
    expect(await slow.next()).toEqual(ended);
  });

  test("whose deadline passes with a chunk unread lets the others continue", async () => {
    const { stream, call, clock } = streamRig({ maxBufferedChunks: 1 });
    const [slow, fast] = [stream("slow", { timeoutMs: 100 }), read(stream("fast"))];
    await hold(call, clock);
    await clock.advance(99);
    expect(call(0).asked).toBe(2);
    await clock.advance(1);
    expect(call(0).asked).toBe(3);
    call(0).yield(3, 3);
    await clock.settle();
    expect(fast.chunks).toEqual([1, 2, 3]);
    expect([await slow.next(), await slow.next()]).toEqual([chunk(1), chunk(2)]);
    await expect(slow.next()).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
  });

  test("whose signal aborts with a chunk unread lets the others continue", async () => {
    const { stream, call, clock } = streamRig({ maxBufferedChunks: 1 });
    const controller = new AbortController();
    const [, fast] = [stream("slow", { signal: controller.signal }), read(stream("fast"))];
    await hold(call, clock);
    controller.abort();
    await clock.settle();
    call(0).yield(3, 3);
    await clock.settle();
    expect(fast.chunks).toEqual([1, 2, 3]);
  });
});

describe("a batch of a thousand streams", () => {
  test("gives each its own hundred chunks", async () => {
    const stream = batchStream(
      function* (items: number[]) {
        for (let round = 0; round < 100; round += 1) yield items.map((item) => item * 1000 + round);
      },
      { maxBatchSize: 1000 },
    );
    const results = await stream.submitMany(range(1000));
    expect(stream.stats().batches).toBe(1);
    expect(results).toEqual(range(1000).map((item) => range(100).map((round) => item * 1000 + round)));
  });
});
