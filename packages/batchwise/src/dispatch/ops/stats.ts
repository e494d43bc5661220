// Computes the dispatcher's statistics from one probe of the store. Pure.

import type { Probe } from "../contract/rows.ts";
import type { DispatcherStats, LaneStats } from "../contract/types.ts";
import { type Pauses, pausedRecord } from "../decide/pauses.ts";
import { parseLane } from "../format/encode.ts";
import type { Runtime } from "../runtime/runtime.ts";

export function dispatcherStats(
  probe: Probe,
  pauses: Pauses,
  counted: Pick<Runtime, "ignoredResults" | "duplicateBatches">,
): DispatcherStats {
  return {
    lanes: laneStats(probe),
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
    outcomes: probe.outcomes,
    deliveriesWaiting: probe.deliveriesWaiting,
    paused: pausedRecord(pauses),
    ignoredResults: counted.ignoredResults,
    duplicateBatches: counted.duplicateBatches,
  };
}

/** One entry per endpoint and model; groups of split batches are summed into it. */
function laneStats(probe: Probe): LaneStats[] {
  const byName = new Map<string, LaneStats>();
  for (const row of probe.lanes) {
    const { endpoint, model } = parseLane(row.lane);
    const name = `${endpoint} ${model}`;
    const sum = byName.get(name);
    const oldest = [sum?.oldestAt ?? null, row.oldestAt].filter((at) => at !== null);
    byName.set(name, {
      endpoint,
      model,
      waiting: (sum?.waiting ?? 0) + row.ready,
      bytes: (sum?.bytes ?? 0) + row.bytes,
      tokens: (sum?.tokens ?? 0) + row.tokens,
      oldestAt: oldest.length === 0 ? null : Math.min(...oldest),
    });
  }
  return [...byName.values()];
}
