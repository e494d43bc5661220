// Fake timers of vitest and Jest (those of @sinonjs/fake-timers), with everything that they can
// fake, switched on and off around a batcher on the platform's clock. The library was loaded
// before.

import { mock } from "node:test";
import { withGlobal } from "@sinonjs/fake-timers";
import { type Batcher, type BatchOptions, createBatcher, rateLimiter } from "batchwise";
import { afterEach, describe, expect, test, vi } from "vitest";
import { range } from "../support.ts";

const real = { setTimeout, clearTimeout, setImmediate, now: performance.now.bind(performance) };

interface FakeTimers {
  readonly fakesAll: boolean;
  on(): void;
  off(): void;
  advance(ms: number): void;
}

function ofVitest(): FakeTimers {
  const toFake = [
    "setTimeout",
    "clearTimeout",
    "setInterval",
    "clearInterval",
    "setImmediate",
    "clearImmediate",
    "nextTick",
    "queueMicrotask",
    "performance",
    "Date",
  ] as const;
  return {
    fakesAll: true,
    on: () => void vi.useFakeTimers({ toFake: [...toFake] }),
    off: () => void vi.useRealTimers(),
    advance: (ms) => void vi.advanceTimersByTime(ms),
  };
}

/** As `jest.useFakeTimers()` installs them: all APIs. */
function ofJest(): FakeTimers {
  const fake = withGlobal(globalThis);
  let clock: ReturnType<typeof fake.install> | undefined;
  return {
    fakesAll: true,
    on: () => {
      clock = fake.install({ now: Date.now(), loopLimit: 100_000, toFake: Object.keys(fake.timers) as never });
    },
    off: () => {
      clock?.uninstall();
      clock = undefined;
    },
    advance: (ms) => void clock?.tick(ms),
  };
}

/** Only `setTimeout`: time itself continues. */
function ofVitestAlone(): FakeTimers {
  return {
    ...ofVitest(),
    fakesAll: false,
    on: () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }),
  };
}

/** As most tests of node:test do; these timers advance no clock but `Date`. */
function ofNodeTest(apis: ("setTimeout" | "setImmediate" | "Date")[]): FakeTimers {
  return {
    fakesAll: false,
    on: () => mock.timers.enable({ apis }),
    off: () => mock.timers.reset(),
    advance: (ms) => mock.timers.tick(ms),
  };
}

const kinds: [string, FakeTimers][] = [
  ["vitest", ofVitest()],
  ["Jest", ofJest()],
  ["vitest, setTimeout alone", ofVitestAlone()],
  ["node:test, setTimeout alone", ofNodeTest(["setTimeout"])],
  ["node:test, with Date and setImmediate", ofNodeTest(["setTimeout", "setImmediate", "Date"])],
];

const handlers = {
  sync: (items: number[]): number[] => items,
  async: async (items: number[]): Promise<number[]> => items,
};

/** Rejects, by a real timer, if the promise does not settle. */
async function soon<Value>(promise: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = real.setTimeout(() => reject(new Error("It hangs.")), 1_000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    real.clearTimeout(timer);
  }
}

/** Waits for a pass of the platform's event loop. */
const aPass = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve));

async function serves(batcher: Batcher<number, number>): Promise<void> {
  for (const round of range(3)) {
    const answers = range(5).map((item) => batcher.submit(10 * round + item));
    expect(await soon(Promise.all(answers))).toEqual(range(5).map((item) => 10 * round + item));
  }
}

afterEach(() => {
  for (const [, timers] of kinds) timers.off();
});

