// Sums requests and tokens by tenant, job, endpoint and model. Pure, except for the read.

import type { PriceTable } from "../contract/cost.ts";
import type { UsageFilter, UsageRecord } from "../contract/operations.ts";
import type { UsageRow } from "../contract/store/rows.ts";
import { parseLane } from "../format/encode.ts";
import { sumOfTokens } from "../format/open-requests.ts";
import { priceOf } from "../prices/price.ts";
import type { Runtime } from "../runtime/runtime.ts";

type Unpriced = Omit<UsageRecord, "price">;

export async function usageBy(runtime: Runtime, filter: UsageFilter): Promise<UsageRecord[]> {
  return summed(await runtime.store.usage(filter), runtime.options.prices);
}

/**
 * One record for each tenant, job, endpoint and model, in this order. Parts of split batches count
 * for their lane.
 */
export function summed(rows: readonly UsageRow[], prices: PriceTable): UsageRecord[] {
  const sums = new Map<string, Unpriced>();
  for (const row of rows) {
    const { endpoint, model } = parseLane(row.lane);
    const name = JSON.stringify([row.tenant, row.job, endpoint, model]);
    const known = sums.get(name);
    sums.set(name, known === undefined ? recordOf(row) : added(known, row));
  }
  const inOrder = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return inOrder.map(([, record]) => ({ ...record, price: priceOf(record, record.model, prices) }));
}

function recordOf({ lane, ...row }: UsageRow): Unpriced {
  const { endpoint, model } = parseLane(lane);
  return { ...row, endpoint, model };
}

function added(sum: Unpriced, row: UsageRow): Unpriced {
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
    ...sumOfTokens(sum, row),
  };
}
