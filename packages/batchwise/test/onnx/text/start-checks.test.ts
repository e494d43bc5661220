// The trials of openEmbedder, on threads that die and on models that take long.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BatchwiseError } from "../../../src/core/contract/errors.ts";
import type { ModelSource } from "../../../src/onnx/text/model-files.ts";
import { MEAN_READOUT } from "../../../src/onnx/text/readout.ts";
import { firstRun } from "../../../src/onnx/text/start-checks/first-run.ts";
import { withLimitTried } from "../../../src/onnx/text/start-checks/length.ts";
import { neighbourEffect } from "../../../src/onnx/text/start-checks/neighbours.ts";
import type { TokenBatch, VectorBlock } from "../../../src/onnx/text/token-batch.ts";
import type { VectorThreads } from "../../../src/onnx/text/vector-threads.ts";

const source = (maxTokens = 32): ModelSource => ({
  path: "tiny.onnx",
  name: "tiny",
  tokenizer: { vocabularySize: 60, paddingId: 0, encode: () => [1, 5, 2] },
  maxTokens,
  isLimitAsked: false,
  positions: 0,
  readout: MEAN_READOUT,
  firstPosition: 0,
});

const block = ({ rows }: TokenBatch): VectorBlock => ({
  ...{ rows, width: 2, data: new Float32Array(rows * 2).fill(Math.SQRT1_2) },
  ...{ notFinite: [], zeros: [], pooledBy: "readout" },
});

type Run = (batch: TokenBatch) => Promise<VectorBlock>;
const poolOf = (run: Run): VectorThreads => ({ run }) as unknown as VectorThreads;

/** A pool that begins with this run, counted from 0, to lose its thread; then it goes on. */
function dyingIn(run: number, times: number): { readonly pool: VectorThreads; readonly runs: () => number } {
  let runs = 0;
  const pool = poolOf(async (batch) => {
    const number = runs++;
    // The buffers went to the thread.
    structuredClone(batch, { transfer: [batch.ids.buffer, batch.mask.buffer] });
    if (number >= run && number < run + times) {
      throw new BatchwiseError({ code: "THREAD_ENDED", message: "out of luck", retryable: true });
    }
    return block(batch);
  });
  return { pool, runs: () => runs };
}

describe("a thread that dies in a trial of a model", () => {
  const trials = {
    "of ids and widths": firstRun,
    "of its longest text": async (model: ModelSource, pool: VectorThreads) =>
      expect(await withLimitTried({ ...model, maxTokens: 2048 }, pool)).toMatchObject({ maxTokens: 2048 }),
    "of texts alone and together": async (model: ModelSource, pool: VectorThreads) =>
      expect(await neighbourEffect(model, pool)).toBeUndefined(),
  };

  test.each(Object.entries(trials))("%s is not taken for a property of the model", async (_, trial) => {
    const whole = dyingIn(0, 0);
    await trial(source(), whole.pool);
    for (let run = 0; run < whole.runs(); run += 1) {
      const dying = dyingIn(run, 1);
      await trial(source(), dying.pool);
      expect(dying.runs()).toBe(whole.runs() + 1);
    }
  });

  test.each(Object.entries(trials))("%s and then again fails the start with THREAD_ENDED", async (_, trial) => {
    const { pool } = dyingIn(0, 1_000);
    await expect(trial(source(), pool)).rejects.toMatchObject({ code: "THREAD_ENDED", retryable: true });
  });

  test("again when texts run together fails the start, too", async () => {
    const { pool } = dyingIn(32, 2);
    await expect(neighbourEffect(source(), pool)).rejects.toMatchObject({ code: "THREAD_ENDED" });
  });
});

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
    // No spy: vitest restores it when the timers are real again, which brings the fake back for the next test file.
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
