// Decides when a batch counts as stuck and is reported: once older than the limit, then once a day.
// A write of the batch reports if such a moment lies between it and the previous write, so all
// processes together report once. Pure.

import type { BatchRow } from "../contract/store/rows.ts";
import { CLOCK_SKEW_MS } from "./life-cycle.ts";

export const STUCK_AFTER_MS = 93_600_000;
const TOLD_EVERY_MS = 86_400_000;

const DAY_MS = 86_400_000;

type Aged = Pick<BatchRow, "state" | "createdAt" | "submitStartedAt"> & Partial<Pick<BatchRow, "expiresAt">>;

/** The limit, plus the part of the provider's window for this batch beyond a day. */
export function stuckAfter({ submitStartedAt, expiresAt = null }: Aged, stuckAfterMs: number): number {
  if (submitStartedAt === null || expiresAt === null) return stuckAfterMs;
  return stuckAfterMs + Math.max(0, expiresAt - submitStartedAt - DAY_MS - CLOCK_SKEW_MS);
}

/** Time since the batch was sent, or since its creation if it was not. */
export function ageOf(batch: Aged, now: number): number {
  const isSent = batch.state === "submitted" || batch.state === "running" || batch.state === "collecting";
  return now - (isSent ? (batch.submitStartedAt ?? batch.createdAt) : batch.createdAt);
}

/** True if the batch must be reported at `now`, after an earlier look at `before`. */
export function isStuckSince(batch: Aged, before: number, now: number, stuckAfterMs: number): boolean {
  const told = (at: number): number => Math.floor((ageOf(batch, at) - stuckAfter(batch, stuckAfterMs)) / TOLD_EVERY_MS);
  return told(now) >= 0 && told(now) > Math.max(-1, told(before));
}
