// Reasons for which a lane may or must send its batch: a second implementation of the contract.
// Used when a batch goes (there was a reason, and it was the given one) and whenever nothing moves
// (there was no reason).

import type { Model } from "./model.ts";
import type { Caller, Outcome, Place } from "./record.ts";

/** A place's rank in the order: the smallest goes first. */
export function rankOf({ world: { uses } }: Model, { since, priority, opener }: Place): number {
  const isSmall = uses.smallCallFirst > 0 && opener.isSmall;
  // Without aging, priority decides first, then small calls, then time: 1e8 is longer than any.
  const [stepMs, smallMs] = Number.isFinite(uses.priorityAgingMs)
    ? [uses.priorityAgingMs, uses.priorityAgingMs / 2]
    : [1e9, 1e8];
  return since - priority * stepMs - (isSmall ? smallMs : 0);
}

/** All reasons for which the lane of these places may send a batch now. */
export function reasonsFor(model: Model, lane: readonly Place[], queued: number): Set<string> {
  const { limits } = model;
  const reasons = new Set<string>();
  const isFlushed = lane.some((place) => isUnderFlush(model, place));
  if (model.isClosed) reasons.add("drain");
  if (isFlushed) reasons.add("flush");
  if (model.isPaused && reasons.size === 0) return reasons;
  if (lane.length >= limits.maxBatchSize || queued >= limits.maxQueueSize) reasons.add("size");
  if (isCostFull(model, lane)) reasons.add("cost");
  if (limits.maxWaitMs === 0) reasons.add("idle");
  else addWaits(model, lane, reasons);
  return reasons;
}

/** The wait of a looked-up item counts from the end of the look-up. */
function addWaits(model: Model, lane: readonly Place[], reasons: Set<string>): void {
  const { maxWaitMs } = model.limits;
  if (lane.length >= model.preferredBatchSize) reasons.add("preferred");
  const oldest = Math.min(...lane.map((place) => place.since));
  if (model.now >= oldest + maxWaitMs) reasons.add("wait");
  const dueAt = Math.min(...lane.flatMap((place) => place.callers.map((caller) => dueOf(model, caller))));
  const { leadMs } = model;
  const isInWait = dueAt <= oldest + maxWaitMs;
  if (leadMs === undefined ? isInWait : model.now >= dueAt - leadMs) reasons.add("deadline");
}

/**
 * Deadlines that the rule can meet are met: no item expires in a held lane while a slot is free.
 */
export function checkExpiry(model: Model, { place, dueAt, submittedAt }: Caller, outcome: Outcome): void {
  const { leadMs, limits } = model;
  if (outcome.isOk || (outcome.error as { code?: unknown } | null)?.code !== "DEADLINE_EXCEEDED") return;
  if (place?.state !== "waiting" || place.isInside === false || leadMs === undefined || limits.maxWaitMs === 0) return;
  if (model.isOpening || model.isTangled || model.world.uses.limiter !== undefined) return;
  const heldSince = Math.max(model.freeSince, model.steadySince, place.since, submittedAt);
  model.expect(heldSince > dueAt - leadMs, "deadline", () => `item ${place.item.id} expired in a lane that was held`);
}

function dueOf(model: Model, caller: Place["opener"]): number {
  return caller.hasLeft(model.now) ? Number.POSITIVE_INFINITY : caller.dueAt;
}

function isUnderFlush(model: Model, place: Place): boolean {
  return model.flushes.some((flush) => !flush.isDone && flush.places.includes(place));
}

/** True if every possible next item would exceed the cap. */
function isCostFull(model: Model, lane: readonly Place[]): boolean {
  const { maxBatchCost } = model.limits;
  return lane.length > 0 && maxBatchCost < Number.POSITIVE_INFINITY && model.costOf(lane) >= maxBatchCost;
}

/** While paused, a flush sends only the items that it covers. */
export function mayGo(model: Model, place: Place): boolean {
  return !model.isPaused || model.isClosed || isUnderFlush(model, place);
}

function checkCovered(model: Model, places: readonly Place[]): void {
  const other = places.find((place) => !mayGo(model, place));
  model.expect(other === undefined, "flush", () => `sent ${other?.item.id} while paused, which no flush covers`);
}

/**
 * Checks that a batch had its given reason, and that no other lane was overdue and should have gone
 * first.
 */
export function checkReason(model: Model, places: readonly Place[], rest: readonly Place[], reason: string): void {
  const key = places[0]?.key;
  const lane = [...places, ...rest.filter((place) => place.key === key)];
  const reasons = reasonsFor(model, lane, places.length + rest.length + model.retrying().length);
  const isFlushKnown = model.flushes.every((flush) => flush.isDone || flush.isKnown);
  const mayBe = !isFlushKnown || reasons.has(reason);
  model.expect(mayBe, "reason", () => `${reason} where only [${[...reasons].join(" ")}] hold`);
  if (isFlushKnown) checkCovered(model, places);
  const sure = rest.filter(({ isInside }) => isInside === true || model.world.uses.onFull !== "wait");
  checkOverdue(model, places, lane, sure);
}

/** An item that has waited `maxWaitMs` goes before younger, not more urgent items of any lane. */
function checkOverdue(model: Model, places: readonly Place[], lane: readonly Place[], rest: readonly Place[]): void {
  const { uses } = model.world;
  if (model.isPaused || model.isClosed || uses.cache === "async" || uses.smallCallFirst > 0) return;
  if (model.flushes.some((flush) => !flush.isDone)) return;
  const overdue = rest.find((place) => {
    const isDue = model.now >= place.since + model.limits.maxWaitMs && model.limits.maxWaitMs > 0;
    return isDue && place.key !== places[0]?.key && lane.every((taken) => goesAfter(model, taken, place));
  });
  model.expect(overdue === undefined, "overdue", () => `item ${overdue?.item.id} was passed by a younger batch`);
}

function goesAfter(model: Model, taken: Place, overdue: Place): boolean {
  return taken.since > overdue.since && rankOf(model, taken) >= rankOf(model, overdue);
}
