// Open requests by the sums that stores keep, and sums of tokens. A request may end in another lane
// than it began in, so only sums over the lanes it may pass through say what is open. Pure.

import type { TokenCounts, UsageRow } from "../contract/store/rows.ts";
import { laneName, parseLane } from "./encode.ts";

/** Requests without an outcome; below 0 for a lane that more have entered than left. */
export function openIn({ requests, ended }: Pick<UsageRow, "requests" | "ended">): number {
  return requests - ended.succeeded - ended.failed - ended.cancelled - ended.expired;
}

export const NO_TOKENS: TokenCounts = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

export function sumOfTokens(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

/**
 * The home lane of a request: without the group of a split batch, the mark of urgent requests and
 * the place among requests that share a cache.
 */
export function homeLane(lane: string): string {
  return laneName({ ...parseLane(lane), group: "", urgent: false, cached: "" });
}
