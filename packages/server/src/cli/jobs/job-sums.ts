// Sums of a store's usage by job. Pure.

import type { UsageRow } from "batchwise/dispatch";

export interface JobSums {
  /** "" for requests of no job: of these only what has ended is counted. */
  readonly job: string;
  readonly requests: number;
  /** Not ended yet; null for requests of no job. */
  readonly open: number | null;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** One for each job, by name. A request that was retried counts again. */
export function jobSums(rows: readonly UsageRow[]): JobSums[] {
  const byJob = new Map<string, UsageRow[]>();
  for (const row of rows) byJob.set(row.job, [...(byJob.get(row.job) ?? []), row]);
  return [...byJob].sort(([one], [other]) => (one < other ? -1 : 1)).map(([job, its]) => sumOf(job, its));
}

function sumOf(job: string, rows: readonly UsageRow[]): JobSums {
  const total = (pick: (row: UsageRow) => number): number => rows.reduce((sum, row) => sum + pick(row), 0);
  const succeeded = total(({ ended }) => ended.succeeded);
  const failed = total(({ ended }) => ended.failed);
  const cancelled = total(({ ended }) => ended.cancelled);
  const expired = total(({ ended }) => ended.expired);
  const ended = succeeded + failed + cancelled + expired;
  const requests = job === "" ? ended : total((row) => row.requests);
  return {
    ...{
      job,
      requests,
      open: job === "" ? null : Math.max(0, requests - ended),
      succeeded,
      failed,
      cancelled,
      expired,
    },
    inputTokens: total((row) => row.inputTokens),
    outputTokens: total((row) => row.outputTokens),
  };
}
