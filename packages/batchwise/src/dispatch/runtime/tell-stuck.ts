// Reports a batch that has not ended in time to onError, with possible actions.
// decide/times/stuck.ts decides when.

import { DispatchError } from "../contract/errors.ts";
import type { BatchRow } from "../contract/rows.ts";
import { LIVE } from "../decide/batch/life-cycle.ts";
import { ageOf, isStuckSince } from "../decide/times/stuck.ts";
import type { Runtime } from "./runtime.ts";

/** `before`: the batch's last write before this lease. */
export function tellStuck(runtime: Runtime, batch: BatchRow, before: number): void {
  const { stuckAfterMs } = runtime.options;
  if (!LIVE.includes(batch.state) || !isStuckSince(batch, before, batch.updatedAt, stuckAfterMs)) return;
  const { key, account, state, providerBatchId, providerState } = batch;
  const hours = Math.floor(ageOf(batch, batch.updatedAt) / 3_600_000);
  const there = providerBatchId === null ? "" : `, and the provider says ${providerState} of ${providerBatchId}`;
  const ways = "cancelBatch(key) cancels its requests, abandon(key) lets go of it.";
  const message = `Batch ${key} at ${account} has not ended after ${hours} h: it is ${state}${there}. ${ways}`;
  runtime.report(new DispatchError("BATCH_STUCK", message), { account, batch: key, operation: "work" });
}
