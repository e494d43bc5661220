// A queue's worker holds a fixed number of jobs, and a batch contains only held jobs. So the
// worker's concurrency limits the batch, even if the batcher allows more.

import type { Batcher } from "batchwise";

/** Warns if a worker that holds this many jobs cannot fill the batches of this batcher. */
export function warnOfJobs<Item, Result>({ options }: Batcher<Item, Result>, jobs: number): void {
  const { maxBatchSize, concurrency } = options;
  const enough = maxBatchSize * concurrency;
  if (jobs >= enough || enough === Infinity) return;
  const most = Math.max(1, Math.floor(jobs / concurrency));
  process.emitWarning(
    `The worker holds ${jobs} jobs at a time, so ${concurrency} batches at a time have about ${most} items each, not the ${maxBatchSize} ` +
      `of \`maxBatchSize\`. Let it hold ${enough + maxBatchSize}: ${enough} in full batches that run, ${maxBatchSize} that gather for the next.`,
    "JobsBoundBatches",
  );
}
