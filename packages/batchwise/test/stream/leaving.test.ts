import { batchStream, DONE } from "batchwise";
import { describe, expect, test, vi } from "vitest";
import { unreadable } from "../abuse/objects.ts";
import { range } from "../support.ts";
import { addsUp, chunk, ended, fateOf, read, streamRig } from "./support.ts";

describe("a reader that breaks off", () => {
  test("by `break` ends its own part; the others continue", async () => {
    const { stream, call, clock } = streamRig();
    const taken: unknown[] = [];
    const leaver = (async () => {
      for await (const value of stream("a")) {
        taken.push(value);
        break;
      }
    })();
    const b = read(stream("b"));
    await clock.settle();
    call(0).yield(1, 1);
    await leaver;
    expect(taken).toEqual([1]);
    await clock.settle();
    call(0).yield(2, 2);
    await clock.settle();
    expect(b.chunks).toEqual([1, 2]);
    expect(call(0).context.signal.aborted).toBe(false);
    expect(stream.stats()).toMatchObject({ cancelled: 1 });
  });

  test("as the last one aborts context.signal and stops the handler", async () => {
    const { stream, call, clock } = streamRig({ maxBufferedChunks: 1 });
    const [a, b] = [stream("a"), stream("b")];
    await clock.settle();
    for (const value of [1, 2]) {
      call(0).yield(value, value);
      await clock.settle();
    }
    await a.return?.();
    expect(call(0).context.signal.aborted).toBe(false);
    await b.return?.();
    expect(call(0).context.signal.aborted).toBe(true);
    await clock.settle();
    expect(call(0).isStopped).toBe(true);
    expect(stream.inspect()).toEqual([]);
    expect(stream.stats()).toMatchObject({ cancelled: 2, running: 0 });
  });

  test("after another ended by DONE aborts context.signal, for then all are gone", async () => {
    const { stream, call, clock } = streamRig();
    const [a, b] = [read(stream("a")), stream("b")];
    await clock.settle();
    call(0).yield(DONE, 1);
    await clock.settle();
    expect(a.state).toBe("ended");
    expect(call(0).context.signal.aborted).toBe(false);
    await b.return?.();
    expect(call(0).context.signal.aborted).toBe(true);
  });

  test("before the first read, while waiting, is never handed to the handler", async () => {
    const { stream, calls, clock } = streamRig();
    const a = stream("a");
    read(stream("b"));
    expect(await a.return?.()).toEqual(ended);
    expect(await a.next()).toEqual(ended);
    await clock.settle();
    expect(calls.map(({ items }) => items)).toEqual([["b"]]);
  });

  test("while every slot is busy takes its item out of the queue", async () => {
    const { stream, call, calls, clock } = streamRig({ maxBatchSize: 1 });
    read(stream("a"));
    const b = stream("b");
    await clock.settle();
    await b.return?.();
    expect(stream.stats()).toMatchObject({ waiting: 0, cancelled: 1 });
    call(0).finish();
    await clock.settle();
    expect(calls).toHaveLength(1);
  });

  test("with reads open ends them", async () => {
    const { stream, clock } = streamRig();
    const a = stream("a");
    const open = [a.next(), a.next()];
    await clock.settle();
    await a.return?.();
    expect(await Promise.all(open)).toEqual([ended, ended]);
  });

  test("by throw() gets its error back and ends its part", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a");
    await clock.settle();
    await expect(a.throw?.(new Error("mine"))).rejects.toThrow("mine");
    expect(await a.next()).toEqual(ended);
    expect(call(0).context.signal.aborted).toBe(true);
    expect(stream.stats().cancelled).toBe(1);
  });

  test("by `await using` ends its part", async () => {
    const { stream, call, clock } = streamRig();
    {
      await using a = stream("a") as AsyncIterableIterator<unknown> & AsyncDisposable;
      await clock.settle();
      expect(a).toBeDefined();
    }
    expect(call(0).context.signal.aborted).toBe(true);
  });

  test("twice, or after the end, changes nothing", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a");
    await clock.settle();
    call(0).finish();
    await clock.settle();
    await a.return?.();
    await a.return?.();
    expect(stream.stats()).toMatchObject({ completed: 1, cancelled: 0 });
    expect(call(0).context.signal.aborted).toBe(false);
    expect(addsUp(stream)).toBe(true);
  });

  test("with chunks unread loses them", async () => {
    const { stream, call, clock } = streamRig();
    const a = stream("a");
    await clock.settle();
    for (const value of [1, 2, 3]) {
      call(0).yield(value);
      await clock.settle();
    }
    await a.return?.();
    expect(await a.next()).toEqual(ended);
  });

  test("keeps the slot for the handler until that has stopped, for a hung one has not", async () => {
    const { stream, call, calls, clock } = streamRig({ maxBatchSize: 1, handlerTimeoutMs: 500 });
    const a = stream("a");
    const b = read(stream("b"));
    await clock.settle();
    await a.return?.();
    await clock.advance(499);
    expect(calls).toHaveLength(1);
    await clock.advance(1);
    expect(call(1).items).toEqual(["b"]);
    call(0).yield("late");
    call(1).yield("in time");
    await clock.settle();
    expect(b.chunks).toEqual(["in time"]);
    expect(call(0).isStopped).toBe(true);
  });
});

