// Makes running batches due for a look at once, because somebody says that one has changed: a
// webhook of the provider. A hint only: what it says is not believed, and the usual polls go on
// without it. Durable, so that it may come in at a process that runs no loops.

import type { PollFilter } from "../contract/operations.ts";
import type { BatchState } from "../contract/types.ts";
import { underLeases } from "../runtime/lease/leases-by-key.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** States in which the provider is asked for a batch. */
export const POLLED: readonly BatchState[] = ["submitted", "running"];
const MOST = 10_000;
const AT_ONCE = 100;

/**
 * The number of batches that are due now; those that a process works on at this moment are not
 * among them.
 */
export async function pollNow(runtime: Runtime, { batch, providerBatchId, account }: PollFilter): Promise<number> {
  const rows = await runtime.store.batches({
    ...(batch === undefined ? {} : { keys: [batch] }),
    ...(providerBatchId === undefined ? {} : { providerBatchIds: [providerBatchId] }),
    ...(account === undefined ? {} : { account }),
    states: POLLED,
    limit: MOST,
  });
  const now = runtime.clock.now();
  // One that only lists the provider's batch among its orphans has nothing to look for there.
  const named = rows.filter((row) => providerBatchId === undefined || row.providerBatchId === providerBatchId);
  const keys = named.filter(({ nextAt }) => nextAt > now).map(({ key }) => key);
  let due = 0;
  for (let from = 0; from < keys.length; from += AT_ONCE) due += await hurry(runtime, keys.slice(from, from + AT_ONCE));
  if (due > 0) runtime.working.wake();
  return due;
}

/** Makes those due that nobody works on. Gives their number. */
async function hurry(runtime: Runtime, keys: readonly string[]): Promise<number> {
  const taken = await underLeases(runtime, keys, (lease) =>
    lease.end((now) => (POLLED.includes(lease.batch.state) ? { nextAt: now } : {})),
  );
  return taken.length;
}
