import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { watch } from "../support.ts";

const STALL_MS = 500;

/** Holds the event loop up, as a long computation of the application would. */
function stall(): void {
  const until = performance.now() + STALL_MS;
  while (performance.now() < until);
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("an event loop that stood still", () => {
  test("hands over no item whose deadline passed meanwhile, and all others at once", async () => {
    const handed: string[] = [];
    const batcher = createBatcher(
      async (items: string[]) => {
        handed.push(...items);
        return items;
      },
      { maxWaitMs: 200 },
    );
    const expired = watch(batcher.submit("expired", { timeoutMs: 300 }));
    const waiting = batcher.submit("waiting");
    batcher.pause();
    await sleep(5);
    batcher.resume();
    stall();
    const startedAt = performance.now();
    expect(await waiting).toBe("waiting");
    expect(performance.now() - startedAt).toBeLessThan(150);
    await sleep(0);
    expect(expired).toMatchObject({ state: "rejected", reason: { code: "DEADLINE_EXCEEDED" } });
    expect(handed).toEqual(["waiting"]);
    expect(batcher.stats()).toMatchObject({ expired: 1, completed: 1 });
  });

  test("does not take its length off the deadline of an item submitted at its end", async () => {
    const batcher = createBatcher(async (items: string[]) => items);
    const before = batcher.submit("before");
    stall();
    const after = batcher.submit("after", { timeoutMs: 250 });
    expect(await Promise.all([before, after])).toEqual(["before", "after"]);
  });

  test("does not change later windows and deadlines", async () => {
    const batcher = createBatcher(async (items: number[]) => items, { maxWaitMs: 50 });
    await batcher.submit(0);
    const during = batcher.submit(1);
    stall();
    await during;
    const startedAt = performance.now();
    await batcher.submit(2);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(50);
    expect(tookMs).toBeLessThan(50 + 200);
    const slow = createBatcher(() => new Promise<number[]>(() => {}), { handlerTimeoutMs: 100 });
    const late = watch(slow.submit(1));
    await sleep(250);
    expect(late).toMatchObject({ reason: { code: "HANDLER_TIMEOUT" } });
  });

  test("brings a batch that grew meanwhile together, within its caps", async () => {
    const sizes: number[] = [];
    const batcher = createBatcher(
      async (items: number[]) => {
        sizes.push(items.length);
        return items;
      },
      { maxBatchSize: 40, maxWaitMs: 20 },
    );
    const results = Array.from({ length: 100 }, (_, item) => batcher.submit(item));
    stall();
    await Promise.all(results);
    expect(sizes).toEqual([40, 40, 20]);
  });
});
