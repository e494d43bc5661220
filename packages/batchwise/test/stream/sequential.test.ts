import { batchStream, DONE, SKIP, type WarningEvent } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { range, watch } from "../support.ts";
import { addsUp, all, chunk, ended, read, type StreamRig, streamRig } from "./support.ts";

/** A stream function whose handler yields this many rounds at once, and its warnings. */
function counting(rounds: number, maxBufferedChunks?: number) {
  const clock = virtualClock();
  const warnings: WarningEvent[] = [];
  const options = maxBufferedChunks === undefined ? { clock } : { clock, maxBufferedChunks };
  const stream = batchStream(async function* (items: string[]) {
    for (let round = 0; round < rounds; round += 1) yield items.map((item) => `${item}${round}`);
  }, options);
  stream.on("warning", (warning) => warnings.push(warning));
  return { clock, stream, warnings };
}

/** Two streams of one batch, read by one reader one after the other. */
async function oneAfterTheOther(stream: StreamRig["stream"] | ReturnType<typeof counting>["stream"]) {
  const [a, b] = [stream("a"), stream("b")];
  return [await all(a), await all(b)];
}

const names = (item: string, count: number): string[] => range(count).map((round) => `${item}${round}`);

describe("two streams of one batch that are read one after the other", () => {
  test.each([
    [16, undefined],
    [1, 1],
    [4, 4],
    [3, 4],
    [500, Number.POSITIVE_INFINITY],
  ])("give all their chunks where a stream has %i and maxBufferedChunks is %s", async (rounds, maxBufferedChunks) => {
    const { stream, clock, warnings } = counting(rounds, maxBufferedChunks);
    const both = watch(oneAfterTheOther(stream));
    await clock.advance(10_000);
    expect(both.value).toEqual([names("a", rounds), names("b", rounds)]);
    expect(warnings).toEqual([]);
    expect(stream.stats()).toMatchObject({ batches: 1, completed: 2 });
  });

  test("give all their chunks where the handler marks the end with DONE", async () => {
    const spell = batchStream(async function* (words: string[]) {
      for (let index = 0; ; index += 1) yield words.map((word) => word[index] ?? DONE);
    });
    const word = "sixteenlettersab";
    const [a, b] = [spell(word), spell(word)];
    expect((await all(a)).join("")).toBe(word);
    expect((await all(b)).join("")).toBe(word);
  });

  test.each([
    [17, undefined],
    [2, 1],
    [100, 4],
  ])("wait where a stream has %i chunks and maxBufferedChunks is %s", async (rounds, maxBufferedChunks = 16) => {
    const { stream, clock, warnings } = counting(rounds, maxBufferedChunks);
    const [a, b] = [read(stream("a")), stream("b")];
    await clock.advance(10_000);
    expect(a).toEqual({ chunks: names("a", maxBufferedChunks + 1), state: "open" });
    expect(warnings).toHaveLength(1);
    expect(await all(b)).toEqual(names("b", rounds));
    await clock.settle();
    expect(a).toEqual({ chunks: names("a", rounds), state: "ended" });
    expect(addsUp(stream)).toBe(true);
  });

  test("do not wait for rounds that give the unread one nothing", async () => {
    const stream = batchStream(async function* (items: string[]) {
      for (let round = 0; round < 100; round += 1) yield items.map((item) => (item === "b" ? SKIP : round));
    });
    expect(await oneAfterTheOther(stream as never)).toEqual([range(100), []]);
  });
});

