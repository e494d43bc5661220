// The service with a latency target, under more requests than it can answer in time.

import type { BatchEvent } from "batchwise";
import { describe, expect, test } from "vitest";
import { embed, type Failure, startSmall } from "../support/services.ts";

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const TEXT = "grey ".repeat(40);
const TARGET_MS = 5;

/** A service that has learned how long its batches run. */
async function startLearned(): ReturnType<typeof startSmall> {
  const service = await startSmall({ targetLatencyMs: TARGET_MS });
  for (let batch = 0; batch < 4; batch += 1) expect((await embed(service, TEXT)).status).toBe(200);
  return service;
}

async function checkRefusal(answer: Response): Promise<void> {
  const [seconds, ms] = ["retry-after", "retry-after-ms"].map((name) => Number(answer.headers.get(name)));
  expect(ms).toBeGreaterThan(0);
  expect(seconds).toBe(Math.ceil((ms as number) / 1_000));
  expect(answer.headers.get("x-should-retry")).toBeNull();
  const { error } = (await answer.json()) as Failure;
  expect(error).toMatchObject({ type: "rate_limit_error", param: null, code: "overloaded" });
}

interface Snapshot {
  readonly stats: { readonly learned: { readonly target: { readonly refused: number } } };
  readonly options: { readonly targetLatencyMs: number };
  readonly recentRuns: { readonly realMs: number | null; readonly predictedMs: number | null };
}

describe("a service with a latency target", () => {
  test("answers every call: with 200, or with 429 and the time of a retry", async () => {
    const service = await startLearned();
    const answers = await Promise.all(Array.from({ length: 20 }, () => embed(service, Array(64).fill(TEXT))));
    const refusals = answers.filter(({ status }) => status !== 200);
    expect(refusals.length).toBeGreaterThan(0);
    for (const answer of refusals) {
      expect(answer.status).toBe(429);
      await checkRefusal(answer);
    }
    const { stats, options } = (await (await fetch(`${service.url}/stats`)).json()) as Snapshot;
    expect(options.targetLatencyMs).toBe(TARGET_MS);
    expect(stats.learned.target.refused).toBeGreaterThan(0);
  });

  test("says how long its latest batches ran, and how long it had predicted for just these", async () => {
    const service = await startSmall({ targetLatencyMs: 10_000 });
    const { embedder } = service;
    const batches: BatchEvent[] = [];
    embedder.batcher.on("batch", (event) => batches.push(event));
    expect(embedder.recentRuns()).toEqual({ realMs: null, predictedMs: null });
    for (const texts of [1, 1, 1, 12, 30, 4]) await embed(service, Array(texts).fill(TEXT));
    const predicted = batches.flatMap(({ predictedMs }) => predictedMs ?? []);
    expect(predicted.length).toBeGreaterThan(2);
    const { recentRuns } = (await (await fetch(`${service.url}/stats`)).json()) as Snapshot;
    const realMs = mean(batches.map(({ runMs }) => runMs));
    expect(recentRuns).toEqual({ realMs: expect.closeTo(realMs), predictedMs: expect.closeTo(mean(predicted)) });
  });

  test("refuses a request with more texts than fit as a whole, and runs at most a batch of it", async () => {
    const service = await startLearned();
    const { batcher } = service.embedder;
    for (const headers of [{}, { authorization: "Bearer a" }]) {
      const before = batcher.stats();
      expect((await embed(service, Array(2_000).fill(TEXT), headers)).status).toBe(429);
      await batcher.idle();
      const after = batcher.stats();
      expect(after.rejected).toBeGreaterThan(before.rejected);
      expect(after.completed - before.completed).toBeLessThan(100);
    }
    expect((await embed(service, TEXT)).status).toBe(200);
  });
});
