// Decides when a batch counts as stuck and when that is told: once it is older than the limit, then
// once a day. Pure. A write of the batch tells if such a moment lies between it and the write
// before, so all processes together tell once.

import type { BatchRow } from "../../contract/rows.ts";
import { CLOCK_SKEW_MS } from "../batch/life-cycle.ts";

export const STUCK_AFTER_MS = 93_600_000;
const TOLD_EVERY_MS = 86_400_000;

const DAY_MS = 86_400_000;

type Aged = Pick<BatchRow, "state" | "createdAt" | "submitStartedAt"> & Partial<Pick<BatchRow, "expiresAt">>;

/** The limit, and as much more as the provider's window for this batch is longer than a day. */
export function stuckAfter({ submitStartedAt, expiresAt = null }: Aged, stuckAfterMs: number): number {
  if (submitStartedAt === null || expiresAt === null) return stuckAfterMs;
  return stuckAfterMs + Math.max(0, expiresAt - submitStartedAt - DAY_MS - CLOCK_SKEW_MS);
}

/** How long the batch is with the provider; how long it exists, while it is not. */
export function ageOf(batch: Aged, now: number): number {
  const isSent = batch.state === "submitted" || batch.state === "running" || batch.state === "collecting";
  return now - (isSent ? (batch.submitStartedAt ?? batch.createdAt) : batch.createdAt);
}

/** True when the batch is to be told of at `now`, if it was last looked at at `before`. */
export function isStuckSince(batch: Aged, before: number, now: number, stuckAfterMs: number): boolean {
  const told = (at: number): number => Math.floor((ageOf(batch, at) - stuckAfter(batch, stuckAfterMs)) / TOLD_EVERY_MS);
  return told(now) >= 0 && told(now) > Math.max(-1, told(before));
}
