// The trials of openEmbedder on threads that die.

import { describe, expect, test } from "vitest";
import { BatchwiseError } from "../../../../src/core/contract/errors.ts";
import type { ModelSource } from "../../../../src/onnx/text/model-folder/model-files.ts";
import { firstRun } from "../../../../src/onnx/text/start-checks/first-run.ts";
import { withLimitTried } from "../../../../src/onnx/text/start-checks/length.ts";
import { neighbourEffect } from "../../../../src/onnx/text/start-checks/neighbours.ts";
import type { VectorThreads } from "../../../../src/onnx/text/vector-threads.ts";
import { block, poolOf, source } from "./kit.ts";

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
