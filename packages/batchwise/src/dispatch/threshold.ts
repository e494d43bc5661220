// When a lane closes a batch: pure, from what a probe saw and the caps. Age counts from the oldest request that waits,
// so the longest wait is `maxAgeMs`, not time since the last batch. It does not choose an account; see choose.ts.

import { parseLane } from "./encode.ts";
import type { Account } from "./provider.ts";
import type { LaneRow } from "./rows.ts";
import type { Thresholds } from "./types.ts";

/** How long before its earliest deadline a lane closes, so that the request is in a batch and not expired. */
export const DEADLINE_LEAD_MS = 60_000;

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

/** The largest batch that any of these accounts takes: at this size waiting longer gains nothing. */
export function laneCaps(thresholds: Thresholds, accounts: readonly Pick<Account, "capabilities">[]): LaneCaps {
  const largest = (of: "maxRequests" | "maxBytes" | "maxTokens"): number =>
    Math.min(thresholds[of], Math.max(0, ...accounts.map(({ capabilities }) => capabilities.limits[of])));
  return { maxRequests: largest("maxRequests"), maxBytes: largest("maxBytes"), maxTokens: largest("maxTokens") };
}

export function isFull(sums: LaneSums, caps: LaneCaps): boolean {
  return sums.ready >= caps.maxRequests || sums.bytes >= caps.maxBytes || sums.tokens >= caps.maxTokens;
}

/**
 * When the lane closes a batch: `now` or earlier means at once, Infinity that nothing of it can be claimed. The parts
 * of a split batch do not wait for company: they are looking for the poison. Nor does what was flushed at `flushedAt`.
 */
export function closesAt(
  lane: LaneRow,
  caps: LaneCaps,
  maxAgeMs: number,
  now: number,
  flushedAt: number = Number.NEGATIVE_INFINITY,
): number {
  const later = lane.deferredUntil ?? Number.POSITIVE_INFINITY;
  if (lane.ready === 0 || lane.oldestAt === null) return later;
  if (lane.oldestAt <= flushedAt || isFull(lane, caps) || parseLane(lane.lane).group !== "") return now;
  const pressed = lane.deadlineAt === null ? Number.POSITIVE_INFINITY : lane.deadlineAt - DEADLINE_LEAD_MS;
  return Math.min(lane.oldestAt + maxAgeMs, pressed, later);
}
