// The limits of price of jobs and tenants in a store. Reads only.

import { type PriceLimit, type RequestMatch, readPriceLimits, type Store, type UsageRecord } from "batchwise/dispatch";
import { dollars } from "../common/print.ts";

const PAGE = 1_000;
/** A store sums a tenant's requests without a job when they end; open ones are looked through. */
const MOST_READS = 10;

/**
 * Limits of the jobs and tenants in `usage`, and of the tenants of the first ten thousand open
 * requests that match.
 */
export async function pricesOf(
  store: Pick<Store, "find" | "payers">,
  usage: readonly Pick<UsageRecord, "job" | "tenant">[],
  match: Pick<RequestMatch, "job"> = {},
): Promise<PriceLimit[]> {
  const jobs = new Set(usage.map(({ job }) => job));
  const tenants = new Set(usage.map(({ tenant }) => tenant));
  let after: number | null = 0;
  for (let reads = 0; after !== null && reads < MOST_READS; reads += 1) {
    const page: Awaited<ReturnType<Store["find"]>> = await store.find({
      ...{ match: { ...match, states: ["ready", "claimed"] }, after, limit: PAGE },
    });
    for (const { tenant } of page.rows) tenants.add(tenant);
    after = page.next;
  }
  return await readPriceLimits(store, { jobs: [...jobs].sort(), tenants: [...tenants].sort() });
}

/** For JSON, which has no Infinity: `limit` is null where it was lifted. */
export function jsonOf({ limit, ...others }: PriceLimit): object {
  return { ...others, limit: limit === Number.POSITIVE_INFINITY ? null : limit };
}

/** A limit of Infinity as `none`. */
export function limitText({ limit }: PriceLimit): string {
  return limit === Number.POSITIVE_INFINITY ? "none" : dollars(limit);
}
