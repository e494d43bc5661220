// Emits events from the sealer's probes: waits of requests, and ages of batches by state.

import type { BatchesInState } from "../../contract/events.ts";
import type { LaneRow, Probe } from "../../contract/store/probe.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { BatchState } from "../../contract/types.ts";
import { parseLane } from "../../format/encode.ts";
import { laneStats } from "../../format/lane-stats.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/**
 * Minimum interval, in ms: a listener that causes another look, as by `flush`, is not called at
 * once.
 */
const LANES_EVERY_MS = 1_000;
/** Minimum interval, in ms: ages of batches need another read of the store. */
const BATCHES_EVERY_MS = 10_000;

export class WaitingEvents {
  readonly #runtime: Runtime;
  /** When each was last emitted, on the monotonic clock. */
  #lanesAt = Number.NEGATIVE_INFINITY;
  #batchesAt = Number.NEGATIVE_INFINITY;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  tellLanes(probe: Probe, limit: number, now: number): void {
    const { events, clock } = this.#runtime;
    if (!events.hears("lanes") || this.#lanesAt + LANES_EVERY_MS > clock.monotonic()) return;
    this.#lanesAt = clock.monotonic();
    events.emit("lanes", () => ({
      lanes: laneStats(probe, limit).map((lane) => ({
        ...lane,
        oldestMs: lane.oldestAt === null ? null : Math.max(0, now - lane.oldestAt),
      })),
    }));
  }

  /** A failed read only loses an event. */
  async tellBatches(probe: Probe, now: number): Promise<void> {
    const { events, store, clock } = this.#runtime;
    if (!events.hears("batches") || this.#batchesAt + BATCHES_EVERY_MS > clock.monotonic()) return;
    this.#batchesAt = clock.monotonic();
    const states = (Object.keys(probe.batches) as BatchState[]).filter((state) => state !== "done");
    const limit = states.reduce((sum, state) => sum + probe.batches[state], 0);
    try {
      const open = limit === 0 ? [] : await store.batches({ states, limit });
      events.emit("batches", () => ({ states: agesOf(open, now) }));
    } catch (error) {
      this.#runtime.reportShared(error, { operation: "event" });
    }
  }

  tellSealed({ oldestAt }: LaneRow, row: BatchRow): void {
    const { key: batch, account, lane, requests, bytes, tokens, createdAt } = row;
    const { endpoint, model } = parseLane(lane);
    const oldestMs = oldestAt === null ? 0 : Math.max(0, createdAt - oldestAt);
    const about = { account, batch, endpoint, model };
    this.#runtime.events.emit("seal", () => ({ ...about, requests, bytes, tokens, oldestMs }));
  }
}

function agesOf(open: readonly BatchRow[], now: number): BatchesInState[] {
  const byState = new Map<BatchState, BatchesInState>();
  for (const { state, createdAt } of open) {
    const { count, oldestMs } = byState.get(state) ?? { count: 0, oldestMs: 0 };
    byState.set(state, { state, count: count + 1, oldestMs: Math.max(oldestMs, now - createdAt) });
  }
  return [...byState.values()];
}
