// Sums of requests and tokens by tenant, job, endpoint and model. Pure, but for the reading.

import type { UsageFilter, UsageRecord } from "../contract/operations.ts";
import type { UsageRow } from "../contract/rows.ts";
import { laneProper, parseLane } from "../format/encode.ts";
import type { Runtime } from "../runtime/runtime.ts";

export async function usageBy(runtime: Runtime, filter: UsageFilter): Promise<UsageRecord[]> {
  return summed(await runtime.store.usage(filter));
}

/** One record for each tenant, job, endpoint and model, in this order: parts of split batches count for their lane. */
export function summed(rows: readonly UsageRow[]): UsageRecord[] {
  const sums = new Map<string, UsageRecord>();
  for (const row of rows) {
    const name = JSON.stringify([row.tenant, row.job, laneProper(row.lane)]);
    const known = sums.get(name);
    sums.set(name, known === undefined ? recordOf(row) : added(known, row));
  }
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record);
}

function recordOf({ lane, ...row }: UsageRow): UsageRecord {
  const { endpoint, model } = parseLane(lane);
  return { ...row, endpoint, model };
}

function added(sum: UsageRecord, row: UsageRow): UsageRecord {
  const { succeeded, failed, cancelled, expired } = row.ended;
  return {
    ...sum,
    requests: sum.requests + row.requests,
    ended: {
      succeeded: sum.ended.succeeded + succeeded,
      failed: sum.ended.failed + failed,
      cancelled: sum.ended.cancelled + cancelled,
      expired: sum.ended.expired + expired,
    },
    inputTokens: sum.inputTokens + row.inputTokens,
    cachedTokens: sum.cachedTokens + row.cachedTokens,
    outputTokens: sum.outputTokens + row.outputTokens,
    reasoningTokens: sum.reasoningTokens + row.reasoningTokens,
  };
}