describe.each(kinds)("with fake timers of %s", (_, timers) => {
  test("the functions that they claim are replaced, and restored", () => {
    const before = { nextTick: process.nextTick, now: performance.now, setTimeout };
    timers.on();
    expect(setTimeout).not.toBe(before.setTimeout);
    expect(process.nextTick !== before.nextTick).toBe(timers.fakesAll);
    expect(performance.now !== before.now).toBe(timers.fakesAll);
    timers.off();
    expect(setTimeout).toBe(before.setTimeout);
    expect(process.nextTick).toBe(before.nextTick);
  });

  describe.each([
    ["default options", {}],
    ['gather "turn"', { gather: "turn" }],
    ['gather "tick"', { gather: "tick" }],
  ] satisfies [string, BatchOptions<number, number>][])("and %s", (_title, options) => {
    describe.each(Object.entries(handlers))("a batcher with a handler that is %s", (_kind, handler) => {
      test("made before they are switched on serves while they are on, and after", async () => {
        const batcher = createBatcher(handler, options);
        timers.on();
        await serves(batcher);
        timers.off();
        await serves(batcher);
        await soon(batcher.close());
      });

      test("made while they are on serves, and after they are switched off", async () => {
        timers.on();
        const batcher = createBatcher(handler, options);
        await serves(batcher);
        timers.off();
        await serves(batcher);
        await soon(batcher.close());
      });

      test("that has served before serves on", async () => {
        const batcher = createBatcher(handler, options);
        await serves(batcher);
        timers.on();
        await serves(batcher);
        await soon(batcher.close());
      });

      test("answers items submitted before they are switched on", async () => {
        const batcher = createBatcher(handler, options);
        await serves(batcher);
        const answer = batcher.submit(1);
        timers.on();
        expect(await soon(answer)).toBe(1);
        await soon(batcher.close());
      });

      test("answers items submitted before they are switched off", async () => {
        timers.on();
        const batcher = createBatcher(handler, options);
        await serves(batcher);
        const answer = batcher.submit(1);
        timers.off();
        expect(await soon(answer)).toBe(1);
        await soon(batcher.close());
      });

      test("serves when they are switched on and off in every pass", async () => {
        const batcher = createBatcher(handler, options);
        const answers: Promise<number>[] = [];
        for (const item of range(20)) {
          if (item % 2 === 0) timers.on();
          else timers.off();
          answers.push(batcher.submit(item));
          await aPass();
        }
        expect(await soon(Promise.all(answers))).toEqual(range(20));
        await soon(batcher.close());
      });

      test("closes, drains and flushes while they are on", async () => {
        timers.on();
        const batcher = createBatcher(handler, options);
        const first = batcher.submit(1);
        await soon(batcher.flush());
        const second = batcher.submit(2);
        await soon(batcher.close());
        expect(await soon(Promise.all([first, second]))).toEqual([1, 2]);
      });
    });
  });

  test("deadlines of many callers pass together when they are moved on", async () => {
    timers.on();
    const batcher = createBatcher(() => new Promise<number[]>(() => {}), { timeoutMs: 300 });
    const answers = Promise.allSettled(range(20).map((item) => batcher.submit(item)));
    const end = real.now() + 1.5;
    while (real.now() < end); // the clock that is not faked goes on
    const last = batcher.submit(20).catch((error: { code: string }) => error.code);
    await aPass();
    timers.advance(300);
    const codes = (await soon(answers)).map((answer) => (answer as { reason?: { code: string } }).reason?.code);
    expect([...codes, await soon(last)]).toEqual(range(21).map(() => "DEADLINE_EXCEEDED"));
  });

  test("a wait passes when they are moved on", async () => {
    timers.on();
    const batcher = createBatcher(handlers.sync, { maxWaitMs: 50 });
    let isAnswered = false;
    const answer = batcher.submit(1).finally(() => {
      isAnswered = true;
    });
    await aPass();
    timers.advance(25);
    await aPass();
    expect(isAnswered).toBe(false);
    timers.advance(25);
    expect(await soon(answer)).toBe(1);
  });

  test.each(["before", "after"])(
    "a limiter made %s they are switched on grants when they are moved on",
    async (when) => {
      if (when === "after") timers.on();
      const limiter = rateLimiter({ callsPerMinute: 60 });
      if (when === "before") timers.on();
      const batcher = createBatcher(handlers.sync, { limiter, maxBatchSize: 1 });
      const answers = Promise.all(range(3).map((item) => batcher.submit(item)));
      for (const _ of range(3)) {
        await aPass();
        timers.advance(1_000);
      }
      expect(await soon(answers)).toEqual(range(3));
    },
  );

  test("a limiter whose timer they take along when they are switched off grants to the next client", async () => {
    const limiter = rateLimiter({ callsPerMinute: 600, burstMs: 1 });
    timers.on();
    const first = createBatcher(handlers.sync, { limiter, maxBatchSize: 1 });
    const answers = [first.submit(1), first.submit(2)];
    await aPass();
    await aPass();
    timers.off();
    const second = createBatcher(handlers.sync, { limiter });
    expect(await soon(second.submit(3))).toBe(3);
    expect(await soon(Promise.all(answers))).toEqual([1, 2]);
  });

  test.each([0.5, 1.5, 2.5, 3.5])("a wait of 3 ms passes when they are moved on after %s real ms", async (realMs) => {
    timers.on();
    const batcher = createBatcher(handlers.sync, { maxWaitMs: 3 });
    const answer = batcher.submit(1);
    await aPass();
    const end = real.now() + realMs;
    while (real.now() < end);
    timers.advance(3);
    expect(await soon(answer)).toBe(1);
  });
});
