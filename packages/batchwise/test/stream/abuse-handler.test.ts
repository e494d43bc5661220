import { DONE, SKIP } from "batchwise";
import { describe, expect, test } from "vitest";
import { type Abuse, abused } from "./support.ts";

const boom = new Error("boom");

async function* throwsAfter(items: number[]): AsyncGenerator<number[]> {
  yield items;
  throw boom;
}

describe("a handler that throws", () => {
  test.each<[string, Abuse]>([
    [
      "when called",
      () => {
        throw boom;
      },
    ],
    ["as a rejection", () => Promise.reject(boom)],
    [
      "before the first round",
      async function* (items) {
        await Promise.reject(boom);
        yield items;
      },
    ],
    [
      "before the first round, in a sync generator",
      () => ({
        [Symbol.iterator]: () => ({
          next: () => {
            throw boom;
          },
        }),
      }),
    ],
    [
      "when its iterator is asked for",
      () => ({
        [Symbol.asyncIterator]: () => {
          throw boom;
        },
      }),
    ],
  ])("fails every caller with its own error, unwrapped: %s", async (_, handler) => {
    const { fates, after } = await abused(handler);
    expect(fates).toEqual([
      { chunks: [], error: boom },
      { chunks: [], error: boom },
    ]);
    expect(fates[0]?.error).toBe(boom);
    expect(after).toEqual([3]);
  });

  test("after a round fails every caller after the chunk it was given", async () => {
    const { fates, after } = await abused(throwsAfter);
    expect(fates).toEqual([
      { chunks: [1], error: boom },
      { chunks: [2], error: boom },
    ]);
    expect(after).toEqual([3]);
  });

  test("after one caller's DONE fails only the others", async () => {
    const { fates } = await abused(async function* (items) {
      yield items;
      yield [DONE, SKIP];
      throw boom;
    });
    expect(fates).toEqual([{ chunks: [1] }, { chunks: [2], error: boom }]);
  });

  test("after one caller's Error fails only the others", async () => {
    const own = new Error("own");
    const { fates } = await abused(async function* () {
      yield [own, SKIP];
      throw boom;
    });
    expect(fates.map(({ error }) => error)).toEqual([own, boom]);
  });

  test("undefined fails every caller with that", async () => {
    const { fates } = await abused(() => Promise.reject(undefined));
    expect(fates).toEqual([
      { chunks: [], error: undefined },
      { chunks: [], error: undefined },
    ]);
    expect(fates.map((fate) => "error" in fate)).toEqual([true, true]);
  });

  test("in its finally after the last DONE fails no caller", async () => {
    const { fates, after } = await abused(async function* (items) {
      try {
        yield items;
        yield [DONE, DONE];
      } finally {
        await Promise.reject(boom);
      }
    });
    expect(fates).toEqual([{ chunks: [1] }, { chunks: [2] }]);
    expect(after).toEqual([3]);
  });

  test("in its finally at its own end fails every caller, for that is its end", async () => {
    const { fates } = await abused(async function* (items) {
      try {
        yield items;
      } finally {
        await Promise.reject(boom);
      }
    });
    expect(fates.map(({ error }) => error)).toEqual([boom, boom]);
  });
});
