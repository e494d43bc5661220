import { writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { padTokens, splitRows } from "../../../src/onnx/text/token-batch.ts";
import { VectorThreads, type VectorThreadsOptions } from "../../../src/onnx/text/vector-threads.ts";
import { encoder, fileOf, maxDifference } from "./kit.ts";

function threadsOf(options: VectorThreadsOptions): VectorThreads {
  const threads = new VectorThreads(options);
  onTestFinished(() => threads.close());
  return threads;
}

async function encoderThreads(workers: number): Promise<VectorThreads> {
  const threads = threadsOf({ path: fileOf(encoder({ layers: 4, vocabulary: 2048 })), workers });
  await threads.open();
  return threads;
}

describe("model threads with a real model", () => {
  test("answer each of many runs with its own vectors, and the event loop continues meanwhile", async () => {
    const threads = await encoderThreads(2);
    const lists = Array.from({ length: 24 }, (_, index) =>
      Array.from({ length: 60 }, (_, place) => 3 + index * 60 + place),
    );
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 1);
    const alone = await Promise.all(lists.map((list) => threads.run(padTokens([list], 0))));
    clearInterval(timer);
    const together = splitRows(await threads.run(padTokens(lists, 0)));
    expect(ticks).toBeGreaterThan(2);
    for (const [index, block] of alone.entries()) {
      expect(maxDifference(block.data, together[index] ?? [])).toBeLessThan(1e-5);
    }
    expect(maxDifference(together[0] ?? [], together[1] ?? [])).toBeGreaterThan(1e-2);
  });

  test("pass on the model's own message when it fails, and continue", async () => {
    const threads = await encoderThreads(1);
    await expect(threads.run(padTokens([[5, 99_999]], 0))).rejects.toMatchObject({
      code: "MODEL_FAILED",
      message: expect.stringMatching(/indices|bounds/i),
    });
    expect((await threads.run(padTokens([[5]], 0))).width).toBe(32);
    expect(threads.restarts).toBe(0);
  });

  test("finish their texts before they end", async () => {
    const threads = await encoderThreads(2);
    const lists = Array.from({ length: 16 }, () => Array.from({ length: 256 }, (_, place) => 3 + place));
    const running = Array.from({ length: 6 }, () => threads.run(padTokens(lists, 0)));
    const closed = threads.close();
    await expect(threads.run(padTokens([[5]], 0))).rejects.toMatchObject({ code: "CLOSED" });
    expect((await Promise.all(running)).map((block) => block.rows)).toEqual([16, 16, 16, 16, 16, 16]);
    await closed;
    expect(threads.ready).toBe(false);
  });

  test("refuse a file that is no model, by its path", async () => {
    const path = fileOf("this is no model");
    const threads = threadsOf({ path, workers: 2 });
    await expect(threads.open()).rejects.toMatchObject({ code: "MODEL_LOAD", message: expect.stringContaining(path) });
    expect(threads.ready).toBe(false);
  });
});

test("a thread of vectors that dies rejects the run it had, and another takes its place", async () => {
  const path = fileOf(encoder());
  const env = { ...process.env, DIE_FILE: `${path}.die` };
  const execArgv = ["--import", new URL("./fixtures/dies-when-told.mjs", import.meta.url).href];
  const threads = threadsOf({ path, workers: 1, workerOptions: { env, execArgv } });
  await threads.run(padTokens([[5]], 0));
  writeFileSync(env.DIE_FILE, "");
  const [lost, next] = await Promise.allSettled([threads.run(padTokens([[5]], 0)), threads.run(padTokens([[5]], 0))]);
  expect(lost).toMatchObject({ reason: { code: "THREAD_ENDED", message: expect.stringMatching(/out of luck/) } });
  expect(next).toMatchObject({ value: { rows: 1, width: 32 } });
  expect(threads.restarts).toBe(1);
});
