// The next time of work that only waits for a retry. Pure.

import type { Probe } from "../contract/store/probe.ts";

/**
 * The earliest end of a pause; null if a request is in a batch or waits for one now, or none is
 * paused.
 */
export function nextTryAt({ lanes, inBatches }: Pick<Probe, "lanes" | "inBatches">): number | null {
  if (inBatches > 0 || lanes.some(({ ready }) => ready > 0)) return null;
  const pauses = lanes.map(({ deferredUntil }) => deferredUntil).filter((at) => at !== null);
  return pauses.length === 0 ? null : Math.min(...pauses);
}
