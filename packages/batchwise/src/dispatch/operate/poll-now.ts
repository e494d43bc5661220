// Makes running batches due for a poll at once, because a webhook of the provider says that one has
// changed. Only a hint: its content is not trusted, and the usual polls continue without it.
// Durable, so that it may arrive at a process that runs no loops.

import type { PollFilter } from "../contract/operations.ts";
import type { BatchState } from "../contract/types.ts";
import { makeDue } from "../runtime/lease/leases-by-key.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** States in which a batch is polled. */
export const POLLED: readonly BatchState[] = ["submitted", "running"];
const MOST = 10_000;
const AT_ONCE = 100;

/** Returns the number of batches made due; batches that another process works on are skipped. */
export async function pollNow(runtime: Runtime, { batch, providerBatchId, account }: PollFilter): Promise<number> {
  const rows = await runtime.store.batches({
    ...(batch === undefined ? {} : { keys: [batch] }),
    ...(providerBatchId === undefined ? {} : { providerBatchIds: [providerBatchId] }),
    ...(account === undefined ? {} : { account }),
    states: POLLED,
    limit: MOST,
  });
  const now = runtime.clock.now();
  // A batch that only lists the provider's batch among its orphans has nothing to poll there.
  const named = rows.filter((row) => providerBatchId === undefined || row.providerBatchId === providerBatchId);
  const keys = named.filter(({ nextAt }) => nextAt > now).map(({ key }) => key);
  let due = 0;
  for (let from = 0; from < keys.length; from += AT_ONCE) {
    due += await makeDue(runtime, keys.slice(from, from + AT_ONCE), POLLED);
  }
  if (due > 0) runtime.working.wake();
  return due;
}
