// Reads all batches of an account in one state. Only for states with few batches: each is held in
// memory.

import type { BatchRow } from "../../contract/store/rows.ts";
import type { Store } from "../../contract/store/store.ts";
import type { BatchState } from "../../contract/types.ts";

const FIRST = 100;

/** Newest first. If a read is full, it is repeated with a higher limit. */
export async function everyBatch(store: Store, account: string, state: BatchState): Promise<readonly BatchRow[]> {
  for (let limit = FIRST; ; limit *= 10) {
    const rows = await store.batches({ account, states: [state], limit });
    if (rows.length < limit) return rows;
  }
}
