import { batchStream } from "batchwise";
import { describe, expect, test } from "vitest";
import { watch } from "../support.ts";
import { addsUp, chunk, ended, fateOf, read, streamRig } from "./support.ts";

const expired = { code: "DEADLINE_EXCEEDED" };
const closed = { code: "CLOSED" };

describe("a deadline", () => {
  test("that passes while the item waits fails the stream on time, and the handler never sees it", async () => {
    const { stream, calls, clock } = streamRig({ maxBatchSize: 1 });
    read(stream("a"));
    const b = read(stream("b", { timeoutMs: 100 }));
    await clock.advance(99);
    expect(b.state).toBe("open");
    await clock.advance(1);
    expect(b).toMatchObject({ state: "failed", error: expired });
    expect(calls).toHaveLength(1);
    expect(stream.stats().expired).toBe(1);
  });

  test("that passes while the handler works on the first round fails the stream", async () => {
    const { stream, call, clock } = streamRig({ timeoutMs: 100 });
    const a = read(stream("a"));
    await clock.advance(100);
    expect(a).toMatchObject({ chunks: [], state: "failed", error: expired });
    expect(call(0).context.signal.aborted).toBe(true);
  });

  test("that passes half way comes after the chunk that was delivered", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a", { timeoutMs: 100 });
    await clock.settle();
    call(0).yield(1);
    await clock.advance(100);
    expect(await a.next()).toEqual(chunk(1));
    await expect(a.next()).rejects.toMatchObject(expired);
    expect(await a.next()).toEqual(ended);
    expect(stream.stats()).toMatchObject({ expired: 1, failed: 0 });
  });

  test("covers the whole stream: it counts from the submit to the end", async () => {
    const { stream, call, clock } = streamRig({ timeoutMs: 100 });
    const a = read(stream("a"));
    for (let round = 0; round < 4; round += 1) {
      await clock.advance(30);
      call(0).yield(round);
    }
    await clock.settle();
    expect(a).toMatchObject({ chunks: [0, 1, 2], state: "failed", error: expired });
  });

  test("kept costs nothing afterwards", async () => {
    const { stream, call, clock } = streamRig({ timeoutMs: 100 });
    const a = read(stream("a"));
    await clock.settle();
    call(0).yield(1);
    await clock.settle();
    call(0).finish();
    await clock.advance(1000);
    expect(a).toEqual({ chunks: [1], state: "ended" });
    expect(clock.timers).toBe(0);
  });
});

describe("handlerTimeoutMs", () => {
  test("fails every caller of the batch, aborts it and frees its slot", async () => {
    const { stream, call, calls, clock } = streamRig({ maxBatchSize: 2, handlerTimeoutMs: 100 });
    const [a, b, c] = [read(stream("a")), stream("b"), read(stream("c"))];
    await clock.settle();
    call(0).yield(1, 1);
    await clock.advance(100);
    const timeout = { code: "HANDLER_TIMEOUT" };
    expect(a).toMatchObject({ chunks: [1], state: "failed", error: timeout });
    expect(await b.next()).toEqual(chunk(1));
    await expect(b.next()).rejects.toMatchObject(timeout);
    expect(call(0).context.signal.aborted).toBe(true);
    expect(calls).toHaveLength(2);
    call(1).yield(7);
    await clock.settle();
    expect(c.chunks).toEqual([7]);
    expect(stream.stats().failed).toBe(2);
  });

  test("ends a batch that a reader holds by never reading", async () => {
    const { stream, call, clock } = streamRig({ handlerTimeoutMs: 100, maxBufferedChunks: 1 });
    stream("never read");
    await clock.settle();
    call(0).yield(1);
    await clock.settle();
    call(0).yield(2);
    await clock.advance(100);
    expect(call(0).isStopped).toBe(true);
    expect(stream.inspect()).toEqual([]);
    expect(addsUp(stream)).toBe(true);
  });
});

describe("close()", () => {
  test("lets streams run to their end, waiting ones too", async () => {
    const { stream, call, clock } = streamRig({ maxBatchSize: 1 });
    const [a, b] = [read(stream("a")), read(stream("b"))];
    await clock.settle();
    const closing = watch(stream.close());
    call(0).yield(1);
    await clock.settle();
    call(0).finish();
    await clock.settle();
    expect(closing.state).toBe("pending");
    call(1).yield(2);
    await clock.settle();
    call(1).finish();
    await clock.settle();
    expect([a, b]).toEqual([
      { chunks: [1], state: "ended" },
      { chunks: [2], state: "ended" },
    ]);
    expect(closing.state).toBe("fulfilled");
    expect(addsUp(stream)).toBe(true);
  });

  test("with `drain: false` fails running and waiting streams with CLOSED at once, and stops the handler", async () => {
    const { stream, call, clock } = streamRig({ maxBatchSize: 1, maxBufferedChunks: 1 });
    const [a, b] = [stream("a"), read(stream("b"))];
    await clock.settle();
    call(0).yield(1);
    await clock.settle();
    call(0).yield(2);
    await clock.settle();
    const closing = watch(stream.close({ drain: false }));
    await clock.settle();
    expect(closing.state).toBe("fulfilled");
    expect([await a.next(), await a.next()]).toEqual([chunk(1), chunk(2)]);
    await expect(a.next()).rejects.toMatchObject(closed);
    expect(b).toMatchObject({ state: "failed", error: closed });
    expect(call(0).isStopped).toBe(true);
    expect(call(0).context.signal.aborted).toBe(true);
    expect(stream.stats().rejected).toBe(2);
    expect(addsUp(stream)).toBe(true);
  });

  test("fails later streams with CLOSED, and does not throw", async () => {
    const { stream, clock } = streamRig();
    await stream.close();
    const a = read(stream("a"));
    const b = read(stream("b", { signal: {} as AbortSignal }));
    await clock.settle();
    expect([a.error, b.error]).toMatchObject([closed, closed]);
    expect(stream.closed).toBe(true);
    expect(stream.stats().rejected).toBe(2);
  });

  test("called by the handler itself with `drain: false` ends its own batch, whatever the handler does then", async () => {
    const stream = batchStream<number, number>(() => {
      void stream.close({ drain: false });
      throw new Error("afterwards");
    });
    expect((await fateOf(stream(1))).error).toMatchObject(closed);
    await stream.close();
    expect(addsUp(stream)).toBe(true);
  });

  test("with `drain: false` wins over a failure of the handler that comes after it", async () => {
    const { stream, call, clock } = streamRig();
    const a = read(stream("a"));
    await clock.settle();
    void stream.close({ drain: false });
    call(0).fail(new Error("afterwards"));
    await clock.settle();
    expect(a.error).toMatchObject(closed);
  });
});
