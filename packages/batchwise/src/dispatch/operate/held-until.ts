// The next time of work that only waits for leases of other processes, such as those of a crashed
// one.

import { LIVE } from "../batches/life-cycle.ts";
import type { Probe } from "../contract/store/probe.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** Above this many live batches, skip the check: some of them continue in any case. */
const MOST = 100;

/** The earliest end of these leases; null if a batch continues without them, or none is left. */
export async function heldUntil(runtime: Runtime, probe: Probe): Promise<number | null> {
  const { store, clock, options, storeTime } = runtime;
  const now = clock.now();
  const live = LIVE.reduce((sum, state) => sum + probe.batches[state], 0);
  if (live === 0 || live > MOST || (probe.batchDueAt ?? 0) <= now) return null;
  const found = await store.batches({ states: LIVE, limit: MOST });
  const ends = found.map(({ leaseUntil }) => leaseUntil - storeTime.aheadMs);
  const isHeld = found.every(({ leaseOwner }) => leaseOwner !== options.owner) && ends.every((at) => at > now);
  return isHeld && found.length > 0 ? Math.min(...ends) : null;
}
