// How a store takes requests in a transaction of the caller's, as `enqueueIn` of the Postgres store
// does. The dispatcher checks and encodes; the store knows the connection. So the dispatcher gives
// itself to the store when it is made. Optional: a store that has no transactions to share leaves
// it out.

import type { NewRequest, RequestQuery, RequestRow } from "./rows.ts";
import type { Store } from "./store.ts";
import type { BatchLine, DispatchRequest, EnqueuedMany } from "./types.ts";

/**
 * The part of a store that works in a caller's transaction. What is read of stored requests holds
 * no figures: they may be rounded, because the session's settings stay the caller's.
 */
export interface WithinTransaction extends Pick<Store, "enqueue"> {
  requests(query: RequestQuery): Promise<readonly Pick<RequestRow, "id" | "lane" | "body">[]>;
}

/** What a dispatcher does for a store that is given requests in a caller's transaction. */
export interface TransactionIntake {
  /**
   * The rows of these requests, checked as `enqueueMany` does. Throws a DispatchError for one that
   * cannot be sent.
   */
  check(requests: readonly (DispatchRequest | BatchLine)[]): readonly NewRequest[];
  /**
   * Stores the rows through `within`, whose two methods work in the caller's transaction, and wakes
   * what looks for them later. Rejects with DUPLICATE_ID after some rows were stored: the store
   * undoes all of the call then.
   */
  enqueue(rows: readonly NewRequest[], within: WithinTransaction): Promise<EnqueuedMany>;
}

/** A store with an `enqueueIn` of its own. */
export interface TransactionalStore extends Store {
  /**
   * Called by each dispatcher that is made on the store. The last one that has not left checks.
   * Returns how it leaves.
   */
  useIntake(intake: TransactionIntake): () => void;
}

export function isTransactional(store: Store): store is TransactionalStore {
  return "useIntake" in store && typeof store.useIntake === "function";
}
