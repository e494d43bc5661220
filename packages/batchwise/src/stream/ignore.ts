// Promises that nobody will read: a chunk for a caller who has left, a round that cannot be
// delivered. Their rejections are swallowed here, because an unhandled one ends the process.

import { ignoreIfPromise } from "../core/contract/thenable.ts";

/** For a round and each of its places, or for a list of rounds. */
export function ignoreRejections(round: unknown): void {
  ignoreIfPromise(round);
  try {
    if (Array.isArray(round)) for (const place of round) ignoreIfPromise(place);
  } catch {
    return;
  }
}
