// Reads of the store that need several calls.

import type { BatchRow, RequestMatch, RequestRow } from "../../contract/store/rows.ts";
import type { Store } from "../../contract/store/store.ts";
import type { BatchState } from "../../contract/types.ts";

const FIRST = 100;
const MEMBERS = 10_000;
const REQUESTS = 1_000;

/**
 * All batches of an account in one state, newest first. Only for states with few batches: each is
 * held in memory. If a read is full, it is repeated with a higher limit.
 */
export async function everyBatch(store: Store, account: string, state: BatchState): Promise<readonly BatchRow[]> {
  for (let limit = FIRST; ; limit *= 10) {
    const rows = await store.batches({ account, states: [state], limit });
    if (rows.length < limit) return rows;
  }
}

/** A request in a batch that has no decision there yet. */
export type OpenMember = RequestRow & { readonly ord: number };

/** Pages of the open members of a batch by place, without their bodies. */
export async function* openMembers(
  store: Pick<Store, "requests">,
  batchKey: string,
  history: boolean = false,
): AsyncGenerator<readonly OpenMember[], void, undefined> {
  for (let fromOrd = 0; ; ) {
    const page = (await store.requests({ batchKey, fromOrd, limit: MEMBERS, history })) as readonly OpenMember[];
    const last = page.at(-1);
    if (last !== undefined) yield page;
    if (last === undefined || page.length < MEMBERS) return;
    fromOrd = last.ord + 1;
  }
}

/**
 * Pages of the requests that match, in order of arrival. A page may be short. Throws the signal's
 * reason before the first read after its abort.
 */
export async function* matching(
  store: Pick<Store, "find">,
  match: RequestMatch,
  { limit = REQUESTS, signal }: { readonly limit?: number; readonly signal?: AbortSignal } = {},
): AsyncGenerator<readonly RequestRow[], void, undefined> {
  for (let after: number | null = 0; after !== null; ) {
    signal?.throwIfAborted();
    const { rows, next }: Awaited<ReturnType<Store["find"]>> = await store.find({ match, after, limit });
    if (rows.length > 0) yield rows;
    after = next;
  }
}
