// Sums over the jobs of a store: open requests, outcomes, cost. The store counts each end, so a
// retried request has several ends; the current state of requests without success is read from the
// requests themselves.

import type { Dispatcher, RequestRow, Store, UsageRecord } from "batchwise/dispatch";

const PAGE = 1_000;

export interface JobSums {
  /** "" for requests without a job: only their ends are counted. */
  readonly job: string;
  /** Does not count pruned requests that ended without success. */
  readonly requests: number;
  /** Not ended yet; null for requests without a job. */
  readonly open: number | null;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  /**
   * False if the job is too large to read completely: `failed`, `cancelled` and `expired` are then
   * upper bounds.
   */
  readonly exact: boolean;
  /** Sum over all answered tries. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Dollars for these tokens, by list prices; null if a model has none. */
  readonly cost: number | null;
}

/** Current states of requests that ended without success, and the number of each error code. */
export interface Unsuccessful {
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly codes: ReadonlyMap<string, number>;
  readonly exact: boolean;
}

type Ends = Pick<JobSums, "failed" | "cancelled" | "expired">;

/** Sorted by name. `mostReads`: most reads per job, of a thousand requests each. */
export async function jobsNow(
  { store, dispatcher }: { readonly store: Store; readonly dispatcher: Dispatcher },
  mostReads: number,
): Promise<JobSums[]> {
  const jobs: JobSums[] = [];
  for (const sums of sumsEver(await dispatcher.usage())) {
    jobs.push(withEnds(sums, await unsuccessfulNow(store, sums, mostReads)));
  }
  return jobs;
}

/** Pure. One entry per job, sorted by name. Counts all ends since the start. */
export function sumsEver(rows: readonly UsageRecord[]): JobSums[] {
  const byJob = new Map<string, UsageRecord[]>();
  for (const row of rows) byJob.set(row.job, [...(byJob.get(row.job) ?? []), row]);
  return [...byJob].sort(([one], [other]) => (one < other ? -1 : 1)).map(([job, its]) => sumOf(job, its));
}

function sumOf(job: string, rows: readonly UsageRecord[]): JobSums {
  const total = (pick: (row: UsageRecord) => number): number => rows.reduce((sum, row) => sum + pick(row), 0);
  const succeeded = total(({ ended }) => ended.succeeded);
  const failed = total(({ ended }) => ended.failed);
  const cancelled = total(({ ended }) => ended.cancelled);
  const expired = total(({ ended }) => ended.expired);
  const ended = succeeded + failed + cancelled + expired;
  const requests = job === "" ? ended : total((row) => row.requests);
  const isPriced = rows.every(
    ({ inputTokens, outputTokens, price }) => inputTokens + outputTokens === 0 || price !== null,
  );
  return {
    ...{ job, requests, open: job === "" ? null : Math.max(0, requests - ended) },
    ...{ succeeded, failed, cancelled, expired, exact: false },
    inputTokens: total((row) => row.inputTokens),
    outputTokens: total((row) => row.outputTokens),
    cost: isPriced ? total(({ price }) => price ?? 0) : null,
  };
}

/** Stops when it has found as many as ever ended so. */
export async function unsuccessfulNow(store: Store, sums: JobSums, mostReads: number): Promise<Unsuccessful> {
  const counts = { failed: 0, cancelled: 0, expired: 0 };
  const codes = new Map<string, number>();
  const ever = unsuccessful(sums);
  if (ever === 0) return { ...counts, codes, exact: true };
  let reads = 0;
  for await (const rows of unsuccessfulOf(store, sums.job)) {
    for (const { ended } of rows) {
      if (ended === null || ended.status === "succeeded") continue;
      counts[ended.status] += 1;
      const code = ended.code ?? "none";
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    reads += 1;
    if (unsuccessful(counts) >= ever) break;
    if (reads >= mostReads) {
      const { failed, cancelled, expired } = sums;
      return { failed, cancelled, expired, codes, exact: false };
    }
  }
  return { ...counts, codes, exact: true };
}

/**
 * Yields one read at a time, at most `mostReads`. A read covers about a thousand requests and may
 * find none.
 */
async function* unsuccessfulOf(store: Store, job: string): AsyncGenerator<readonly RequestRow[]> {
  const match = { job, states: ["failed", "cancelled", "expired"] } as const;
  for (let after: number | null = 0; after !== null; ) {
    const page: Awaited<ReturnType<Store["find"]>> = await store.find({ match, after, limit: PAGE });
    yield page.rows;
    after = page.next;
  }
}

export function withEnds(sums: JobSums, { failed, cancelled, expired, exact }: Unsuccessful): JobSums {
  const requests = (sums.open ?? 0) + sums.succeeded + failed + cancelled + expired;
  return { ...sums, requests, failed, cancelled, expired, exact };
}

function unsuccessful({ failed, cancelled, expired }: Ends): number {
  return failed + cancelled + expired;
}
