import { batchStream, DONE } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { type Abuse, abused, read } from "./support.ts";

describe("a handler that returns no source of rounds", () => {
  test.each<[string, unknown, string]>([
    ["nothing", undefined, "`undefined`"],
    ["null", null, "`null`"],
    ["a number", 7, "`7` (number)"],
    ["an object", { yields: [] }, "an object (Object)"],
    ["a string", "ab", "`ab` (string)"],
    ["a generator function, not called", async function* () {}, "a function"],
    ["an iterable without an iterator", { [Symbol.asyncIterator]: () => ({}) }, "an object (Object)"],
    ["an iterable of nothing", { [Symbol.iterator]: () => null }, "an object (Object)"],
  ])("fails every caller with BATCH_RESULT: %s", async (_, returned, described) => {
    const { fates, after } = await abused(() => returned);
    const message = `Expected the handler to return an async iterable of rounds, got ${described}.`;
    expect(fates).toMatchObject([
      { chunks: [], error: { code: "BATCH_RESULT", message } },
      { chunks: [], error: { code: "BATCH_RESULT", message } },
    ]);
    expect(after).toEqual([3]);
  });
});

describe("a handler that returns an answer, as a handler of batch() does", () => {
  const hint = " It returned an array, which is read as a list of rounds; batch() takes handlers that return results.";

  test.each<[string, Abuse]>([
    ["results in an array", (items) => items],
    ["a promise of them", async (items) => items],
    ["results in a typed array", (items) => Float64Array.from(items)],
  ])("fails every caller with BATCH_RESULT, which names batch(): %s", async (_, handler) => {
    const { fates, after } = await abused(handler);
    const message = `Expected the handler to yield an array of 2 places, one per item, got \`1\` (number).${hint}`;
    expect(fates).toMatchObject([
      { chunks: [], error: { code: "BATCH_RESULT", message } },
      { chunks: [], error: { code: "BATCH_RESULT", message } },
    ]);
    expect(after).toEqual([3]);
  });

  test("fails every caller with BATCH_RESULT for one stream per item in an array", async () => {
    const { fates } = await abused((items) =>
      items.map(async function* (item) {
        yield item;
      }),
    );
    expect(fates[0]?.error).toMatchObject({ code: "BATCH_RESULT", message: expect.stringContaining(hint) });
  });

  test("causes no unhandled rejection: promises that fail, in an array and in a round that is refused", async () => {
    const fail = (): Promise<never> => Promise.reject(new Error("unheard"));
    const { fates } = await abused((items) => items.map(fail));
    expect(fates[0]?.error).toMatchObject({ code: "BATCH_RESULT" });
    const { fates: more } = await abused(() => [[fail(), fail(), fail()]]);
    expect(more[0]?.error).toMatchObject({ code: "BATCH_RESULT" });
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("a handler whose iterator does not answer with steps", () => {
  test.each([[undefined], [null], [5]])("fails every caller with BATCH_RESULT: %s", async (step) => {
    const { fates, after } = await abused(() => ({ [Symbol.asyncIterator]: () => ({ next: async () => step }) }));
    const message = expect.stringMatching(/^Expected the handler's iterator to give objects with done and value, got /);
    expect(fates).toMatchObject([
      { chunks: [], error: { code: "BATCH_RESULT", message } },
      { chunks: [], error: { code: "BATCH_RESULT", message } },
    ]);
    expect(after).toEqual([3]);
  });
});

describe("a handler that yields no round", () => {
  test.each<[string, unknown, string]>([
    ["nothing", undefined, "an array of 2 places, one per item, got `undefined`"],
    ["a string", "ab", "an array of 2 places, one per item, got `ab` (string)"],
    ["DONE", DONE, "an array of 2 places, one per item, got `Symbol(batchwise.DONE)` (symbol)"],
    ["a record", { 0: 1, 1: 2, length: 2 }, "an array of 2 places, one per item, got an object (Object)"],
    ["too few places", [1], "2 places, one per item, got 1"],
    ["too many places", [1, 2, 3], "2 places, one per item, got 3"],
    ["no places", [], "2 places, one per item, got 0"],
  ])("fails every caller with BATCH_RESULT: %s", async (_, yielded, expected) => {
    let isStopped = false;
    const { fates, after } = await abused(async function* (items) {
      try {
        yield items;
        yield yielded;
      } finally {
        isStopped = true;
      }
    });
    const error = { code: "BATCH_RESULT", message: `Expected the handler to yield ${expected}.` };
    expect(fates).toMatchObject([
      { chunks: [1], error },
      { chunks: [2], error },
    ]);
    expect(isStopped).toBe(true);
    expect(after).toEqual([3]);
  });

  test("fails every caller for an array whose length cannot be read", async () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    const { fates } = await abused(() => [proxy]);
    expect(fates).toMatchObject([{ error: { code: "BATCH_RESULT" } }, { error: { code: "BATCH_RESULT" } }]);
  });

  test("fails its callers at once, however long it takes to clean up; its slot is free when it has", async () => {
    const clock = virtualClock();
    let cleanedUp = (): void => {};
    const stream = batchStream<number, number>(
      async function* () {
        try {
          yield [];
        } finally {
          await new Promise<void>((resolve) => {
            cleanedUp = resolve;
          });
        }
      },
      { clock },
    );
    const a = read(stream(1));
    await clock.settle();
    expect(a).toMatchObject({ state: "failed", error: { code: "BATCH_RESULT" } });
    expect(stream.inspect()).toHaveLength(1);
    cleanedUp();
    await clock.settle();
    expect(stream.inspect()).toEqual([]);
  });
});

describe("a hole in a round", () => {
  test("rejects only its caller with BATCH_RESULT, which names the batcher and the place", async () => {
    const stream = batchStream<number, unknown>(
      function* (items) {
        const round = new Array<unknown>(items.length);
        round[0] = undefined;
        yield round;
        yield ["a", "too late"];
      },
      { name: "tokens" },
    );
    const [chunks, hole] = await stream.submitSettled([1, 2]);
    expect(chunks).toEqual({ status: "fulfilled", value: [undefined, "a"] });
    const message = "Batcher `tokens`: Expected the handler to yield 2 places, one per item, got none at index 1.";
    expect(hole).toMatchObject({ reason: { code: "BATCH_RESULT", retryable: false, message } });
    expect(stream.stats()).toMatchObject({ completed: 1, failed: 1, running: 0 });
  });
});
