// Decides when a lane closes a batch, from a probe of the store and the caps. Pure. Age counts from
// the request that could have been claimed first, so a lane waits at most `maxAgeMs` for a full
// batch; requests that are tried again start a new wait. It does not choose an account; see
// rank-accounts.ts.

import type { Account, ProviderLimits } from "../../contract/account.ts";
import type { LaneRow } from "../../contract/rows.ts";
import type { Thresholds } from "../../contract/types.ts";
import { parseLane } from "../../format/encode.ts";
import { isFromWrongClock } from "../times/wall-clock.ts";

/**
 * How long before its earliest deadline a lane closes, so that the request is in a batch and not
 * expired.
 */
export const DEADLINE_LEAD_MS = 60_000;
/**
 * How long flushed requests that are tried again wait for one another, while some are still to
 * come.
 */
const FLUSHED_RETRY_MS = 60_000;

/** Sums over the requests of a lane that may be claimed now. */
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

/**
 * The largest batch that any of these accounts takes: at this size waiting longer gains nothing.
 */
export function laneCaps(
  thresholds: Thresholds,
  accounts: readonly Pick<Account, "capabilities">[],
  inputs: number,
): LaneCaps {
  const caps = accounts.map(({ capabilities }) => batchCaps(thresholds, capabilities.limits, inputs));
  const largest = (of: keyof LaneCaps): number => Math.max(0, ...caps.map((each) => each[of]));
  return { maxRequests: largest("maxRequests"), maxBytes: largest("maxBytes"), maxTokens: largest("maxTokens") };
}

/** The largest batch that an account takes of requests that hold at most so many inputs each. */
export function batchCaps(thresholds: Thresholds, limits: ProviderLimits, inputs: number): LaneCaps {
  // A single request was looked at when it was enqueued.
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

/** By when a lane should have closed a batch: by its age, or by its first deadline. */
function dueAt(lane: LaneRow, maxAgeMs: number): number {
  const byAge = lane.readySince === null ? Number.POSITIVE_INFINITY : lane.readySince + maxAgeMs;
  return lane.deadlineAt === null ? byAge : Math.min(byAge, lane.deadlineAt - DEADLINE_LEAD_MS);
}

/** Lanes by due time, earliest first, so that on a shared ledger none waits for ever. */
export function mostUrgentFirst(lanes: readonly LaneRow[], maxAgeMs: number): LaneRow[] {
  const since = (lane: LaneRow): number => lane.readySince ?? Number.POSITIVE_INFINITY;
  return lanes.toSorted((a, b) => dueAt(a, maxAgeMs) - dueAt(b, maxAgeMs) || since(a) - since(b));
}

/**
 * Parts of split batches isolate a request that was refused; urgent requests were taken out of a
 * batch. Neither waits.
 */
function isPressed(lane: string): boolean {
  const { group, urgent } = parseLane(lane);
  return group !== "" || urgent;
}

/**
 * When the lane closes a batch: `now` or earlier means at once, Infinity that nothing of it can be
 * claimed. The halves of a split batch do not wait: they isolate the request that was refused. Nor
 * do requests flushed at `flushedAt`; when these are tried again, they wait only for one another.
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
