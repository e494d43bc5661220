// The jobs of a store as they are now: what is open, how the others ended, what all of it cost. The
// store counts each end, so a request that was retried has several; how requests without success
// stand now is read from themselves.

import type { Dispatcher, RequestRow, Store, UsageRecord } from "batchwise/dispatch";

const PAGE = 1_000;

export interface JobSums {
  /** "" for requests of no job: of these only what has ended is counted. */
  readonly job: string;
  /** Without those that ended without success and were pruned. */
  readonly requests: number;
  /** Not ended yet; null for requests of no job. */
  readonly open: number | null;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  /**
   * False where the job was too large to look through: `failed`, `cancelled` and `expired` are then
   * the most there can be.
   */
  readonly exact: boolean;
  /** Of all tries that were answered. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Dollars for these tokens, by list prices; null where a model has none. */
  readonly cost: number | null;
}

/** How requests stand now that ended without success, and how often which error code is theirs. */
export interface Unsuccessful {
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly codes: ReadonlyMap<string, number>;
  readonly exact: boolean;
}

type Ends = Pick<JobSums, "failed" | "cancelled" | "expired">;

/** By name. `mostReads`: of a thousand requests each, for one job. */
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

/** Pure. One for each job, by name. Ends are all that ever were. */
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

/** Looks no further once it has seen as many as there ever were. */
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
 * Read by read, of which there may be `mostReads`. A read looks at a thousand requests or so, and
 * may find none.
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
