// Handles promises that no caller will read: a chunk for a caller who has left, or a round that
// cannot be delivered. Swallows their rejections, because an unhandled one ends the process.

import { ignoreIfPromise } from "../core/contract/thenable.ts";

/** Takes a round, whose places are ignored, too, or a list of rounds. */
export function ignoreRejections(round: unknown): void {
  ignoreIfPromise(round);
  try {
    if (Array.isArray(round)) for (const place of round) ignoreIfPromise(place);
  } catch {
    return;
  }
}
