import { batchStream, DONE, SKIP } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { range } from "../support.ts";
import { chunk, ended, read, streamRig } from "./support.ts";

describe("a slow reader", () => {
  test("holds the producer: a round is asked for only when every caller has read its chunk", async () => {
    const { stream, call, clock } = streamRig();
    const [fast, slow] = [read(stream("fast")), stream("slow")];
    await clock.settle();
    expect(call(0).asked).toBe(1);
    call(0).yield(1, 1);
    await clock.settle();
    expect(fast.chunks).toEqual([1]);
    expect(call(0).asked).toBe(1);
    expect(await slow.next()).toEqual(chunk(1));
    await clock.settle();
    expect(call(0).asked).toBe(2);
    call(0).yield(2, SKIP);
    await clock.settle();
    expect(call(0).asked).toBe(3);
    expect(fast.chunks).toEqual([1, 2]);
  });

  test("that takes a second for each chunk gets one a second, however fast the producer is", async () => {
    const clock = virtualClock();
    let produced = 0;
    const stream = batchStream(
      function* (items: number[]) {
        for (;;) {
          produced += 1;
          yield items.map(() => produced);
        }
      },
      { clock },
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
    expect(Math.max(...behind)).toBeLessThanOrEqual(2);
    expect(produced).toBeLessThanOrEqual(consumed.length + 1);
  });

  test("of one batch does not hold another batch", async () => {
    const { stream, call, clock } = streamRig({ maxBatchSize: 1, concurrency: 2 });
    stream("never read");
    const b = read(stream("b"));
    await clock.settle();
    call(0).yield(1);
    call(1).yield(1);
    await clock.settle();
    call(1).yield(2);
    await clock.settle();
    expect(b.chunks).toEqual([1, 2]);
    expect([call(0).asked, call(1).asked]).toEqual([1, 3]);
  });

  test("that was given DONE with a chunk unread holds nobody, and still gets its chunk", async () => {
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

  test("that leaves with a chunk unread lets the others go on", async () => {
    const { stream, call, clock } = streamRig();
    const [slow, fast] = [stream("slow"), read(stream("fast"))];
    await clock.settle();
    call(0).yield(1, 1);
    await clock.settle();
    expect(call(0).asked).toBe(1);
    await slow.return?.();
    await clock.settle();
    expect(call(0).asked).toBe(2);
    call(0).yield("ignored", 2);
    await clock.settle();
    expect(fast.chunks).toEqual([1, 2]);
    expect(await slow.next()).toEqual(ended);
  });

  test("whose deadline passes with a chunk unread lets the others go on", async () => {
    const { stream, call, clock } = streamRig();
    const [slow, fast] = [stream("slow", { timeoutMs: 100 }), read(stream("fast"))];
    await clock.settle();
    call(0).yield(1, 1);
    await clock.advance(99);
    expect(call(0).asked).toBe(1);
    await clock.advance(1);
    expect(call(0).asked).toBe(2);
    call(0).yield(2, 2);
    await clock.settle();
    expect(fast.chunks).toEqual([1, 2]);
    expect(await slow.next()).toEqual(chunk(1));
    await expect(slow.next()).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
  });

  test("whose signal aborts with a chunk unread lets the others go on", async () => {
    const { stream, call, clock } = streamRig();
    const controller = new AbortController();
    const [, fast] = [stream("slow", { signal: controller.signal }), read(stream("fast"))];
    await clock.settle();
    call(0).yield(1, 1);
    await clock.settle();
    controller.abort();
    await clock.settle();
    call(0).yield(2, 2);
    await clock.settle();
    expect(fast.chunks).toEqual([1, 2]);
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
