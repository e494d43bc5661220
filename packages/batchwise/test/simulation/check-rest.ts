// Invariants of every standstill: no item waits needlessly, no caller is forgotten, the counters
// add up, and no timer is set without a reason.

import type { Batcher } from "batchwise";
import { listOf, runningCalls } from "./check-batch.ts";
import { reasonsFor } from "./check-reason.ts";
import type { Driver } from "./driver.ts";
import type { Model } from "./model.ts";
import type { Caller, Place } from "./record.ts";
import type { Item } from "./schedule.ts";

/** The objects that are checked at a standstill. */
export interface Scene {
  readonly model: Model;
  readonly batcher: Batcher<Item, unknown>;
  readonly driver: Driver;
  /** Number of timers that the batcher has set. */
  readonly timers: () => number;
}

export function checkStandstill(scene: Scene): void {
  const { model } = scene;
  model.isStale = false;
  model.isTangled = false;
  model.step += 1;
  model.tidy();
  model.syncRoom(true);
  for (const reason of model.unhandled.splice(0)) model.violate("unhandled rejection", String(reason));
  checkCallers(model);
  checkQueue(scene);
  checkTimers(scene);
  checkFlushes(scene);
}

/** Every caller without an answer has a reason. */
function checkCallers(model: Model): void {
  for (const caller of model.openCallers()) {
    const { item } = caller.plan;
    const isLate = caller.dueAt <= model.now || caller.abort?.signal.aborted === true;
    model.expect(!isLate, "leaves on time", () => `item ${item.id} is still open`);
    model.expect(caller.refusal === undefined, "refused at once", () => `item ${item.id}: ${caller.refusal}`);
    model.expect(model.abandonedAt > model.now, "CLOSED at once", () => `item ${item.id} is still open`);
    model.expect(!isAnswered(model, caller), "answered at once", () => `item ${item.id} is still open`);
  }
}

function isAnswered(model: Model, { place }: Caller): boolean {
  const { stages, uses } = model.world;
  return place?.state === "answered" && !stages.finish && uses.prefetch === 0;
}

/** No lane with a reason to go is held while a slot is free; the counts equal the model's. */
function checkQueue({ model, batcher, driver }: Scene): void {
  const stats = batcher.stats();
  checkCounts(model, stats);
  if (model.isOpening) return;
  checkWaiting(model, stats);
  const busy = batcher.inspect().length;
  checkRunning(model, busy);
  if (stats.waiting < model.limits.maxQueueSize) {
    model.expect(driver.readyOpen === 0, "ready", () => "unresolved, though there is room");
    model.expect(stats.blocked === 0, "blocked", () => `${stats.blocked}, though there is room`);
  }
  const isAtRest = stats.waiting + stats.blocked + busy === 0 && model.openCallers().length === 0;
  const isIdleDue = isAtRest && model.unseenCount === 0;
  model.expect(!isIdleDue || driver.idleOpen === 0, "idle", () => "unresolved, though nothing waits or runs");
  if (busy >= model.limits.concurrency || model.isPaused) model.freeSince = Number.POSITIVE_INFINITY;
  else model.freeSince = Math.min(model.freeSince, model.now);
  if (busy >= model.limits.concurrency || model.world.uses.limiter !== undefined) return;
  const due = model.resting().find((batch) => model.isRetryDue(batch));
  model.expect(due === undefined, "retry held", () => `${due?.id}, though a slot is free`);
  for (const lane of lanesOf(model.queued())) {
    const reasons = reasonsFor(model, lane, stats.waiting);
    model.expect(reasons.size === 0, "held", () => `${listOf(lane)}, though [${[...reasons].join(" ")}] hold`);
  }
}

/**
 * Items in the queue, including those of batches that pause before another call, and blocked items
 * outside.
 */
function checkWaiting(model: Model, stats: Stats): void {
  const retrying = model.retrying();
  const known = retrying.filter(({ callers }) => callers.some(({ sees }) => sees === "each")).length;
  const waiting = model.waiting().length;
  const all = stats.waiting + stats.blocked;
  const isCount = all >= waiting + known && all <= waiting + retrying.length;
  model.expect(isCount, "stats.waiting", () => `${all}, but ${listOf(model.waiting())} and ${listOf(retrying)} wait`);
  const least = model.queued().length + known;
  const most = model.mayBeQueued().length + retrying.length;
  const isSplit = stats.waiting >= least && stats.waiting <= most;
  model.expect(
    isSplit,
    "stats.blocked",
    () => `${stats.blocked} with ${stats.waiting} waiting, not ${least} to ${most}`,
  );
}

function lanesOf(places: readonly Place[]): Iterable<Place[]> {
  const lanes = new Map<string | undefined, Place[]>();
  for (const place of places) lanes.set(place.key, [...(lanes.get(place.key) ?? []), place]);
  return lanes.values();
}

function checkRunning(model: Model, busy: number): void {
  const { uses, stages } = model.world;
  const { concurrency } = model.widest;
  model.expect(busy <= concurrency + 2 * uses.prefetch, "concurrency", () => `${busy} batches run`);
  if (stages.isObject) return;
  const calls = new Set(runningCalls(model).map((call) => call.batchId));
  model.expect(busy === calls.size, "inspect", () => `${busy} batches, but [${[...calls].join(" ")}] run`);
}

type Stats = ReturnType<Batcher<Item, unknown>["stats"]>;

function checkCounts(model: Model, stats: Stats): void {
  const ended = stats.completed + stats.failed + stats.cancelled + stats.expired + stats.rejected;
  const open = model.openCallers().length;
  const unseen = model.unseenCount;
  const forgotten = Object.values(model.reset).reduce((total, count) => total + count, 0);
  const isAll = stats.submitted === model.callers.length - forgotten;
  model.expect(isAll, "stats.submitted", () => String(stats.submitted));
  const left = stats.submitted - ended;
  model.expect(left >= open && left <= open + unseen, "conservation", () => `${left} are open, not ${open}`);
  const reasons = Object.values(stats.batchesByReason).reduce((total, count) => total + count, 0);
  model.expect(reasons === stats.batches, "batchesByReason", () => `${reasons} in place of ${stats.batches}`);
}

/** One timer for scheduling, one for all due times, and none if nothing is due. */
function checkTimers({ model, batcher, timers }: Scene): void {
  model.expect(timers() <= 2, "timers", () => `${timers()} are set`);
  const { waiting } = batcher.stats();
  const isIdle = waiting === 0 && batcher.inspect().length === 0 && model.openCallers().length === 0;
  model.expect(!isIdle || timers() === 0, "no timer while idle", () => `${timers()} are set`);
}

function checkFlushes({ model }: Scene): void {
  if (model.isOpening || model.flushes.every((flush) => flush.isDone)) return;
  for (const flush of model.flushes) {
    if (flush.isDone) continue;
    const open = flush.places.filter((place) => {
      if (place.batchId === undefined) return !place.isGone(model.now);
      return model.batches.get(place.batchId)?.hasEnded === false;
    });
    const isDue =
      flush.isKnown &&
      flush.places.length > 0 &&
      open.length === 0 &&
      flush.callers.every((caller) => caller.outcome !== undefined);
    model.expect(!isDue, "flush", () => "unresolved, though all of it has settled");
  }
}
