import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echoAll, range, reasonOf, rig } from "../support.ts";

/** Changes that a cost function may make to its list. */
const games: Readonly<Record<string, (items: number[]) => void>> = {
  sorts: (items) => void items.sort((a, b) => b - a),
  reverses: (items) => void items.reverse(),
  empties: (items) => void items.splice(0),
  fills: (items) => void items.fill(-1),
  grows: (items) => void items.push(-1, -2, -3),
  freezes: (items) => void Object.freeze(items),
};

/** Ways of measuring a batch: at submit, for a batch, while held, for a retry, for each half. */
const ways: Readonly<Record<string, BatchOptions<number, string>>> = {
  "in one turn": { maxBatchCost: 7 },
  "without a cap": {},
  "while held": { maxBatchCost: 7, maxWaitMs: 10 },
  "with tenants": { maxBatchCost: 7, fairBy: (item) => String(item % 3) },
  "for a retry and for halves": { maxBatchCost: 7, retry: { attempts: 2, backoffMs: 1 }, isolateFailures: true },
};

describe("a batchCost that plays with its list", () => {
  const cases = Object.keys(games).flatMap((game) => Object.keys(ways).map((way) => [game, way] as const));

  test.each(cases)("gets a copy: one that %s it crosses no answers, %s", async (game, way) => {
    const clock = virtualClock();
    let failures = 2;
    const handler = (items: number[]): string[] => {
      if (way.startsWith("for a retry") && items.length > 1 && failures > 0) {
        failures -= 1;
        throw new Error("for now");
      }
      return items.map((item) => `answer ${item}`);
    };
    const given: (readonly number[])[] = [];
    const batcher = createBatcher<number, string>(handler, {
      clock,
      ...ways[way],
      batchCost: (items) => {
        if (given.includes(items)) throw new Error("The same list twice.");
        given.push(items);
        const cost = items.length;
        games[game]?.(items as number[]);
        return cost;
      },
    });
    const all = range(40).map((item) => batcher.submit((item * 17) % 40));
    await clock.advance(100);
    expect(await Promise.all(all)).toEqual(range(40).map((item) => `answer ${(item * 17) % 40}`));
    expect(given.length).toBeGreaterThan(0);
  });
});

describe("a batchCost that calls back", () => {
  const caps = { maxBatchCost: 10, maxBatchSize: 1_000 };

  /** Costs of batches whose cost function calls back this often while it measures. */
  async function costsOf(
    times: number,
    options: BatchOptions<number, number>,
    callBack: (batcher: ReturnType<typeof rig<number>>["batcher"], call: number) => void,
  ): Promise<{ costs: number[]; batches: number[][]; answers: number[] }> {
    let left = times;
    let isSubmitting = true;
    const of = rig<number>({
      ...caps,
      ...options,
      batchCost: (items) => {
        if (left > 0 && !isSubmitting) {
          left -= 1;
          isSubmitting = true;
          callBack(of.batcher, times - left);
          isSubmitting = false;
        }
        return items.length;
      },
    });
    const all = Promise.all(range(25).map((item) => of.batcher.submit(item)));
    isSubmitting = false;
    await of.clock.advance(50);
    await echoAll(of);
    await of.clock.advance(50);
    await echoAll(of);
    return {
      costs: of.handler.calls.map(({ context }) => context.cost),
      batches: of.handler.batches.map((batch) => [...batch]),
      answers: await all,
    };
  }

  test("may submit an item that has no time: it is never handed over", async () => {
    const late: Promise<unknown>[] = [];
    const { batches, answers } = await costsOf(3, { maxWaitMs: 20, concurrency: 3 }, (batcher) => {
      late.push(reasonOf(batcher.submit(100, { timeoutMs: 0, priority: 9 })));
    });
    expect(answers).toEqual(range(25));
    expect(batches.flat()).toEqual(range(25));
    const expired = expect.objectContaining({ code: "DEADLINE_EXCEEDED" });
    expect(await Promise.all(late)).toEqual([expired, expired, expired]);
  });

  const submitting: Readonly<Record<string, BatchOptions<number, number>>> = {
    plainly: {},
    "where tenants share": { fairBy: (item) => String(item % 4) },
    "while the batch is held": { maxWaitMs: 20 },
    "into a full queue": { maxQueueSize: 12 },
    "with keys": { key: (item) => String(item % 2) },
    "with slots to spare": { concurrency: 3 },
  };

  test.each(Object.keys(submitting))("may submit, and no batch is over its cap: %s", async (how) => {
    for (const priority of [0, 5, -5]) {
      const { costs, batches, answers } = await costsOf(5, submitting[how] ?? {}, (batcher, call) => {
        for (const item of range(6)) void batcher.submit(100 * call + item, { priority });
      });
      expect(answers).toEqual(range(25));
      expect(Math.max(...costs)).toBeLessThanOrEqual(10);
      for (const [index, batch] of batches.entries()) expect(batch.length).toBe(costs[index]);
      const seen = batches.flat();
      expect(seen).toHaveLength(25 + 30);
      expect(new Set(seen).size).toBe(seen.length);
    }
  });

  test("may submit an equal item that makes a waiting one urgent", async () => {
    const { costs, batches, answers } = await costsOf(4, { dedupe: String }, (batcher, call) => {
      void batcher.submit(24 - call, { priority: 9 });
    });
    expect(answers).toEqual(range(25));
    expect(Math.max(...costs)).toBeLessThanOrEqual(10);
    const seen = batches.flat();
    expect(new Set(seen).size).toBe(seen.length);
  });

  test("may pause, flush, configure and drop", async () => {
    const calls: Readonly<Record<string, (batcher: ReturnType<typeof rig<number>>["batcher"]) => void>> = {
      pauses: (batcher) => {
        batcher.pause();
        batcher.resume();
      },
      flushes: (batcher) => void batcher.flush(),
      configures: (batcher) => batcher.configure({ maxBatchSize: 3 }),
      readies: (batcher) => void batcher.ready(),
    };
    for (const callBack of Object.values(calls)) {
      const { costs, answers } = await costsOf(3, {}, callBack);
      expect(answers).toEqual(range(25));
      expect(Math.max(...costs)).toBeLessThanOrEqual(10);
    }
  });
});
