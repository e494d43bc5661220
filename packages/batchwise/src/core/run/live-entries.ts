// The entries of a batch that still have a caller.

import type { Entry } from "../queue/entry.ts";

/** Those who have not left or been answered. */
export function liveOf(entries: readonly Entry[]): readonly Entry[] {
  return entries.every(({ recipient }) => recipient !== null)
    ? entries
    : entries.filter(({ recipient }) => recipient !== null);
}
