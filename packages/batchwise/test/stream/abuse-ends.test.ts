import { batchStream, DONE, SKIP } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { addsUp, all, fateOf, read } from "./support.ts";

const boom = new Error("boom");

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

  test("for it yields SKIP without end, a task apart: its callers can cancel", async () => {
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
