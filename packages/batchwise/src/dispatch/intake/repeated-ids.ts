// Requests whose id is in the store already. A request under an id of the dispatcher's own making is stored without a
// digest: nobody can have enqueued it before. Should a caller enqueue it again under the id he was given, the store
// finds the digests different, and the bodies are compared here.

import type { NewRequest } from "../contract/rows.ts";
import type { EnqueueResult, Store } from "../contract/store.ts";
import { parseLane } from "../format/encode.ts";

/** Turns `conflict` into `same` where the very body is stored that was to be. One more call of the store, if any. */
export async function compareBodies(
  store: Store,
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
