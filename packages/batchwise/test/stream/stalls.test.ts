import { describe, expect, test } from "vitest";
import { range, thrownBy, watch } from "../support.ts";
import { read, type StreamRig, streamRig } from "./support.ts";

const MAX_STALL_MS = 30_000;

/** A batch of "slow", who never reads, and of the others, who do; "slow" is behind. */
async function stalled(others: readonly string[], options: Parameters<typeof streamRig>[0] = {}): Promise<StreamRig> {
  const of = streamRig({ maxBufferedChunks: 1, ...options });
  of.stream.submit("slow");
  for (const other of others) read(of.stream.submit(other));
  await of.clock.settle();
  for (const round of range(2)) {
    of.call(0).yield(round, ...others.map(() => round));
    await of.clock.settle();
  }
  return of;
}

describe("a caller who does not read", () => {
  test("ends with STREAM_STALLED, as the only one, once another caller of its batch has waited 30 s for it", async () => {
    const of = streamRig({ maxBufferedChunks: 1, name: "chat" });
    const slow = of.stream.submit("slow");
    const other = read(of.stream.submit("other"));
    await of.clock.settle();
    for (const round of range(2)) {
      of.call(0).yield(round, round);
      await of.clock.settle();
    }
    await of.clock.advance(MAX_STALL_MS - 1);
    expect(of.call(0).asked).toBe(2);
    await of.clock.advance(1);
    expect(of.call(0).asked).toBe(3);
    of.call(0).yield(2, 2);
    await of.clock.settle();
    expect(other.chunks).toEqual([0, 1, 2]);
    of.call(0).finish();
    await of.clock.settle();
    expect(other.state).toBe("ended");
    expect([await slow.next(), await slow.next()]).toMatchObject([{ value: 0 }, { value: 1 }]);
    const last = watch(slow.next());
    await of.clock.settle();
    expect(last.reason).toMatchObject({ name: "BatchwiseError", code: "STREAM_STALLED", retryable: true });
    expect(String(last.reason)).toMatch(/Batcher `chat`: .*30000 ms.*maxStallMs.*maxBufferedChunks/);
    expect(of.stream.stats()).toMatchObject({ completed: 1, failed: 1, running: 0, waiting: 0 });
    expect(of.clock.timers).toBe(0);
  });

  test("is ended once the queue has waited that long for the slot of its batch, which is then free", async () => {
    const of = await stalled([]);
    await of.clock.advance(100_000);
    expect(of.call(0).isStopped).toBe(false);
    expect(of.clock.timers).toBe(0);
    const later = read(of.stream.submit("later"));
    await of.clock.advance(MAX_STALL_MS - 1);
    expect(of.calls.length).toBe(1);
    await of.clock.advance(1);
    expect(of.call(0).isStopped).toBe(true);
    of.call(1).yield("chunk");
    await of.clock.settle();
    expect(later.chunks).toEqual(["chunk"]);
  });

  test("is not ended while no caller waits for it: the other of its batch does not read either, and a slot is free", async () => {
    const of = streamRig({ maxBufferedChunks: 1, maxBatchSize: 2, concurrency: 2 });
    const streams = [of.stream.submit("slow"), of.stream.submit("other")];
    await of.clock.settle();
    for (const round of range(2)) {
      of.call(0).yield(round, round);
      await of.clock.settle();
    }
    read(of.stream.submit("elsewhere"));
    await of.clock.advance(10 * MAX_STALL_MS);
    expect(of.call(0).asked).toBe(2);
    expect(of.clock.timers).toBe(0);
    for (const stream of streams) expect(await stream.next()).toMatchObject({ value: 0 });
    await of.clock.settle();
    expect(of.call(0).asked).toBe(3);
  });

  test("gets the whole time again from a waiter that came after another had gone", async () => {
    const of = await stalled([]);
    const controller = new AbortController();
    void read(of.stream.submit("first", { signal: controller.signal }));
    await of.clock.advance(20_000);
    controller.abort();
    await of.clock.advance(5_000);
    void read(of.stream.submit("second"));
    await of.clock.advance(MAX_STALL_MS - 1);
    expect(of.call(0).isStopped).toBe(false);
    await of.clock.advance(1);
    expect(of.call(0).isStopped).toBe(true);
  });

  test("continues when it reads in time", async () => {
    const of = streamRig({ maxBufferedChunks: 1 });
    const slow = of.stream.submit("slow");
    const other = read(of.stream.submit("other"));
    await of.clock.settle();
    for (const round of range(4)) {
      of.call(0).yield(round, round);
      await of.clock.advance(20_000);
      if (round > 0) await slow.next();
      await of.clock.settle();
    }
    await of.clock.settle();
    expect(other.chunks).toEqual([0, 1, 2, 3]);
    expect(of.stream.stats().failed).toBe(0);
  });
});