describe("a caller's signal", () => {
  test("that aborts while its item waits fails the stream with its reason, and the handler never sees the item", async () => {
    const { stream, calls, clock } = streamRig();
    const controller = new AbortController();
    const a = read(stream("a", { signal: controller.signal }));
    const reason = new Error("changed my mind");
    controller.abort(reason);
    await clock.settle();
    expect(a.error).toBe(reason);
    expect(calls).toEqual([]);
    expect(stream.stats().cancelled).toBe(1);
  });

  test("that aborts half way fails the stream after the chunk it was given", async () => {
    const { stream, call, clock } = streamRig();
    const controller = new AbortController();
    const a = stream("a", { signal: controller.signal });
    await clock.settle();
    call(0).yield(1);
    await clock.settle();
    controller.abort("gone");
    await clock.settle();
    expect(call(0).context.signal.aborted).toBe(true);
    expect(await a.next()).toEqual(chunk(1));
    await expect(a.next()).rejects.toBe("gone");
    expect(await a.next()).toEqual(ended);
  });

  test("that had aborted before fails the stream", async () => {
    const { stream, calls, clock } = streamRig();
    const a = await fateOf(stream("a", { signal: AbortSignal.abort("early") }));
    await clock.settle();
    expect(a).toEqual({ chunks: [], error: "early" });
    expect(calls).toEqual([]);
    expect(stream.stats()).toMatchObject({ submitted: 1, cancelled: 1 });
  });

  test("shared by a thousand streams gets one listener, which goes with the last of them", async () => {
    const { stream, call, clock } = streamRig({ maxBatchSize: 1000 });
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    for (const item of range(1000)) read(stream(String(item), { signal }));
    await clock.settle();
    expect(add).toHaveBeenCalledTimes(1);
    expect(remove).not.toHaveBeenCalled();
    call(0).finish();
    await clock.settle();
    expect(remove).toHaveBeenCalledTimes(1);
    expect(stream.stats().completed).toBe(1000);
  });

  test("does not keep a reader from breaking off by itself", async () => {
    const { stream, clock } = streamRig();
    const { signal } = new AbortController();
    const a = stream("a", { signal });
    await clock.settle();
    await a.return?.();
    expect(stream.stats().cancelled).toBe(1);
    expect(signal.aborted).toBe(false);
  });

  test("that aborts after the end changes nothing", async () => {
    const stream = batchStream(async function* (items: number[]) {
      yield items;
    });
    const controller = new AbortController();
    const fate = await fateOf(stream(1, { signal: controller.signal }));
    controller.abort();
    expect(fate).toEqual({ chunks: [1] });
    expect(stream.stats()).toMatchObject({ completed: 1, cancelled: 0 });
  });
});

test("two streams whose signal's reason cannot be read end with the error of reading it", async () => {
  const { stream, clock } = streamRig();
  const target = Object.assign(new EventTarget(), { aborted: false });
  const signal = unreadable("reason", target) as AbortSignal;
  const fates = ["a", "b"].map((item) => fateOf(stream(item, { signal })));
  await clock.settle();
  target.aborted = true;
  signal.dispatchEvent(new Event("abort"));
  await clock.settle();
  expect(await Promise.all(fates)).toMatchObject([{ error: new Error("read") }, { error: new Error("read") }]);
  expect(await fateOf(stream("c", { signal }))).toMatchObject({ error: new Error("read") });
});

describe("streams that share a signal end in one step when it aborts", () => {
  test("where a listener flushes meanwhile: none is handed to the handler", async () => {
    const { stream, calls, clock } = streamRig({ maxWaitMs: 1_000 });
    stream.on("item", () => void stream.flush());
    const abort = new AbortController();
    const { signal } = abort;
    const fates = ["a", "b", "c"].map((item) => fateOf(stream(item, { signal })));
    read(stream("live"));
    await clock.settle();
    const reason = new Error("gone");
    abort.abort(reason);
    await clock.settle();
    expect(await Promise.all(fates)).toEqual(range(3).map(() => ({ chunks: [], error: reason })));
    expect(calls.map(({ items }) => items)).toEqual([["live"]]);
    expect(stream.stats()).toMatchObject({ cancelled: 3 });
  });
});
