// The figures of a job's progress, as a table, and its first report.

import { expect, test } from "vitest";
import type { JobProgress, JobRequest } from "../../../src/dispatch/contract/jobs.ts";
import type { UsageRecord } from "../../../src/dispatch/contract/operations.ts";
import { type JobFacts, progressOf } from "../../../src/dispatch/jobs/job-progress.ts";
import { all, jobWorld, plain } from "../support/job-world.ts";

const none = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };

function usage(more: Partial<UsageRecord> = {}): UsageRecord {
  const tokens = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  const of = { tenant: "", job: "j", endpoint: "/v1/chat/completions", model: "m" } as const;
  return { ...of, ...tokens, requests: 100, ended: none, price: 0, ...more };
}

function facts(more: Partial<JobFacts> = {}): JobFacts {
  const produced = { enqueued: 100, existing: 0, isDone: true };
  return {
    job: "j",
    produced,
    outcomes: none,
    added: 0,
    elapsedMs: 10_000,
    usage: [usage()],
    inBatches: 0,
    nextTryAt: null,
    heldUntil: null,
    paused: null,
    maxPrice: null,
    ...more,
  };
}

test.each<[string, Partial<JobFacts>, object]>([
  ["nothing in a batch yet", {}, { total: 100, waiting: 100, inBatches: 0, perSecond: 0, leftMs: null }],
  ["all in batches", { inBatches: 100 }, { waiting: 0, inBatches: 100 }],
  ["other work's batches beside it", { inBatches: 5_000 }, { waiting: 0, inBatches: 100 }],
  [
    "some done, in this run",
    { outcomes: { ...none, succeeded: 20 }, added: 20, usage: [usage({ ended: { ...none, succeeded: 20 } })] },
    { total: 100, done: 20, waiting: 80, perSecond: 2, leftMs: 40_000 },
  ],
  [
    "some done, all in an earlier run",
    { outcomes: { ...none, failed: 20 }, usage: [usage({ ended: { ...none, failed: 20 } })] },
    { done: 20, perSecond: 0, leftMs: null },
  ],
  [
    "more to come from the caller",
    {
      produced: { enqueued: 40, existing: 40, isDone: false },
      outcomes: { ...none, succeeded: 50 },
      added: 50,
      usage: [usage({ ended: { ...none, succeeded: 60 } })],
    },
    { enqueued: 40, existing: 40, allEnqueued: false, total: 90, leftMs: null },
  ],
  [
    "all done",
    { outcomes: { ...none, succeeded: 100 }, usage: [usage({ ended: { ...none, succeeded: 100 } })] },
    { total: 100, done: 100, waiting: 0, leftMs: 0 },
  ],
  [
    "some tried again by hand, which counts at both ends",
    {
      outcomes: { ...none, succeeded: 90 },
      usage: [usage({ requests: 110, ended: { ...none, succeeded: 90, failed: 10 } })],
    },
    { total: 100, done: 90, waiting: 10 },
  ],
  [
    "two models",
    { usage: [usage({ inputTokens: 5, price: 1 }), usage({ inputTokens: 6, price: 2 })] },
    { inputTokens: 11, price: 3 },
  ],
  [
    "a model without a price",
    { usage: [usage({ inputTokens: 5, price: 1 }), usage({ outputTokens: 6, price: null })] },
    { price: null },
  ],
  [
    "a model without a price that was not used",
    { usage: [usage({ inputTokens: 5, price: 1 }), usage({ price: null })] },
    { price: 1 },
  ],
  [
    "the last ones wait to be tried again",
    {
      outcomes: { ...none, succeeded: 99 },
      added: 99,
      usage: [usage({ ended: { ...none, succeeded: 99 } })],
      nextTryAt: 7,
    },
    { waiting: 1, nextTryAt: 7, leftMs: null },
  ],
  [
    "all done, and other work waits to be tried again",
    { outcomes: { ...none, succeeded: 100 }, usage: [usage({ ended: { ...none, succeeded: 100 } })], nextTryAt: 7 },
    { nextTryAt: null, leftMs: 0 },
  ],
  ["batches held by a process that was killed", { inBatches: 100, heldUntil: 7 }, { heldUntil: 7, leftMs: null }],
  [
    "all done, and other work's batches held",
    { outcomes: { ...none, succeeded: 100 }, usage: [usage({ ended: { ...none, succeeded: 100 } })], heldUntil: 7 },
    { heldUntil: null, leftMs: 0 },
  ],
  ["no time gone", { elapsedMs: 0, added: 3 }, { perSecond: 0 }],
])("%s", (_name, given, expected) => {
  expect(progressOf(facts(given))).toMatchObject(expected);
});

test("progress begins when the first requests are stored, or the source has ended", async () => {
  const { run, settle, time } = jobWorld();
  const slow = async function* (): AsyncGenerator<JobRequest> {
    await new Promise<void>((resolve) => time.setTimeout(resolve, 2_500));
    yield* plain(3);
  };
  const told: JobProgress[] = [];
  const onProgress = (progress: JobProgress): void => void told.push(progress);
  await settle(all(run({ requests: slow(), onProgress })));
  expect(told[0]).toMatchObject({ total: 3, done: 0 });
  told.length = 0;
  await settle(all(run({ job: "empty", requests: [], onProgress })));
  expect(told.at(-1)).toMatchObject({ total: 0, allEnqueued: true });
});
