// The size of one request's line, and how large it may be. Any account that serves the request may
// get it, so the longest line and the smallest limits count. Pure, except for the accounts' own
// `encodeLine`.

import type { Account, LineRequest } from "../contract/account.ts";
import type { Thresholds } from "../contract/types.ts";
import { atOnce, countOf } from "./at-once.ts";
import { utf8Length } from "./encode.ts";

/** The most that one request may have. */
export interface LineLimits {
  readonly mostBytes: number;
  readonly mostTokens: number;
  readonly mostInputs: number;
}

export function lineLimits(thresholds: Thresholds, accounts: readonly Account[]): LineLimits {
  const limits = accounts.map(({ capabilities }) => capabilities.limits);
  return {
    mostBytes: Math.min(thresholds.maxBytes, ...limits.map(({ maxBytes }) => maxBytes)),
    mostTokens: Math.min(
      thresholds.maxTokens,
      ...limits.map(({ maxTokens, maxEnqueuedTokens }) => Math.min(maxTokens, maxEnqueuedTokens)),
    ),
    mostInputs: Math.min(...limits.map(({ maxInputs }) => maxInputs ?? Number.POSITIVE_INFINITY)),
  };
}

/** Bytes of the longest line that an account would send. Throws where one cannot send it. */
export function longestLine(accounts: readonly Account[], request: LineRequest, bodyBytes: number): number {
  let longest = 0;
  for (const account of accounts) {
    longest = Math.max(longest, bytesOf(account, request, bodyBytes));
  }
  return longest;
}

function bytesOf(account: Account, request: LineRequest, bodyBytes: number): number {
  const bytes = account.lineBytes?.(request, bodyBytes) ?? null;
  if (bytes !== null) return countOf(account, atOnce(account, "lineBytes", bytes));
  return utf8Length(atOnce(account, "encodeLine", account.encodeLine(request)));
}
