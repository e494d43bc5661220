// What must hold whenever all stands still at a time: nobody waits who need not, nobody has been forgotten, the counters
// add up, and no timer runs for nothing.

import type { Batcher } from "batchwise";
import { listOf, runningCalls } from "./check-batch.ts";
import { reasonsFor } from "./check-reason.ts";
import type { Driver } from "./driver.ts";
import type { Model } from "./model.ts";
import type { Caller, Place } from "./record.ts";
import type { Item } from "./schedule.ts";

/** All that a standstill is checked on. */
export interface Scene {
  readonly model: Model;
  readonly batcher: Batcher<Item, unknown>;
  readonly driver: Driver;
  /** Timers of the batcher that are set. */
  readonly timers: () => number;
}

export function checkStandstill(scene: Scene): void {
  const { model } = scene;
  model.isStale = false;
  model.isTangled = false;
  model.step += 1;
  model.tidy();
  for (const reason of model.unhandled.splice(0)) model.violate("unhandled rejection", String(reason));
  checkCallers(model);
  checkQueue(scene);
  checkTimers(scene);
  checkFlushes(scene);
}

/** Nobody is unanswered who should not be. */
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

/** No lane is held that has a reason to go while a slot is free; the counts are those of the model. */
function checkQueue({ model, batcher, driver }: Scene): void {
  const waiting = model.waiting();
  const queued = model.queued();
  const stats = batcher.stats();
  checkCounts(model, stats);
  if (model.isOpening) return;
  const most = model.world.uses.onFull === "wait" ? model.widest.maxQueueSize : Number.POSITIVE_INFINITY;
  const isCount = stats.waiting <= Math.min(waiting.length, most) && stats.waiting >= queued.length;
  model.expect(isCount, "stats.waiting", () => `${stats.waiting}, but ${listOf(waiting)} wait`);
  const busy = batcher.inspect().length;
  checkRunning(model, busy);
  if (waiting.length < model.limits.maxQueueSize) {
    model.expect(driver.readyOpen === 0, "ready", () => "unresolved, though there is room");
  }
  if (busy >= model.limits.concurrency) return;
  for (const lane of lanesOf(queued)) {
    const reasons = reasonsFor(model, lane, waiting.length);
    model.expect(reasons.size === 0, "held", () => `${listOf(lane)}, though [${[...reasons].join(" ")}] hold`);
  }
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
  if (stages.isObject || uses.retry !== undefined) return;
  const calls = new Set(runningCalls(model).map((call) => call.batchId));
  model.expect(busy === calls.size, "inspect", () => `${busy} batches, but [${[...calls].join(" ")}] run`);
}

type Stats = ReturnType<Batcher<Item, unknown>["stats"]>;

function checkCounts(model: Model, stats: Stats): void {
  const ended = stats.completed + stats.failed + stats.cancelled + stats.expired + stats.rejected;
  const open = model.openCallers().length;
  const unseen = model.unseenCount;
  model.expect(stats.submitted === model.callers.length, "stats.submitted", () => String(stats.submitted));
  const left = stats.submitted - ended;
  model.expect(left >= open && left <= open + unseen, "conservation", () => `${left} are open, not ${open}`);
  const reasons = Object.values(stats.batchesByReason).reduce((total, count) => total + count, 0);
  model.expect(reasons === stats.batches, "batchesByReason", () => `${reasons} in place of ${stats.batches}`);
}

/** One timer to schedule by, one for all that is due, and none when nothing is. */
function checkTimers({ model, batcher, timers }: Scene): void {
  model.expect(timers() <= 2, "timers", () => `${timers()} are set`);
  const { waiting } = batcher.stats();
  const isIdle = waiting === 0 && batcher.inspect().length === 0 && model.openCallers().length === 0;
  model.expect(!isIdle || timers() === 0, "no timer while idle", () => `${timers()} are set`);
}

function checkFlushes({ model, batcher }: Scene): void {
  if (model.isOpening || model.flushes.every((flush) => flush.isDone)) return;
  const running = new Set(batcher.inspect().map((batch) => batch.id));
  for (const flush of model.flushes) {
    if (flush.isDone) continue;
    const open = flush.places.filter((place) => {
      return place.batchId === undefined ? !place.isGone(model.now) : running.has(place.batchId);
    });
    const isDue =
      flush.places.length > 0 && open.length === 0 && flush.callers.every((caller) => caller.outcome !== undefined);
    model.expect(!isDue, "flush", () => "unresolved, though all of it has settled");
  }
}
