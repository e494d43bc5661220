// Lets a store check and encode the requests of a caller's transaction until the dispatcher stops.
// Nothing is counted here, because the caller may still roll back: the sealer finds committed rows
// when it looks at the store.

import type { Sealer } from "../../batches/seal/sealer.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import { isTransactional, type TransactionIntake, type WithinTransaction } from "../../contract/store/transactions.ts";
import type { EnqueuedMany } from "../../contract/types.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { chunks } from "./chunks.ts";
import { enqueuedMany } from "./enqueued.ts";
import { compareBodies } from "./repeated-ids.ts";

export function offerIntake(runtime: Runtime, sealer: Sealer, check: TransactionIntake["check"]): void {
  const { store } = runtime.options;
  if (!isTransactional(store)) return;
  const enqueue: TransactionIntake["enqueue"] = async (rows, within) => {
    const stored = await storeIn(rows, within, runtime);
    sealer.expectCommit();
    return stored;
  };
  const leave = store.useIntake({ check, enqueue });
  runtime.stopping.signal.addEventListener("abort", leave, { once: true });
}

async function storeIn(
  rows: readonly NewRequest[],
  within: WithinTransaction,
  runtime: Runtime,
): Promise<EnqueuedMany> {
  const { clock, limits } = runtime;
  // Not awaited: the caller may hold the last connection of the store's pool.
  limits.keep().catch((error: unknown) => runtime.reportShared(error, { operation: "store" }));
  const answers: EnqueueResult[] = [];
  for (const some of chunks(rows)) {
    answers.push(...(await compareBodies(within, some, await within.enqueue(some, clock.now()))));
  }
  return enqueuedMany(rows, answers, () => "Nothing of this call is stored.");
}
