// Promises that nobody will read: a chunk for a caller who has left, a round that cannot be delivered. Their rejections
// are swallowed here, because an unhandled one ends the process.

import { isThenable } from "../core/contract/thenable.ts";

export function ignoreRejection(value: unknown): void {
  try {
    if (isThenable(value)) Promise.resolve(value).catch(() => {});
  } catch {
    return;
  }
}

/** The same for a round and each of its places, or for a list of rounds. */
export function ignoreRejections(round: unknown): void {
  ignoreRejection(round);
  try {
    if (Array.isArray(round)) for (const place of round) ignoreRejection(place);
  } catch {
    return;
  }
}
