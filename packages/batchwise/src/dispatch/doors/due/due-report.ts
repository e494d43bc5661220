// Reports the work that a run leaves: the number of open requests, and when one of them is due.

import { isLanePaused, type Pauses } from "../../accounts/pauses.ts";
import { servingOf } from "../../accounts/rank-accounts.ts";
import { LIVE } from "../../batches/life-cycle.ts";
import type { Sealer } from "../../batches/seal/sealer.ts";
import type { DueReport } from "../../contract/operations.ts";
import type { LaneRow, Probe } from "../../contract/store/probe.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import { parseLane } from "../../format/encode.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { everyBatch } from "../../runtime/store/pages.ts";

/** Later than the retry of any request. */
const FAR_MS = 10 * 365 * 24 * 3_600_000;
/**
 * Interval of checks of a lane that no account takes now and whose cause has no known end, in ms.
 */
const LOOK_AGAIN_MS = 600_000;

/** A run that has ended. */
export interface EndedRun {
  readonly sealer: Sealer;
  /** Its last turns found nothing more to do. */
  readonly isDone: boolean;
  /** The next delivery of its own sinks. */
  readonly deliveryAt: number;
}

export async function dueReport(runtime: Runtime, { sealer, isDone, deliveryAt }: EndedRun): Promise<DueReport> {
  const { store, clock, options, sinks } = runtime;
  const now = clock.now();
  const [probe, all, pauses] = await Promise.all([
    store.probe(options.thresholds.maxRequests, now),
    store.probe(Number.MAX_SAFE_INTEGER, now + FAR_MS),
    runtime.readPauses(),
  ]);
  const waiting = all.lanes.reduce((sum, { ready }) => sum + ready, 0);
  const times = [
    await batchDueAt(runtime, probe, isDone, now),
    sinks.length === 0 ? null : deliveryDueAt(probe, isDone, deliveryAt, now),
    ...probe.lanes.map((lane) => laneDueAt(runtime, sealer, isDone, lane, pauses, now)),
  ];
  const due = times.filter((at) => at !== null && at < Number.POSITIVE_INFINITY) as number[];
  return { nextAt: due.length === 0 ? null : Math.ceil(Math.min(...due)), open: waiting + all.inBatches };
}

/** The probe counts the sinks of all processes: what its own turn did not take is of others. */
function deliveryDueAt({ deliveryDueAt: dueAt }: Probe, isDone: boolean, ownAt: number, now: number): number | null {
  return isDone && dueAt !== null && dueAt <= now ? ownAt : dueAt;
}

function laneDueAt(
  runtime: Runtime,
  sealer: Sealer,
  isDone: boolean,
  lane: LaneRow,
  pauses: Pauses,
  now: number,
): number {
  const expiresAt = lane.deadlineAt ?? Number.POSITIVE_INFINITY;
  const { first, second } = servingOf(runtime.accounts, parseLane(lane.lane));
  const isHeld = [...first, ...second].every(({ name }) => pauses.accounts.has(name));
  if (isHeld || isLanePaused(pauses, lane.lane)) return expiresAt;
  const closesAt = sealer.closesAt(lane, now);
  if (!isDone) return closesAt;
  const looked = sealer.lookedAt(lane.lane) ?? closesAt;
  const isRefused = looked === Number.POSITIVE_INFINITY && closesAt <= now;
  return isRefused ? now + LOOK_AGAIN_MS : looked;
}

/** The probe's time, unless its batch belongs to an account that is not here. */
async function batchDueAt(runtime: Runtime, probe: Probe, isDone: boolean, now: number): Promise<number | null> {
  const aheadMs = runtime.storeTime.aheadMs;
  const dueAt = probe.batchDueAt;
  if (dueAt === null || dueAt > now || !isDone) return dueAt;
  const rows: BatchRow[] = [];
  for (const { name } of runtime.accounts) {
    for (const state of LIVE) rows.push(...(await everyBatch(runtime.store, name, state)));
  }
  const times = rows.map(({ nextAt, leaseUntil }) => Math.max(nextAt, leaseUntil - aheadMs));
  return times.length === 0 ? null : Math.min(...times);
}
