// A pipeline in a worker thread: the same results, and an event loop that goes on.

import { env, pipeline } from "@huggingface/transformers";
import { expect, test } from "vitest";
import { batch } from "../../../../packages/batchwise/src/index.ts";
import { pipelineCost } from "../../../../packages/batchwise/src/onnx/pipelines/cost.ts";
import { pipelineHandler } from "../../../../packages/batchwise/src/onnx/pipelines/handler.ts";
import type { Tensor } from "../../../../packages/batchwise/src/tensor/types.ts";
import { threadHandler } from "../../../../packages/batchwise/src/threads/index.ts";
import { buildEncoder, DEFAULT_ENCODER } from "../../../../packages/server/src/models/encoder-model.ts";
import { modelRoot } from "./models.ts";

const MODULE = new URL("./fixtures/pipeline-handler.ts", import.meta.url);
const TEXTS = Array.from({ length: 32 }, (_, index) => "the grey piano ".repeat(8 + (index % 8)));

/** Takes some hundreds of milliseconds for 32 texts. */
const graph = buildEncoder({
  ...DEFAULT_ENCODER,
  ...{ layers: 4, hidden: 256, heads: 4, feedForward: 1024, vocabulary: 16, maxTokens: 64, output: "tokens" },
});

/** What the work gives, and the longest time in which the event loop did nothing else. */
async function longestPause<Value>(work: () => Promise<Value>): Promise<{ value: Value; pauseMs: number }> {
  let last = performance.now();
  let pauseMs = 0;
  const look = (): void => {
    const now = performance.now();
    pauseMs = Math.max(pauseMs, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  const value = await work();
  look();
  clearInterval(timer);
  return { value, pauseMs };
}

test("a pipeline in a thread gives the same results as here, without stopping the event loop", async () => {
  const root = await modelRoot("tokens", { graph });
  env.allowRemoteModels = false;
  env.localModelPath = root;
  const extract = await pipeline("feature-extraction", "model", {
    dtype: "fp32",
    session_options: { intraOpNumThreads: 1 },
  });
  const here = batch(pipelineHandler(extract, { callOptions: { pooling: "mean" } }));
  const handler = threadHandler<string, Tensor>(MODULE, { workers: 1, workerOptions: { workerData: { root } } });
  const there = batch(handler, { cost: pipelineCost(extract), batchCost: "padded", order: "length" });
  await Promise.all([here.submitMany(TEXTS.slice(0, 2)), there.submitMany(TEXTS.slice(0, 2))]);

  const inThread = await longestPause(() => there.submitMany(TEXTS));
  // Other processes may take the cores at any time: the least disturbed of some runs counts.
  const pauses = [inThread.pauseMs];
  for (let run = 0; run < 2; run += 1) pauses.push((await longestPause(() => there.submitMany(TEXTS))).pauseMs);
  const onLoop = await longestPause(() => here.submitMany(TEXTS));

  for (const [index, { dims, data }] of inThread.value.entries()) {
    const expected = onLoop.value[index] as Tensor;
    expect(dims).toEqual(expected.dims);
    const difference = (data as Float32Array).map((x, at) => Math.abs(x - (expected.data as Float32Array)[at]!));
    expect(Math.max(...difference)).toBeLessThan(1e-4);
  }
  expect(Math.min(...pauses)).toBeLessThan(onLoop.pauseMs / 2);
  await Promise.all([here.close(), there.close()]);
});

test("a wrong item fails by itself in the thread too", async () => {
  const root = await modelRoot("tokens");
  const handler = threadHandler<unknown, Tensor>(MODULE, { workers: 1, workerOptions: { workerData: { root } } });
  const embed = batch(handler);
  const [good, bad] = await embed.submitSettled(["rain", 5]);
  expect(good).toMatchObject({ status: "fulfilled", value: { dims: [1, 8] } });
  expect(bad).toMatchObject({
    reason: { code: "INVALID_OPTION", message: expect.stringContaining("got `5` (number)") },
  });
  await embed.close();
});
