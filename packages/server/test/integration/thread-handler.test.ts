import { Worker } from "node:worker_threads";
import { type Batcher, createBatcher } from "batchwise";
import { shareBatcher, threadHandler } from "batchwise/threads";
import { describe, expect, test } from "vitest";
import { DEFAULT_ENCODER } from "../../src/models/encoder-model.ts";
import { cachedEncoder } from "../../src/models/model-cache.ts";
import { temporaryFolder } from "../support/folders.ts";
import { maxDifference } from "../support/vectors.ts";

type Lists = Batcher<BigInt64Array, Float32Array>;

async function modelBatcher(workers: number, maxBatchSize: number): Promise<Lists> {
  const { path } = await cachedEncoder(await temporaryFolder(), DEFAULT_ENCODER);
  const url = new URL("./fixtures/session-handler.ts", import.meta.url);
  const workerOptions = { workerData: { modelPath: path } };
  const handler = threadHandler<BigInt64Array, Float32Array>(url, { workers, workerOptions });
  const batcher = createBatcher(handler, { concurrency: workers, maxBatchSize, isolateFailures: true });
  await batcher.open();
  return batcher;
}

function listOf(seed: number, length: number): BigInt64Array {
  return BigInt64Array.from({ length }, (_, place) => BigInt(3 + seed * 61 + place));
}

describe("a real model in the threads of threadHandler", () => {
  test("gives every caller its own vector, in single and larger batches, in this thread and in blocked ones", async () => {
    const batcher = await modelBatcher(2, 8);
    const lists = Array.from({ length: 12 }, (_, index) => listOf(index, 5 + index * 4));
    const alone: Float32Array[] = [];
    for (const list of lists) alone.push(await batcher.submit(list));
    const together = await batcher.submitMany(lists);
    const shared = shareBatcher(batcher);
    const fromThreads = await Promise.all(
      [0, 1, 2].map((thread) => {
        const port = shared.port();
        const own = lists.filter((_, index) => index % 3 === thread);
        const file = new URL("./fixtures/blocked-thread.ts", import.meta.url);
        const worker = new Worker(file, { workerData: { port, lists: own }, transferList: [port] });
        return new Promise<Float32Array[]>((resolve, reject) => worker.once("message", resolve).once("error", reject));
      }),
    );
    for (const [index, vector] of alone.entries()) {
      const remote = fromThreads[index % 3]?.[Math.floor(index / 3)] as Float32Array;
      for (const other of [together[index] as Float32Array, remote]) {
        expect(maxDifference(vector, other)).toBeLessThan(1e-4);
        expect(other.buffer.byteLength).toBe(other.byteLength);
      }
    }
    expect(maxDifference(alone[0] as Float32Array, alone[1] as Float32Array)).toBeGreaterThan(1e-2);
    await batcher.close();
  });

  test("costs a poison row its own caller, and is closed in the middle of runs without ending the process", async () => {
    const batcher = await modelBatcher(2, 64);
    const poison = BigInt64Array.of(999_999n);
    const outcomes = await batcher.submitSettled([listOf(1, 9), poison, listOf(2, 9)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const running = Array.from({ length: 128 }, (_, index) => batcher.submit(listOf(index % 8, 60)).catch(String));
    while (batcher.inspect().length < 2) await new Promise(setImmediate);
    await batcher.close({ drain: false });
    expect(await Promise.all(running)).toEqual(Array(128).fill("BatchwiseError: The batcher is closed."));
  });
});