describe("a batch that waits for a caller who does not read", () => {
  test("warns after a second, with the ways out in words", async () => {
    const { stream, clock, warnings } = counting(100, 2);
    const [, b] = [read(stream("a")), stream("b")];
    await clock.advance(999);
    expect(warnings).toEqual([]);
    const [running] = stream.inspect();
    await clock.advance(1);
    const message =
      `Batch ${running?.id} has waited 1000 ms for a caller who does not read; all its streams wait with it. ` +
      "Read the streams of a batch concurrently, not one after the other, or raise maxBufferedChunks (2).";
    expect(warnings).toEqual([{ code: "STREAM_BLOCKED", message, cause: undefined }]);
    await b.return?.();
  });

  test("says for how many callers it waits", async () => {
    const { stream, clock, warnings } = counting(100, 2);
    for (const item of ["a", "b", "c"]) stream(item);
    await clock.advance(1000);
    expect(warnings[0]?.message).toContain("waited 1000 ms for 3 callers who do not read;");
  });

  test("warns once, however often and however long it waits", async () => {
    const { stream, clock, warnings } = counting(100, 1);
    const a = stream("a");
    for (let chunks = 0; chunks < 5; chunks += 1) {
      await clock.advance(60_000);
      await a.next();
    }
    expect(warnings).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });

  test("warns in the next batch again", async () => {
    const { stream, clock, warnings } = counting(3, 1);
    for (const item of ["a", "b"]) {
      const late = stream(item);
      await clock.advance(1000);
      await all(late);
    }
    expect(warnings).toHaveLength(2);
    expect(new Set(warnings.map(({ message }) => message)).size).toBe(2);
  });

  test("does not warn where each wait is shorter, though they add up to more", async () => {
    const { stream, clock, warnings } = counting(20, 1);
    const a = stream("a");
    for (let chunks = 0; chunks < 20; chunks += 1) {
      await clock.advance(900);
      expect(await a.next()).toEqual(chunk(`a${chunks}`));
    }
    expect(await a.next()).toEqual(ended);
    expect(warnings).toEqual([]);
  });

  test("has one timer while it waits, and none before and after", async () => {
    const { stream, clock } = counting(6, 2);
    const [a, b] = [stream("a"), stream("b")];
    expect(clock.timers).toBe(0);
    await clock.settle();
    expect(clock.timers).toBe(1);
    await a.next();
    await clock.settle();
    expect(clock.timers).toBe(1);
    await b.next();
    await clock.settle();
    expect(clock.timers).toBe(1);
    const both = Promise.all([all(a), all(b)]);
    await clock.settle();
    expect(clock.timers).toBe(0);
    expect(await both).toEqual([names("a", 6).slice(1), names("b", 6).slice(1)]);
  });

  test.each<[string, (rig: StreamRig, slow: AsyncIterableIterator<unknown>) => unknown]>([
    ["its caller leaves", (_, slow) => slow.return?.()],
    ["the batcher is closed", ({ stream }) => stream.close({ drain: false })],
  ])("has no timer any more when %s", async (_, act) => {
    const rig = streamRig({ maxBufferedChunks: 1 });
    const slow = rig.stream("slow");
    await rig.clock.settle();
    for (const value of [1, 2]) {
      rig.call(0).yield(value);
      await rig.clock.settle();
    }
    expect(rig.clock.timers).toBe(1);
    await act(rig, slow);
    await rig.clock.settle();
    expect(rig.clock.timers).toBe(0);
  });

  test("continues with a listener that throws, one that reads, and one that has been removed", async () => {
    const { stream, clock, warnings } = counting(3, 1);
    const a = stream("a");
    stream.on("warning", () => {
      throw new Error("listener");
    });
    const got: unknown[] = [];
    stream.on("warning", () => void a.next().then((step) => got.push(step)));
    const removed: unknown[] = [];
    stream.on("warning", (warning) => removed.push(warning))();
    await clock.advance(1000);
    expect(warnings.map(({ code }) => code)).toEqual(["STREAM_BLOCKED"]);
    expect(got).toEqual([chunk("a0")]);
    expect(removed).toEqual([]);
    expect(await all(a)).toEqual(["a1", "a2"]);
  });

  test("differs from the engine's own warnings, which the same listener gets", async () => {
    const { stream, clock, warnings } = counting(3, 1);
    stream.on("batch", () => {
      throw new Error("listener");
    });
    const a = stream("a");
    await clock.advance(1000);
    await all(a);
    await clock.settle();
    expect(warnings.map(({ code }) => code)).toEqual(["STREAM_BLOCKED", "LISTENER_FAILED"]);
  });
});

describe("maxBufferedChunks", () => {
  test("is 16, and stands among the options in force", () => {
    expect(streamRig().stream.options.maxBufferedChunks).toBe(16);
    const { stream } = streamRig({ maxBufferedChunks: 3, maxBatchSize: 5 });
    stream.configure({ maxBatchSize: 6 });
    expect(stream.options).toMatchObject({ maxBufferedChunks: 3, maxBatchSize: 6 });
    expect(Object.isFrozen(stream.options)).toBe(true);
  });

  test("does not keep a batch's slot for a caller who has all chunks and has not read them", async () => {
    const rig = streamRig({ maxBatchSize: 1 });
    const a = rig.stream("a");
    rig.stream("b");
    await rig.clock.settle();
    for (const value of [1, 2, 3, DONE]) {
      rig.call(0).yield(value);
      await rig.clock.settle();
    }
    expect(rig.calls).toHaveLength(2);
    expect(rig.stream.stats()).toMatchObject({ completed: 1 });
    expect(await all(a)).toEqual([1, 2, 3]);
  });

  test("lets a caller read its chunks after a deadline, a signal or the end of the batcher", async () => {
    const rig = streamRig();
    const controller = new AbortController();
    const streams = [
      rig.stream("a", { timeoutMs: 50 }),
      rig.stream("b", { signal: controller.signal }),
      rig.stream("c"),
    ];
    await rig.clock.settle();
    for (const value of range(5)) {
      rig.call(0).yield(value, value, value);
      await rig.clock.settle();
    }
    await rig.clock.advance(50);
    controller.abort("gone");
    void rig.stream.close({ drain: false });
    await rig.clock.settle();
    const endings = [{ code: "DEADLINE_EXCEEDED" }, "gone", { code: "CLOSED" }];
    for (const [index, ending] of endings.entries()) {
      const reading = read(streams[index] as AsyncIterable<unknown>);
      await rig.clock.settle();
      expect(reading.chunks).toEqual(range(5));
      expect(reading.error).toEqual(typeof ending === "string" ? ending : expect.objectContaining(ending));
    }
  });
});
