// Compares requests with the stored requests of the same ids. A request with a generated id is
// stored without a digest, because it is always new. If the caller later enqueues it with that id,
// the digests differ, and the bodies are compared here.

import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import type { WithinTransaction } from "../../contract/store/transactions.ts";
import { parseLane } from "../../format/encode.ts";

/**
 * Turns `conflict` into `same` if the stored body is equal. Reads the store once if there is a
 * conflict.
 */
export async function compareBodies(
  store: Pick<WithinTransaction, "requests">,
  rows: readonly NewRequest[],
  answers: readonly EnqueueResult[],
): Promise<readonly EnqueueResult[]> {
  if (!answers.includes("conflict")) return answers;
  const ids = rows.filter((_, index) => answers[index] === "conflict").map(({ id }) => id);
  const stored = await store.requests({ ids, bodies: true });
  const known = new Map(stored.map((row) => [row.id, row]));
  return rows.map((row, index) => {
    const before = known.get(row.id);
    const isSame = answers[index] === "conflict" && before !== undefined && isRepeat(row, before);
    return isSame ? "same" : (answers[index] as EnqueueResult);
  });
}

function isRepeat(row: NewRequest, before: { readonly lane: string; readonly body: string | null }): boolean {
  return before.body === row.body && parseLane(before.lane).endpoint === parseLane(row.lane).endpoint;
}
