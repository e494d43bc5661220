// Cancels requests: one, many, or all that match. The cancel is durable before its batch is
// processed early; otherwise the batch's next poll sees it. Guarantees that waiting requests are
// not sent afterwards.

import type { Workers } from "../batches/workers.ts";
import type { CancelCounts, CancelFilter } from "../contract/operations.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import type { CancelResult } from "../contract/types.ts";
import { CANCELLED } from "../format/payload.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { abandon } from "./batch-control.ts";
import { filtered, inParts } from "./find-requests.ts";

const BATCHES_AT_ONCE = 500;

/** `workers`: null in a process without running loops, which processes no batch early. */
export async function cancelOne(runtime: Runtime, workers: Workers | null, id: string): Promise<CancelResult> {
  const counts = await cancelMany(runtime, workers, [id]);
  if (counts.cancelled > 0) return "cancelled";
  if (counts.requested > 0) return "requested";
  return counts.ended > 0 ? "ended" : "not_found";
}

export async function cancelMany(
  runtime: Runtime,
  workers: Workers | null,
  which: readonly string[] | CancelFilter,
): Promise<CancelCounts> {
  const counts = { cancelled: 0, requested: 0, ended: 0, notFound: 0 };
  const batches = new Set<string>();
  for await (const ids of partsOf(runtime, which)) {
    const { store, sinks, clock } = runtime;
    const answers = await store.amend({ kind: "cancel", ids, ...CANCELLED }, sinks, clock.now());
    for (const { result } of answers) if (result in COUNTED) counts[COUNTED[result as keyof typeof COUNTED]] += 1;
    const requested = answers.filter(({ result }) => result === "requested").map(({ id }) => id);
    if (requested.length < answers.length) runtime.outcomesRecorded();
    const rows = requested.length === 0 ? [] : await store.requests({ ids: requested });
    for (const { batchKey } of rows) if (batchKey !== null) batches.add(batchKey);
  }
  await hurryCancelled(runtime, workers, [...batches]).catch((error: unknown) => {
    runtime.report(error, { operation: "store" });
  });
  return counts;
}

const COUNTED = { changed: "cancelled", requested: "requested", ended: "ended", not_found: "notFound" } as const;

async function* partsOf(runtime: Runtime, which: readonly string[] | CancelFilter): AsyncGenerator<readonly string[]> {
  if (isList(which)) {
    yield* inParts(which);
    return;
  }
  const statuses = which.statuses ?? (["waiting", "in_batch"] as const);
  for await (const rows of filtered(runtime, { ...which, statuses })) yield rows.map(({ id }) => id);
}

function isList(which: readonly string[] | CancelFilter): which is readonly string[] {
  return Array.isArray(which);
}

/**
 * Ends batches now, instead of at their next poll or by hand, if all of their open members are
 * cancelled.
 */
async function hurryCancelled(runtime: Runtime, workers: Workers | null, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += BATCHES_AT_ONCE) {
    const some = keys.slice(from, from + BATCHES_AT_ONCE);
    const rows = await runtime.store.batches({ keys: some, limit: some.length });
    const over = rows.filter(({ remaining, cancelRequested }) => remaining > 0 && remaining === cancelRequested);
    const quarantined = over.filter(({ state }) => state === "quarantined");
    await workers?.hurry(over.filter((batch) => !quarantined.includes(batch)).map(({ key }) => key));
    for (const batch of quarantined) await endQuarantined(runtime, batch);
  }
}

/** The store ends requeued requests with a pending cancel as cancelled. */
async function endQuarantined(runtime: Runtime, { key, account }: BatchRow): Promise<void> {
  try {
    if (runtime.options.accounts.has(account)) await abandon(runtime, key, "requeue");
  } catch (error) {
    runtime.report(error, { account, batch: key, operation: "work" });
  }
}