describe("the queue waits for a slot that a batch holds", () => {
  test("from the moment at which the last slot fills, also after the last submit", async () => {
    const of = await stalled([], { concurrency: 2, maxBatchSize: 1, maxStallMs: 5_000 });
    await of.clock.advance(2_000);
    void of.stream.submit("b");
    const waiting = read(of.stream.submit("c"));
    await of.clock.advance(4_999);
    expect([of.call(0).isStopped, of.calls.length]).toEqual([false, 2]);
    await of.clock.advance(1);
    expect(of.call(0).isStopped).toBe(true);
    of.call(2).yield("chunk");
    await of.clock.settle();
    expect(waiting.chunks).toEqual(["chunk"]);
  });

  test("from the moment at which configure takes the free slot away", async () => {
    const of = await stalled([], { concurrency: 2, maxBatchSize: 2, maxStallMs: 5_000 });
    of.stream.configure({ maxWaitMs: 20_000 });
    void of.stream.submit("held");
    await of.clock.advance(10_000);
    of.stream.configure({ concurrency: 1 });
    await of.clock.advance(10_000 + 4_999);
    expect([of.call(0).isStopped, of.calls.length]).toEqual([false, 1]);
    await of.clock.advance(1);
    expect(of.call(0).isStopped).toBe(true);
  });

  test.each<[what: string, act: (of: StreamRig) => void]>([
    ["resume()", ({ stream }) => stream.resume()],
    ["flush()", ({ stream }) => void stream.flush()],
    ["close()", ({ stream }) => void stream.close()],
  ])("not while it is paused: from %s on", async (_, act) => {
    const of = await stalled([]);
    of.stream.pause();
    void of.stream.submit("later");
    await of.clock.advance(10 * MAX_STALL_MS);
    expect([of.call(0).isStopped, of.clock.timers]).toEqual([false, 0]);
    act(of);
    await of.clock.advance(MAX_STALL_MS - 1);
    expect(of.call(0).isStopped).toBe(false);
    await of.clock.advance(1);
    expect(of.call(0).isStopped).toBe(true);
  });

  test("not while maxWaitMs holds its items: from the end of that on", async () => {
    const of = await stalled([], { maxBatchSize: 2 });
    of.stream.configure({ maxWaitMs: 100_000 });
    void of.stream.submit("later");
    await of.clock.advance(100_000 + MAX_STALL_MS - 1);
    expect(of.call(0).isStopped).toBe(false);
    await of.clock.advance(1);
    expect(of.call(0).isStopped).toBe(true);
  });

  test("not while a maxWaitMs of Infinity holds an item: from the one that fills its batch on", async () => {
    const of = streamRig({ maxBufferedChunks: 1, maxWaitMs: Number.POSITIVE_INFINITY, maxBatchSize: 2 });
    for (const item of ["slow", "other"]) void of.stream.submit(item);
    await of.clock.settle();
    for (const round of range(2)) {
      of.call(0).yield(round, round);
      await of.clock.settle();
    }
    void of.stream.submit("held");
    await of.clock.advance(10 * MAX_STALL_MS);
    expect(of.call(0).asked).toBe(2);
    void of.stream.submit("fills");
    await of.clock.advance(MAX_STALL_MS - 1);
    expect(of.call(0).isStopped).toBe(false);
    await of.clock.advance(1);
    expect(of.call(0).isStopped).toBe(true);
  });
});

describe("another reader of the batch", () => {
  test("waits from its first unanswered next() on, however often it calls again", async () => {
    const of = streamRig({ maxBufferedChunks: 1 });
    void of.stream.submit("slow");
    const other = of.stream.submit("other");
    await of.clock.settle();
    for (const round of range(2)) {
      of.call(0).yield(round, round);
      await of.clock.settle();
      await other.next();
    }
    await of.clock.advance(5_000);
    for (const _ of range(6)) {
      void other.next();
      await of.clock.advance(5_000);
    }
    expect(of.call(0).asked).toBe(3);
  });
});

describe("maxStallMs", () => {
  test("is the time that others wait", async () => {
    const of = await stalled(["other"], { maxStallMs: 50 });
    await of.clock.advance(49);
    expect(of.call(0).asked).toBe(2);
    await of.clock.advance(1);
    expect(of.call(0).asked).toBe(3);
  });

  test("of Infinity ends no stream", async () => {
    const of = await stalled(["other"], { maxStallMs: Number.POSITIVE_INFINITY });
    void read(of.stream.submit("later"));
    await of.clock.advance(100 * MAX_STALL_MS);
    expect(of.call(0).asked).toBe(2);
  });

  test("is among the options, and refused where it is no time", () => {
    expect(streamRig().stream.options.maxStallMs).toBe(MAX_STALL_MS);
    expect(thrownBy(() => streamRig({ maxStallMs: 0 }))).toMatchObject({ code: "INVALID_OPTION" });
    const error = thrownBy(() => streamRig({ maxStalMs: 1 } as never));
    expect(String(error)).toContain("did you mean `maxStallMs`?");
  });
});
