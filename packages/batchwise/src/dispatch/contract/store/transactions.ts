// Enqueueing in a caller's transaction, as `enqueueIn` of the Postgres store does. The dispatcher
// checks and encodes; the store knows the connection. So a new dispatcher registers itself with the
// store. Stores without transactions to share leave this out.

import type { BatchLine, DispatchRequest, EnqueuedMany } from "../types.ts";
import type { NewRequest, RequestQuery, RequestRow } from "./rows.ts";
import type { Store } from "./store.ts";

/**
 * The methods of a store that work in a caller's transaction. Read rows have no exact numbers,
 * because the caller's session settings may round them.
 */
export interface WithinTransaction extends Pick<Store, "enqueue"> {
  requests(query: RequestQuery): Promise<readonly Pick<RequestRow, "id" | "lane" | "body">[]>;
}

/** The service of a dispatcher for such a store. */
export interface TransactionIntake {
  /**
   * The rows of these requests, checked like `enqueueMany`. Throws a DispatchError for an invalid
   * one.
   */
  check(requests: readonly (DispatchRequest | BatchLine)[]): readonly NewRequest[];
  /**
   * Stores the rows through `within`, which works in the caller's transaction, and schedules a look
   * for them. Rejects with DUPLICATE_ID after some rows were stored; the store then undoes the
   * whole call.
   */
  enqueue(rows: readonly NewRequest[], within: WithinTransaction): Promise<EnqueuedMany>;
}

/** A store with its own `enqueueIn`. */
export interface TransactionalStore extends Store {
  /**
   * Called by each dispatcher on the store. The last one that has not left checks requests. Returns
   * a function that leaves.
   */
  useIntake(intake: TransactionIntake): () => void;
}

export function isTransactional(store: Store): store is TransactionalStore {
  return "useIntake" in store && typeof store.useIntake === "function";
}
