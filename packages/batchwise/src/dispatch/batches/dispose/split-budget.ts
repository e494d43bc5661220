// Decides when a refused batch may be halved. Parts are batches too, and a provider limits creates
// per hour: half of the limit is kept for batches that were not refused. Only reads the store.

import type { Account } from "../../contract/account.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { partOf } from "../parts.ts";

const HOUR = 3_600_000;
const SHARE = 1 / 2;
const LEAST_WAIT_MS = 10_000;
const PARTS = 2;

/** Now, or when enough of the account's creates are an hour old. */
export async function maySplitAt(runtime: Runtime, { name, capabilities }: Account): Promise<number> {
  const now = runtime.clock.now();
  const { maxCreatesPerHour = Number.POSITIVE_INFINITY } = capabilities.limits;
  if (maxCreatesPerHour === Number.POSITIVE_INFINITY) return now;
  const most = Math.max(PARTS, Math.floor(maxCreatesPerHour * SHARE));
  const newest = await runtime.store.batches({ account: name, limit: most });
  const young = newest.filter(({ createdAt }) => createdAt > now - HOUR).toReversed();
  const { lanes } = await runtime.store.probe(1, now);
  // Waiting parts will be creates too.
  const waiting = lanes.filter((lane) => partOf(lane) !== null).length;
  let over = PARTS + waiting - most;
  for (const { submitAttempt } of young) over += Math.max(1, submitAttempt);
  if (over <= 0) return now;
  for (const { createdAt, submitAttempt } of young) {
    over -= Math.max(1, submitAttempt);
    if (over <= 0) return Math.max(now + LEAST_WAIT_MS, createdAt + HOUR);
  }
  return now + LEAST_WAIT_MS;
}
