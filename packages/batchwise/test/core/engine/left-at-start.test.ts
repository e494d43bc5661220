import { expect, test } from "vitest";
import { type BatchObserver, OBSERVE, type Observable } from "../../../src/core/contract/observer.ts";
import { createBatcher } from "../../../src/index.ts";

test("a batch without a slot that its callers leave as an observer sees it ends once", async () => {
  const abort = new AbortController();
  const answers: ((items: number[]) => void)[] = [];
  const batcher = createBatcher(
    {
      prepare: (items: number[]) => items,
      run: () => new Promise<number[]>((resolve) => answers.push(resolve)),
    },
    { prefetch: 1, maxBatchSize: 1, gather: "turn" },
  );
  let started = 0;
  const ended: string[] = [];
  const observer: BatchObserver = {
    capture: undefined,
    started: () => {
      started += 1;
      if (started === 2) abort.abort(new Error("gone"));
      const name = `watch ${started}`;
      return { around: (call) => call(), ended: () => ended.push(name) } as ReturnType<BatchObserver["started"]>;
    },
    settled: () => {},
    spared: () => {},
  };
  (batcher as unknown as Observable)[OBSERVE](() => observer);

  const first = batcher.submit(1);
  await new Promise((resolve) => setImmediate(resolve));
  await expect(batcher.submit(2, { signal: abort.signal })).rejects.toThrow("gone");
  expect([started, batcher.stats().runningBatches, batcher.inspect().length]).toEqual([2, 1, 1]);
  expect(ended).toEqual(["watch 2"]);
  answers[0]?.([1]);
  expect(await first).toBe(1);
  expect([batcher.stats().runningBatches, batcher.stats().cancelled]).toEqual([0, 1]);
  expect(ended).toEqual(["watch 2", "watch 1"]);
  await batcher.close();
});

test("a batcher that closes as an observer sees a batch start ends the batch's watch", async () => {
  let ended = 0;
  const batcher = createBatcher((items: number[]) => items, { gather: "turn" });
  const observer: BatchObserver = {
    capture: undefined,
    started: () => {
      void batcher.close({ drain: false });
      return { around: (call) => call(), ended: () => (ended += 1) } as ReturnType<BatchObserver["started"]>;
    },
    settled: () => {},
    spared: () => {},
  };
  (batcher as unknown as Observable)[OBSERVE](() => observer);
  await expect(batcher.submit(1)).rejects.toThrow("closed");
  await batcher.close();
  expect([ended, batcher.stats().runningBatches, batcher.stats().rejected]).toEqual([1, 0, 1]);
});
