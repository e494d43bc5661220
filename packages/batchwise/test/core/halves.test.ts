// The halves of a batch that failed as a whole (`isolateFailures`): each has its own calls, and no
// caller is lost because of the other half.

import { type BatchOptions, createBatcher } from "batchwise";
import { type Clock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { gate, range, watch } from "../support.ts";

/** Fails for more than one item. */
const singly = (items: string[]): string[] => {
  if (items.length > 1) throw new Error("one of them is bad");
  return items;
};

test("halves whose turn comes after one that all callers left are called", async () => {
  const clock = virtualClock();
  const batcher = createBatcher({ open: () => {}, run: singly }, { clock, isolateFailures: true });
  const controller = new AbortController();
  const one = batcher.submit("one");
  const two = watch(batcher.submit("two", { signal: controller.signal }));
  const others = [watch(batcher.submit("three")), watch(batcher.submit("four"))];
  await one;
  controller.abort();
  await clock.settle();
  expect(two.state).toBe("rejected");
  expect(others.map(({ value }) => value)).toEqual(["three", "four"]);
  await batcher.close();
});

describe("with stages", () => {
  test("a half that timed out while it was prepared is not run beside the next one", async () => {
    const clock = virtualClock();
    const slow = gate();
    const runs: string[][] = [];
    const handler = {
      prepare: async (items: string[]) => {
        if (items.length === 1 && items[0] === "slow") await slow.promise;
        return items;
      },
      run: (items: string[]) => {
        runs.push(items);
        return singly(items);
      },
    };
    const batcher = createBatcher(handler, { clock, isolateFailures: true, handlerTimeoutMs: 50 });
    const call = batcher.submitSettled(["slow", "one"]);
    await clock.advance(60);
    slow.open();
    await clock.settle();
    expect((await call).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(runs).toEqual([["slow", "one"], ["one"]]);
    await batcher.close();
  });
});

test.each([
  ["first", ["hangs", "one"]],
  ["last", ["one", "hangs"]],
])("a batch of which the %s half timed out has not failed as a whole", async (_, items) => {
  const clock = virtualClock();
  const batcher = createBatcher(
    (items: string[]) => (items[0] === "hangs" && items.length === 1 ? new Promise<string[]>(() => {}) : singly(items)),
    { clock, isolateFailures: true, handlerTimeoutMs: 50 },
  );
  const errors: unknown[] = [];
  batcher.on("batch", ({ error }) => errors.push(error));
  const call = batcher.submitSettled(items);
  await clock.advance(200);
  expect((await call).map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(errors).toEqual([undefined]);
  await batcher.close();
});

test.each(["dedupe", "length"])("an earlier call reads its requests after the batch has ended, with %s", async (by) => {
  const clock = virtualClock();
  const contexts: unknown[] = [];
  const late = gate();
  const batcher = createBatcher(
    async (items: string[], context) => {
      if (items.length > 1) throw new Error("one of them is bad");
      if (items[0] === "late") {
        await late.promise;
        contexts.push(...context.requests.map((request) => request.context));
      }
      return items;
    },
    {
      clock,
      isolateFailures: true,
      handlerTimeoutMs: 50,
      ...(by === "dedupe" ? { dedupe: String } : { order: "length" as const, cost: (item: string) => item.length }),
    },
  );
  const calls = [batcher.submit("late", { context: "mine" }), batcher.submit("one", { context: "other" })];
  const settled = Promise.allSettled(calls);
  await clock.advance(200);
  expect((await settled).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  await batcher.close();
  late.open();
  await clock.settle();
  expect(contexts).toEqual(["mine"]);
});

test("a size at which batches fail whose halves succeed is learned as too large", async () => {
  const clock = virtualClock();
  const sizes: number[] = [];
  const batcher = createBatcher(
    (items: number[]) => {
      sizes.push(items.length);
      if (items.length > 100) throw new Error("out of memory");
      return new Promise<number[]>((resolve) => clock.setTimeout(() => resolve(items), 50 + items.length / 10));
    },
    { clock, maxBatchCost: "learn", isolateFailures: true, maxBatchSize: 1_000 },
  );
  const call = batcher.submitMany(range(9_000));
  await clock.runAll();
  expect(await call).toEqual(range(9_000));
  expect(sizes.filter((size) => size > 100).length).toBeLessThan(sizes.length / 5);
  await batcher.close();
});

/** A clock that a handler may advance while it blocks the event loop, without firing timers. */
function blockable(): { clock: Clock; block(ms: number): void } {
  const steady = virtualClock();
  let blockedMs = 0;
  const { setTimeout, clearTimeout } = steady;
  const clock = {
    now: () => steady.now() + blockedMs,
    setTimeout: setTimeout.bind(steady),
    clearTimeout: clearTimeout.bind(steady),
  };
  return {
    clock,
    block: (ms) => {
      blockedMs += ms;
    },
  };
}

describe("items whose deadline passes while the handler blocks the event loop", () => {
  test.each<[what: string, options: BatchOptions<number, number>]>([
    ["for a half", { isolateFailures: true }],
    ["for another attempt without a pause", { retry: { attempts: 3 } }],
  ])("are not handed over again, %s", async (_what, options) => {
    const { clock, block } = blockable();
    const calls: number[][] = [];
    const handler = (items: number[]): number[] => {
      calls.push(items);
      block(30);
      throw new Error("bad");
    };
    const batcher = createBatcher(handler, { clock, timeoutMs: 20, ...options });
    const settled = await batcher.submitSettled([1, 2, 3, 4]);
    expect(calls).toEqual([[1, 2, 3, 4]]);
    expect(settled.map((one) => (one as PromiseRejectedResult).reason.code)).toEqual(
      new Array(4).fill("DEADLINE_EXCEEDED"),
    );
    expect(batcher.stats()).toMatchObject({ expired: 4, failed: 0 });
  });

  test("are not handed over after an `open` that blocked", async () => {
    const { clock, block } = blockable();
    const calls: number[][] = [];
    const run = (items: number[]): number[] => {
      calls.push(items);
      return items;
    };
    const batcher = createBatcher({ open: () => block(30), run }, { clock, timeoutMs: 20 });
    const settled = await batcher.submitSettled([1, 2]);
    expect([settled.map(({ status }) => status), calls]).toEqual([["rejected", "rejected"], []]);
  });
});

test("another attempt goes before a batch whose pause ends while the first one blocks", async () => {
  const { clock, block } = blockable();
  const calls: string[] = [];
  const handler = async ([item = ""]: string[]): Promise<string[]> => {
    calls.push(item);
    if (calls.filter((called) => called === item).length === 1) throw new Error(item);
    return [item];
  };
  const backoffMs = (_attempt: number, error: unknown): number => {
    if ((error as Error).message === "pauses") return 30;
    block(40);
    return 0;
  };
  const options = { clock, concurrency: 2, maxBatchSize: 1, retry: { attempts: 2, backoffMs } };
  const batcher = createBatcher(handler, options);
  const pauses = batcher.submit("pauses");
  await new Promise(setImmediate);
  const blocks = batcher.submit("blocks", { timeoutMs: 80 });
  expect(await Promise.all([pauses, blocks])).toEqual(["pauses", "blocks"]);
  expect(calls).toEqual(["pauses", "blocks", "blocks", "pauses"]);
});

test("a place that takes longer to read than the call may take ends no other half's call", async () => {
  const { clock, block } = blockable();
  let calls = 0;
  const handler = async (items: number[]): Promise<number[]> => {
    calls += 1;
    if (calls === 1) throw new Error("whole");
    const places = [...items];
    const get = (): number => {
      block(60);
      void batcher.flush();
      return 1;
    };
    return calls === 2 ? Object.defineProperty(places, 0, { enumerable: true, get }) : places;
  };
  const batcher = createBatcher(handler, { clock, isolateFailures: true, handlerTimeoutMs: 40 });
  const settled = await batcher.submitSettled([1, 2, 3, 4]);
  expect(settled.slice(2)).toEqual([3, 4].map((value) => ({ status: "fulfilled", value })));
});

test("each half waits for the pause in the error before it, a half of one item, too", async () => {
  const clock = virtualClock();
  const calls: string[] = [];
  const busy = (items: number[]): number[] => {
    calls.push(`${items.join()} at ${clock.now()}`);
    throw Object.assign(new Error("busy"), { retryAfterMs: 200 });
  };
  const batcher = createBatcher(busy, { clock, isolateFailures: true });
  const settled = batcher.submitSettled([1, 2, 3]);
  await clock.advance(2_000);
  await settled;
  expect(calls).toEqual(["1,2,3 at 0", "1 at 200", "2,3 at 400", "2 at 600", "3 at 800"]);
});

test("halves wait once for the pause in the error", async () => {
  const clock = virtualClock();
  const calls: string[] = [];
  const busy = (items: number[]): number[] => {
    calls.push(`${items.join()} at ${clock.now()}`);
    if (items.length > 2) throw Object.assign(new Error("busy"), { retryAfterMs: 500 });
    return items;
  };
  const batcher = createBatcher(busy, { clock, isolateFailures: true });
  const answers = batcher.submitMany([1, 2, 3, 4]);
  await clock.advance(500);
  expect(await answers).toEqual([1, 2, 3, 4]);
  expect(calls).toEqual(["1,2,3,4 at 0", "1,2 at 500", "3,4 at 500"]);
});
