import { batchStream, DONE } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { abused, read } from "./support.ts";

describe("a handler that returns what is no source of rounds", () => {
  test.each<[string, unknown, string]>([
    ["nothing", undefined, "`undefined`"],
    ["null", null, "`null`"],
    ["a number", 7, "`7` (number)"],
    ["an object", { yields: [] }, "an object (Object)"],
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

describe("a handler that yields what is no round", () => {
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
