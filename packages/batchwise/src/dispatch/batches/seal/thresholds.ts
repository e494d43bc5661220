// Decides when a lane closes a batch, from a store probe and the caps. Age counts from the first
// claimable request, so a lane waits at most `maxAgeMs` for a full batch; retries start a new wait.
// Does not choose an account; see rank-accounts.ts. Pure.

import type { Account } from "../../contract/account.ts";
import type { ProviderLimits } from "../../contract/capabilities.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import type { Thresholds } from "../../contract/types.ts";
import { parseLane } from "../../format/encode.ts";
import { isFromWrongClock } from "../../runtime/wall-clock.ts";

/**
 * How long before its earliest deadline a lane closes, in ms, so that the request does not expire.
 */
export const DEADLINE_LEAD_MS = 60_000;
/** How long retries of flushed requests wait for each other, in ms. */
const FLUSHED_RETRY_MS = 60_000;

/** Sums over a lane's claimable requests. */
export interface LaneSums {
  readonly ready: number;
  readonly bytes: number;
  readonly tokens: number;
}

export interface LaneCaps {
  readonly maxRequests: number;
  readonly maxBytes: number;
  readonly maxTokens: number;
}

/** The largest batch of any of these accounts: at this size a longer wait gains nothing. */
export function laneCaps(
  thresholds: Thresholds,
  accounts: readonly Pick<Account, "capabilities">[],
  inputs: number,
): LaneCaps {
  const caps = accounts.map(({ capabilities }) => batchCaps(thresholds, capabilities.limits, inputs));
  const largest = (of: keyof LaneCaps): number => Math.max(0, ...caps.map((each) => each[of]));
  return { maxRequests: largest("maxRequests"), maxBytes: largest("maxBytes"), maxTokens: largest("maxTokens") };
}

/** The largest batch of an account for requests with at most this many inputs each. */
export function batchCaps(thresholds: Thresholds, limits: ProviderLimits, inputs: number): LaneCaps {
  // A single request was checked when it was enqueued.
  const withinInputs = Math.max(1, Math.floor((limits.maxInputs ?? Number.POSITIVE_INFINITY) / inputs));
  return {
    maxRequests: Math.min(thresholds.maxRequests, limits.maxRequests, withinInputs),
    maxBytes: Math.min(thresholds.maxBytes, limits.maxBytes),
    maxTokens: Math.min(thresholds.maxTokens, limits.maxTokens),
  };
}

export function isFull(sums: LaneSums, caps: LaneCaps): boolean {
  return sums.ready >= caps.maxRequests || sums.bytes >= caps.maxBytes || sums.tokens >= caps.maxTokens;
}

export function sumOf(a: LaneSums, b: LaneSums): LaneSums {
  return { ready: a.ready + b.ready, bytes: a.bytes + b.bytes, tokens: a.tokens + b.tokens };
}

/** When a lane should have closed a batch: by its age, or by its first deadline. */
function dueAt(lane: LaneRow, maxAgeMs: number): number {
  const byAge = lane.readySince === null ? Number.POSITIVE_INFINITY : lane.readySince + maxAgeMs;
  return lane.deadlineAt === null ? byAge : Math.min(byAge, lane.deadlineAt - DEADLINE_LEAD_MS);
}

/** Lanes by due time, earliest first, so that none waits for ever on a shared ledger. */
export function mostUrgentFirst(lanes: readonly LaneRow[], maxAgeMs: number): LaneRow[] {
  const since = (lane: LaneRow): number => lane.readySince ?? Number.POSITIVE_INFINITY;
  return lanes.toSorted((a, b) => dueAt(a, maxAgeMs) - dueAt(b, maxAgeMs) || since(a) - since(b));
}

/**
 * True for parts of split batches, which isolate a refused request, and for urgent requests: they
 * do not wait.
 */
function isPressed(lane: string): boolean {
  const { group, urgent } = parseLane(lane);
  return group !== "" || urgent;
}

/**
 * When the lane closes a batch: `now` or earlier means at once, Infinity that nothing is claimable.
 * Halves of a split batch do not wait, because they isolate the refused request. Nor do requests
 * flushed at `flushedAt`; their retries wait only for each other.
 */
export function closesAt(
  lane: LaneRow,
  caps: LaneCaps,
  maxAgeMs: number,
  now: number,
  flushedAt: number = Number.NEGATIVE_INFINITY,
): number {
  const later = lane.deferredUntil ?? Number.POSITIVE_INFINITY;
  if (lane.ready === 0 || lane.oldestAt === null || lane.readySince === null) return later;
  if (lane.readySince <= flushedAt || isFull(lane, caps) || isPressed(lane.lane)) return now;
  if (isFromWrongClock(lane.readySince, now)) return now;
  const isRetryOfFlushed = lane.oldestAt <= flushedAt;
  if (isRetryOfFlushed && lane.deferredUntil === null) return now;
  const ageMs = isRetryOfFlushed ? Math.min(FLUSHED_RETRY_MS, maxAgeMs) : maxAgeMs;
  return Math.min(dueAt(lane, ageMs), later);
}
