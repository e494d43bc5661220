// Open requests by the sums that stores keep. A request may end in another lane than it began in,
// so only sums over the lanes it may pass through say what is open. Pure.

import type { UsageRow } from "../contract/store/rows.ts";
import { laneName, parseLane } from "./encode.ts";

/** Requests without an outcome; below 0 for a lane that more have entered than left. */
export function openIn({ requests, ended }: Pick<UsageRow, "requests" | "ended">): number {
  return requests - ended.succeeded - ended.failed - ended.cancelled - ended.expired;
}

/**
 * The home lane of a request: without the group of a split batch, the mark of urgent requests and
 * the place among requests that share a cache.
 */
export function homeLane(lane: string): string {
  return laneName({ ...parseLane(lane), group: "", urgent: false, cached: "" });
}
