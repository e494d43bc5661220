import { type Batcher, type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { range } from "../support.ts";
import { watched } from "./objects.ts";

type Trick = (batcher: Batcher<number, number>, leave: AbortController) => void;

/**
 * Calls from inside. After any of them, no promise of a submit may stay open, and the counts must
 * match.
 */
const tricks: Record<string, Trick> = {
  "submits more": (batcher) => void batcher.submit(100).catch(() => {}),
  "submits many more": (batcher) => void batcher.submitSettled(range(20)),
  "aborts the callers": (_, leave) => leave.abort(new Error("gone")),
  flushes: (batcher) => void batcher.flush(),
  "pauses and resumes": (batcher) => {
    batcher.pause();
    batcher.resume();
  },
  pauses: (batcher) => batcher.pause(),
  reconfigures: (batcher) =>
    batcher.configure({ maxBatchSize: 1 + (batcher.options.maxBatchSize % 5), concurrency: 3 }),
  "asks for readiness": (batcher) => void batcher.ready().catch(() => {}),
  "looks at everything": (batcher) => {
    batcher.stats();
    batcher.inspect();
  },
  closes: (batcher) => void batcher.close(),
  "closes without draining": (batcher) => void batcher.close({ drain: false }),
};

/** Places of the call. Each calls at most three times, so that the test ends. */
const places: Record<string, (play: () => void) => { options: BatchOptions<number, number>; on?: "batch" | "item" }> = {
  "the handler": () => ({ options: {} }),
  cost: (play) => ({
    options: {
      cost: () => {
        play();
        return 1;
      },
    },
  }),
  key: (play) => ({
    options: {
      key: (item) => {
        play();
        return String(item % 2);
      },
    },
  }),
  dedupe: (play) => ({
    options: {
      dedupe: (item) => {
        play();
        return String(item);
      },
    },
  }),
  fairBy: (play) => ({
    options: {
      fairBy: (item) => {
        play();
        return String(item % 3);
      },
    },
  }),
  batchCost: (play) => ({
    options: {
      maxBatchCost: 3,
      batchCost: (items) => {
        play();
        return items.length;
      },
    },
  }),
  "the `then` of a result": () => ({ options: {} }),
  captureContext: (play) => ({ options: { captureContext: play } }),
  "cache.get": (play) => ({ options: { dedupe: String, cache: { get: () => void play(), set() {} } } }),
  "cache.set": (play) => ({ options: { dedupe: String, cache: { get: () => undefined, set: play } } }),
  "retry.when": (play) => ({
    options: {
      retry: {
        attempts: 2,
        when: () => {
          play();
          return true;
        },
      },
    },
  }),
  "a listener of batches": () => ({ options: {}, on: "batch" }),
  "a listener of items": () => ({ options: {}, on: "item" }),
};

const cases = Object.keys(places).flatMap((place) => Object.keys(tricks).map((trick) => [place, trick] as const));

describe.each([
  ["at once", (items: number[]) => items],
  ["later", async (items: number[]) => items],
] as const)("with a handler that answers %s", (_, answer) => {
  test.each(cases)("%s that %s leaves no caller pending", async (place, trick) => {
    const clock = virtualClock();
    const leave = new AbortController();
    let plays = 0;
    const play = (): void => {
      plays += 1;
      if (plays <= 3) tricks[trick]?.(batcher, leave);
    };
    const { options, on } = places[place]?.(play) ?? { options: {} };
    let calls = 0;
    const handler = (items: number[]): number[] | Promise<number[]> => {
      calls += 1;
      if (place === "the handler") play();
      if (place === "retry.when" && calls % 2 === 1) throw new Error("once more");
      if (place !== "the `then` of a result") return answer(items);
      return answer(items.map(() => watched(play) as unknown as number));
    };
    const batcher = createBatcher<number, number>(handler, { maxBatchSize: 4, ...options, clock });
    if (on !== undefined) batcher.on(on, play);
    const settled = [
      batcher.submitSettled(range(5)),
      batcher.submitSettled(range(5), { signal: leave.signal }),
      batcher.submitSettled([7, 8], { priority: 1, timeoutMs: 1_000 }),
    ];
    await clock.runAll();
    for (let pause = 0; pause < 3; pause += 1) {
      batcher.resume();
      await clock.runAll();
    }
    await Promise.all(settled);
    expect(plays).toBeGreaterThan(0);
    await batcher.close();
    const { submitted, completed, failed, cancelled, expired, rejected, waiting, running } = batcher.stats();
    expect(completed + failed + cancelled + expired + rejected).toBe(submitted);
    expect([waiting, running, clock.timers]).toEqual([0, 0, 0]);
    expect(batcher.inspect()).toEqual([]);
  });
});

test("a batchCost that pauses while items are held sends nothing before it is resumed", async () => {
  const clock = virtualClock();
  const handed: number[][] = [];
  const batcher = createBatcher(
    (items: number[]) => {
      handed.push(items);
      return items;
    },
    {
      clock,
      maxWaitMs: 50,
      preferredBatchSize: 2,
      maxBatchCost: 100,
      batchCost: (items) => {
        if (items.length === 2 && clock.now() === 0) batcher.pause();
        return items.length;
      },
    },
  );
  const answers = Promise.all([batcher.submit(1), batcher.submit(2)]);
  await clock.settle();
  expect(handed).toEqual([]);
  await clock.advance(100);
  batcher.resume();
  await clock.runAll();
  expect(await answers).toEqual([1, 2]);
  expect(handed).toEqual([[1, 2]]);
});

test("nothing is run after a close that was called from inside `cost`", async () => {
  const handed: number[] = [];
  let closed: Promise<void> | undefined;
  const batcher = createBatcher(
    {
      run: (items: number[]) => {
        handed.push(...items);
        return items;
      },
      close: () => void handed.push(-1),
    },
    {
      cost: (item) => {
        if (item === 2) closed = batcher.close({ drain: false });
        return 1;
      },
    },
  );
  const settled = await batcher.submitSettled([1, 2, 3]);
  await closed;
  expect(settled).toMatchObject(range(3).map(() => ({ reason: { code: "CLOSED" } })));
  expect(handed).toEqual([-1]);
});

/** Also waits for submits that are made meanwhile. */
async function allOf(answers: readonly Promise<unknown>[]): Promise<void> {
  for (let seen = 0; seen < answers.length; ) {
    seen = answers.length;
    await Promise.all(answers);
  }
}

describe("submits in a row in the middle of a decision are all answered", () => {
  test("when a handler that answers at once makes them", async () => {
    let calls = 0;
    const answers: Promise<number>[] = [];
    const batcher: Batcher<number, number> = createBatcher(
      (items: number[]) => {
        calls += 1;
        if (calls <= 5) for (const item of [1, 2, 3]) answers.push(batcher.submit(10 * calls + item));
        return items;
      },
      { maxBatchSize: 4, concurrency: 2 },
    );
    await batcher.submit(0);
    await allOf(answers);
    await batcher.close();
    expect(answers).toHaveLength(15);
    expect(await Promise.all(answers)).toEqual(
      [1, 2, 3, 4, 5].flatMap((call) => [1, 2, 3].map((item) => 10 * call + item)),
    );
  });

  test.each(["batch", "item"] as const)("when a listener of %s events makes them", async (name) => {
    const batcher = createBatcher((items: number[]) => items, { maxBatchSize: 4 });
    const answers: Promise<number>[] = [];
    batcher.on(name, () => {
      if (answers.length < 15) for (const item of [1, 2, 3]) answers.push(batcher.submit(item));
    });
    await batcher.submit(0);
    await allOf(answers);
    await batcher.close();
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3].slice(0, answers.length));
    expect(batcher.stats()).toMatchObject({ submitted: 1 + answers.length, completed: 1 + answers.length, waiting: 0 });
  });
});
