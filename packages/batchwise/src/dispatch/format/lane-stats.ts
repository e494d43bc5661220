// Turns a store probe into the waiting work that callers see. Pure.

import type { Probe } from "../contract/store/probe.ts";
import type { LaneStats } from "../contract/types.ts";
import { parseLane } from "./encode.ts";

/**
 * One entry per endpoint and model, with the groups of split batches summed. `limit`: the probe's.
 */
export function laneStats(probe: Probe, limit: number): LaneStats[] {
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
      orMore: (sum?.orMore ?? false) || row.ready >= limit,
      bytes: (sum?.bytes ?? 0) + row.bytes,
      tokens: (sum?.tokens ?? 0) + row.tokens,
      oldestAt: oldest.length === 0 ? null : Math.min(...oldest),
    });
  }
  return [...byName.values()];
}
