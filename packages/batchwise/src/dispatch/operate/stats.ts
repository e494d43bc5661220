// Computes the dispatcher's statistics from one store probe and its limit. Pure.

import { type Pauses, pausedRecord } from "../accounts/pauses.ts";
import type { Probe } from "../contract/store/probe.ts";
import type { DispatcherStats } from "../contract/types.ts";
import { laneStats } from "../format/lane-stats.ts";
import { nextTryAt } from "./next-try.ts";

export function dispatcherStats(
  probe: Probe,
  limit: number,
  pauses: Pauses,
  counted: Pick<DispatcherStats, "ignoredResults" | "duplicateBatches">,
  heldUntil: number | null,
): DispatcherStats {
  return {
    lanes: laneStats(probe, limit),
    ledgers: probe.ledgers.map(({ name, tokens, requests, batches, learnedTokens, blockedUntil }) => ({
      name,
      tokens,
      requests,
      batches,
      learnedTokens,
      blockedUntil,
    })),
    batches: probe.batches,
    inBatches: probe.inBatches,
    nextTryAt: nextTryAt(probe),
    heldUntil,
    outcomes: probe.outcomes,
    deliveriesWaiting: probe.deliveriesWaiting,
    paused: pausedRecord(pauses),
    ignoredResults: counted.ignoredResults,
    duplicateBatches: counted.duplicateBatches,
  };
}
