import { batchStream, DONE, SKIP } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { addsUp, all, fateOf, read } from "./support.ts";

type Handler = (items: number[]) => unknown;

/** Streams of 1 and 2 through a handler that answers nothing it should, and whether it works afterwards. */
async function abused(handler: Handler): Promise<{ fates: { chunks: unknown[]; error?: unknown }[]; after: unknown }> {
  let calls = 0;
  const stream = batchStream<number, unknown>((items) => {
    calls += 1;
    return (calls === 1 ? handler(items) : [items]) as never;
  });
  const fates = await Promise.all([fateOf(stream(1)), fateOf(stream(2))]);
  const after = await all(stream(3));
  expect(addsUp(stream)).toBe(true);
  return { fates, after };
}

const boom = new Error("boom");

async function* throwsAfter(items: number[]): AsyncGenerator<number[]> {
  yield items;
  throw boom;
}

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

describe("a handler that throws", () => {
  test.each<[string, Handler]>([
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

  test("after one caller's DONE fails the others alone", async () => {
    const { fates } = await abused(async function* (items) {
      yield items;
      yield [DONE, SKIP];
      throw boom;
    });
    expect(fates).toEqual([{ chunks: [1] }, { chunks: [2], error: boom }]);
  });

  test("after one caller's Error fails the others alone", async () => {
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

  test("in its finally after the last DONE harms nobody", async () => {
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

describe("a handler that never comes to an end", () => {
  test("for it never yields: its callers' deadlines and its time limit hold", async () => {
    const clock = virtualClock();
    const stream = batchStream<number, number>(
      async function* (items) {
        await new Promise(() => {});
        yield items;
      },
      { clock, handlerTimeoutMs: 1000 },
    );
    const [a, b] = [read(stream(1, { timeoutMs: 10 })), read(stream(2))];
    await clock.advance(10);
    expect(a.error).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(b.state).toBe("open");
    await clock.advance(990);
    expect(b.error).toMatchObject({ code: "HANDLER_TIMEOUT" });
    expect(addsUp(stream)).toBe(true);
  });

  test("for it ignores that it is stopped: its slot is free after its time limit", async () => {
    const clock = virtualClock();
    const stream = batchStream<number, number>(
      (items) => ({
        [Symbol.asyncIterator]: () => ({
          next: async () => ({ done: false, value: items }),
          return: () => new Promise(() => {}),
        }),
      }),
      { clock, handlerTimeoutMs: 1000, maxBatchSize: 1 },
    );
    const a = stream(1);
    const b = stream(2);
    expect(await a.next()).toEqual({ done: false, value: 1 });
    await a.return?.();
    await clock.advance(999);
    expect(stream.stats().waiting).toBe(1);
    await clock.advance(1);
    expect(await b.next()).toEqual({ done: false, value: 2 });
  });

  test("for it yields SKIP for ever, a task apart: its callers can leave", async () => {
    let rounds = 0;
    let isStopped = false;
    const stream = batchStream<number, number>(async function* (items) {
      try {
        for (;;) {
          await new Promise((resolve) => setImmediate(resolve));
          rounds += 1;
          yield items.map(() => SKIP);
        }
      } finally {
        isStopped = true;
      }
    });
    const a = stream(1);
    const open = a.next();
    while (rounds < 20) await new Promise((resolve) => setImmediate(resolve));
    await a.return?.();
    expect(await open).toEqual({ done: true, value: undefined });
    await stream.close();
    expect(isStopped).toBe(true);
  });
});

describe("a handler of its own making", () => {
  test("needs no `return`", async () => {
    const stream = batchStream<number, number>((items) => ({
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: items.map(() => DONE) }) }),
    }));
    expect(await all(stream(1))).toEqual([]);
    await stream.close();
    expect(addsUp(stream)).toBe(true);
  });

  test("is not stopped after it threw or ended", async () => {
    let stops = 0;
    const source = (last: () => unknown): never =>
      ({
        [Symbol.iterator]: () => ({
          next: last,
          return: () => {
            stops += 1;
          },
        }),
      }) as never;
    await fateOf(
      batchStream<number, number>(() =>
        source(() => {
          throw boom;
        }),
      )(1),
    );
    await fateOf(batchStream<number, number>(() => source(() => ({ done: true })))(1));
    expect(stops).toBe(0);
  });

  test("may change its items and use one array for all rounds", async () => {
    const stream = batchStream<string, string>(function* (items) {
      const round: (string | typeof DONE)[] = [];
      for (let letter = 0; letter < 4; letter += 1) {
        for (const [index, word] of items.entries()) round[index] = word[letter] ?? DONE;
        yield round;
      }
      items.length = 0;
    });
    expect(await stream.submitMany(["abc", "d"])).toEqual([["a", "b", "c"], ["d"]]);
  });
});
