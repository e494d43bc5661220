// The trial of the longest text, on slow models.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { withLimitTried } from "../../../../src/onnx/text/start-checks/length.ts";
import type { TokenBatch, VectorBlock } from "../../../../src/onnx/text/token-batch.ts";
import { block, poolOf, type Run, source } from "./kit.ts";

describe("the trial of the longest text", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** The lengths that were tried, and how long it took. */
  async function tried(run: Run): Promise<{ readonly lengths: number[]; readonly ms: number }> {
    const lengths: number[] = [];
    const start = performance.now();
    const done = withLimitTried(
      source(50_000_000),
      poolOf((batch) => {
        lengths.push(batch.columns);
        return run(batch);
      }),
    );
    await vi.runAllTimersAsync();
    expect(await done).toMatchObject({ maxTokens: 50_000_000 });
    return { lengths, ms: performance.now() - start };
  }

  const after = (batch: TokenBatch, ms: number): Promise<VectorBlock> =>
    new Promise((resolve) => setTimeout(() => resolve(block(batch)), ms));

  test("begins none that would take longer than the time that is left", async () => {
    const { lengths, ms } = await tried((batch) => after(batch, (batch.columns / 512) ** 2 * 100));
    // 100, 400, 1,600 and 6,400 ms.
    expect(lengths).toEqual([512, 1024, 2048, 4096]);
    expect(ms).toBeLessThan(10_000);
  });

  test("gives up one that takes longer after all", async () => {
    const { lengths } = await tried((batch) => after(batch, batch.columns === 512 ? 100 : 60_000));
    expect(lengths).toEqual([512, 1024]);
  });

  test("sets no timer in the past where this thread was busy for ten seconds", async () => {
    const set: (number | undefined)[] = [];
    // No spy: vitest restores it when the timers are real again, which brings the fake back for the
    // next test file.
    const { setTimeout: fake } = globalThis;
    globalThis.setTimeout = ((callback: () => void, ms?: number) => {
      set.push(ms);
      return fake(callback, ms);
    }) as typeof fake;
    const { lengths } = await tried(async (batch) => {
      vi.advanceTimersByTime(20_000);
      return block(batch);
    });
    globalThis.setTimeout = fake;
    expect(lengths).toEqual([512]);
    expect(set.length).toBeGreaterThan(0);
    for (const ms of set) expect(ms).toBeGreaterThanOrEqual(0);
  });
});
