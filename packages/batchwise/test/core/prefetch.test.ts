import { type Batcher, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { gate, range, reasonOf, watch } from "../support.ts";

describe("`prefetch`", () => {
  interface Stage {
    readonly log: string[];
    readonly runs: Map<number, () => void>;
    readonly batcher: Batcher<number, number>;
  }

  function staged(prefetch: number): Stage {
    const log: string[] = [];
    const runs = new Map<number, () => void>();
    const batcher = createBatcher(
      {
        prepare: (items: number[]) => {
          log.push(`prepare ${items.join()}`);
          return items;
        },
        run: async (items: number[]) => {
          log.push(`run ${items.join()}`);
          const running = gate();
          runs.set(items[0] as number, () => running.open());
          await running.promise;
          log.push(`ran ${items.join()}`);
          return items;
        },
      },
      { maxBatchSize: 1, prefetch },
    );
    return { log, runs, batcher };
  }

  const task = (): Promise<void> => new Promise(setImmediate);

  test("of 0 prepares nothing ahead: the batch is bound late", async () => {
    const { log, runs, batcher } = staged(0);
    const results = batcher.submitMany([0, 1]);
    await task();
    expect(log).toEqual(["prepare 0", "run 0"]);
    runs.get(0)?.();
    await task();
    expect(log).toEqual(["prepare 0", "run 0", "ran 0", "prepare 1", "run 1"]);
    runs.get(1)?.();
    expect(await results).toEqual([0, 1]);
  });

  test("of 1 prepares the next batch while one runs, and only that one", async () => {
    const { log, runs, batcher } = staged(1);
    const results = batcher.submitMany([0, 1, 2]);
    await task();
    expect([...log].sort()).toEqual(["prepare 0", "prepare 1", "run 0"]);
    runs.get(0)?.();
    await task();
    expect(log.slice(3)).toEqual(expect.arrayContaining(["ran 0", "run 1", "prepare 2"]));
    expect(log).not.toContain("run 2");
    runs.get(1)?.();
    await task();
    runs.get(2)?.();
    expect(await results).toEqual([0, 1, 2]);
  });

  test("never runs more batches than there are slots", async () => {
    let running = 0;
    let most = 0;
    const batcher = createBatcher(
      {
        prepare: async (items: number[]) => items,
        run: async (items: number[]) => {
          running += 1;
          most = Math.max(most, running);
          await task();
          running -= 1;
          return items;
        },
        finish: async (items: number[]) => items,
      },
      { maxBatchSize: 2, concurrency: 2, prefetch: 2 },
    );
    expect(await batcher.submitMany(range(40))).toEqual(range(40));
    expect(most).toBe(2);
  });

  test("lets `finish` of one batch overlap `run` of the next", async () => {
    const log: string[] = [];
    const finishing = gate();
    const batcher = createBatcher(
      {
        run: async (items: number[]) => {
          log.push(`run ${items.join()}`);
          return items;
        },
        finish: async (items: number[]) => {
          log.push(`finish ${items.join()}`);
          if (items[0] === 0) await finishing.promise;
          return items;
        },
      },
      { maxBatchSize: 1, prefetch: 1 },
    );
    const first = watch(batcher.submit(0));
    const second = batcher.submit(1);
    expect(await second).toBe(1);
    expect(log).toEqual(["run 0", "finish 0", "run 1", "finish 1"]);
    expect(first.state).toBe("pending");
    finishing.open();
    await task();
    expect(first.state).toBe("fulfilled");
  });

  test("frees no slot when a batch that is prepared ahead fails and is tried again", async () => {
    const clock = virtualClock();
    const running: number[] = [];
    let failures = 0;
    const batcher = createBatcher(
      {
        prepare: async (items: number[]) => {
          if (items[0] === 1 && failures === 0) {
            failures += 1;
            throw new Error("once");
          }
          return items;
        },
        run: async (items: number[]) => {
          running.push(...items);
          await new Promise<void>((resolve) => {
            clock.setTimeout(resolve, 100);
          });
          return items;
        },
      },
      { maxBatchSize: 1, prefetch: 1, retry: { attempts: 2, backoffMs: 5 }, clock },
    );
    void batcher.submitMany([0, 1, 2]);
    await clock.advance(50);
    expect(running).toEqual([0]);
    await clock.runAll();
    expect(running.sort()).toEqual([0, 1, 2]);
  });

  test("ends a batch without running it when all of its callers cancel while it is prepared ahead", async () => {
    const { log, runs, batcher } = staged(1);
    const leave = new AbortController();
    const first = batcher.submit(0);
    const left = reasonOf(batcher.submit(1, { signal: leave.signal }));
    await task();
    expect([...log].sort()).toEqual(["prepare 0", "prepare 1", "run 0"]);
    leave.abort(new Error("gone"));
    expect(await left).toEqual(new Error("gone"));
    runs.get(0)?.();
    expect(await first).toBe(0);
    const third = batcher.submit(2);
    await task();
    expect(log).not.toContain("run 1");
    runs.get(2)?.();
    expect(await third).toBe(2);
  });

  test("sends the waiting items when two batches exceed their time at once and one was prepared ahead", async () => {
    const clock = virtualClock();
    const ran: number[][] = [];
    const batcher = createBatcher(
      {
        prepare: async (items: number[]) => items,
        run: (items: number[]): Promise<number[]> => {
          ran.push(items);
          return new Promise(() => {});
        },
      },
      { clock, concurrency: 2, prefetch: 1, maxBatchSize: 2, handlerTimeoutMs: 14 },
    );
    const settled = batcher.submitSettled(range(7));
    await clock.advance(13);
    expect(ran).toEqual([
      [0, 1],
      [2, 3],
    ]);
    await clock.advance(1);
    expect(ran.slice(2)).toEqual([[4, 5], [6]]);
    await clock.advance(14);
    expect((await settled).every(({ status }) => status === "rejected")).toBe(true);
  });
});
