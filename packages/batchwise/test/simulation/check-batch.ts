// Invariants of each call of the handler: caps, keys, order, no caller who has left, every item in
// only one batch, and no better choice of items.

import type { BatchContext } from "batchwise";
import { checkReason, mayGo, rankOf } from "./check-reason.ts";
import { type Model, sum } from "./model.ts";
import type { Batch, Call, Place } from "./record.ts";

/** Checks one call. `isAtOnce`: its batch was closed at this time. */
export function checkCall(model: Model, call: Call, context: BatchContext, isAtOnce: boolean): void {
  const known = model.batches.get(call.batchId);
  const batch = known ?? begin(model, call, context);
  batch.calls += 1;
  batch.lastCall = call;
  checkPlaces(model, call, isAtOnce, known !== undefined);
  checkContext(model, call, context, batch);
  if (call.isRunning) checkSlots(model, call);
  if (known !== undefined) {
    checkRepetition(model, batch);
    return;
  }
  checkCaps(model, call, context);
  checkOrder(model, call.places);
  if (!model.isTangled) checkAdmitted(model, call.places);
  if (!isAtOnce || model.isTangled) return;
  checkTurn(model, context);
  const isKnown = !model.isActing || (model.world.uses.listens && !model.isStale);
  if (!isKnown) return;
  checkRetriesFirst(model, call);
  checkLeftBehind(model, call.places, without(model.queued(), call.places), context);
  checkReason(model, call.places, without(model.mayBeQueued(), call.places), context.reason);
}

/**
 * Only a full batch, a flush and a drain may go before the end of the turn, and a batch that waits
 * for a limiter, which keeps its place in the order.
 */
function checkTurn(model: Model, { id, reason }: BatchContext): void {
  if (model.world.uses.limiter !== undefined) return;
  const isOpen = model.isActing || model.isTurnOpen;
  const mayGo = ["size", "cost", "flush", "drain"].includes(reason);
  model.expect(mayGo || !isOpen, "end of turn", () => `${id} (${reason}) went before it`);
}

function begin(model: Model, call: Call, context: BatchContext): Batch {
  const waitedMs = Math.max(...call.places.map((place) => model.now - place.since));
  const { id, reason } = context;
  const size = call.places.length;
  const batch = { id, size, startedAt: model.now, reason, waitedMs, calls: 0, lastCall: call, hasEnded: false };
  model.batches.set(batch.id, batch);
  return batch;
}

function checkPlaces(model: Model, call: Call, isAtOnce: boolean, isRepeated: boolean): void {
  const { now, step } = model;
  model.expect(new Set(call.places).size === call.places.length, "once in a batch", () => listOf(call.places));
  for (const place of call.places) {
    const isOwn = place.batchId === undefined || place.batchId === call.batchId;
    model.expect(isOwn, "one batch an item", () => `item ${place.item.id} of ${place.batchId} in ${call.batchId}`);
    model.expect(place.state !== "answered", "answered once", () => `item ${place.item.id} was handed over again`);
    const isGone = isAtOnce ? place.isGone(isRepeated ? now - 1 : now) : place.wasGone(now, step);
    model.expect(!isGone, "nobody who has left", () => `item ${place.item.id} in ${call.batchId}`);
  }
  const twin = call.places.find((place) => hasTwin(model, place, call));
  model.expect(twin === undefined, "equal items share", () => `item ${twin?.item.id} has a twin that runs`);
}

/** True if an equal item with waiting callers is in another call of the handler. */
function hasTwin(model: Model, place: Place, call: Call): boolean {
  if (place.scope === undefined || place.isForgotten) return false;
  for (const other of model.placesByItem.values()) {
    if (other === place || other.scope !== place.scope || other.state !== "handed" || other.isForgotten) continue;
    if (other.lastCall !== call && !other.isGone(model.now)) return true;
  }
  return false;
}

function checkContext(model: Model, call: Call, context: BatchContext, batch: Batch): void {
  const { places } = call;
  const { requests } = context;
  model.expect(requests.length === places.length, "context", () => `${requests.length} requests in ${call.batchId}`);
  const cost = model.costOf(places);
  const isCost = context.cost === cost || cost === Number.POSITIVE_INFINITY;
  model.expect(isCost, "context.cost", () => `${context.cost} in place of ${cost} in ${call.batchId}`);
  for (const [index, place] of places.entries()) {
    const request = requests[index];
    const isPriority = request?.priority === place.priority || model.world.stages.open;
    const isOwn = request?.context === place.context && isPriority;
    model.expect(isOwn, "context", () => `request of item ${place.item.id} is ${JSON.stringify(request)}`);
    const waitedMs = batch.startedAt - place.since;
    const isTimely = model.world.stages.open || request?.waitedMs === waitedMs;
    model.expect(isTimely, "waitedMs", () => `${request?.waitedMs} of item ${place.item.id}, not ${waitedMs}`);
    model.expect(place.key === context.key, "one key a batch", () => `item ${place.item.id} with ${context.key}`);
  }
}

/**
 * Running calls, this one included, need a slot each. A batch that ran out of time has returned its
 * slot.
 */
export function checkSlots(model: Model, call: Call): void {
  const { uses } = model.world;
  if (uses.prefetch > 0 && uses.handlerTimeoutMs !== undefined) return;
  const running = runningCalls(model).filter((other) => other.batchId !== call.batchId);
  const startedAt = model.world.stages.open ? 0 : (model.batches.get(call.batchId)?.startedAt ?? model.now);
  const isFree = running.length < model.limits.concurrency || startedAt <= model.slotsTakenAt;
  model.expect(isFree, "concurrency", () => `${call.batchId} beside ${running.map((other) => other.batchId)}`);
}

export function runningCalls(model: Model): Call[] {
  const { handlerTimeoutMs = Number.POSITIVE_INFINITY } = model.world.uses;
  if (model.abandonedAt < Number.POSITIVE_INFINITY) return [];
  return model.calls.filter((call) => {
    return call.isRunning && call.open > 0 && model.now < call.startedAt + handlerTimeoutMs;
  });
}

function checkRepetition(model: Model, batch: Batch): void {
  const { retry, isolateFailures } = model.world.uses;
  const mostCalls = isolateFailures ? Number.POSITIVE_INFINITY : (retry?.attempts ?? 1);
  model.expect(batch.calls <= mostCalls, "attempts", () => `call ${batch.calls} of ${batch.id}`);
}

function checkCaps(model: Model, { places, batchId }: Call, context: BatchContext): void {
  // With stages the handler is called some promise jobs after its batch was closed, so other events
  // may come between.
  const isLate = model.world.stages.open || (model.world.stages.isObject && model.isTangled);
  const { maxBatchSize, maxBatchCost } = isLate ? model.widest : model.limits;
  model.expect(places.length > 0, "empty batch", () => batchId);
  model.expect(places.length <= maxBatchSize, "maxBatchSize", () => `${places.length} in ${batchId}`);
  const isWithin = places.length === 1 || model.costOf(places) <= maxBatchCost;
  model.expect(isWithin, "maxBatchCost", () => `${model.costOf(places)} in ${batchId} (${context.reason})`);
}

/** Entries of the same line are served in order of arrival. */
function isSameLine(model: Model, a: Place, b: Place): boolean {
  const { tenants, smallCallFirst } = model.world.uses;
  return (
    a.key === b.key &&
    a.priority === b.priority &&
    (tenants === 0 || a.item.tenant === b.item.tenant) &&
    (smallCallFirst === 0 || a.opener.isSmall === b.opener.isSmall)
  );
}

function checkOrder(model: Model, places: readonly Place[]): void {
  // While the handler opens, an urgent caller may join an item of a closed batch.
  if (model.isOpening) return;
  for (const [index, place] of places.entries()) {
    const overtaken = places.slice(0, index).find((other) => {
      return place.isBefore(other) && isSameLine(model, place, other);
    });
    model.expect(overtaken === undefined, "FIFO", () => `${overtaken?.item.id} before ${place.item.id} in a batch`);
  }
}

function without(all: readonly Place[], places: readonly Place[]): Place[] {
  const taken = new Set(places);
  return all.filter((place) => !taken.has(place));
}

/** No item outside the queue is in a batch. */
function checkAdmitted(model: Model, places: readonly Place[]): void {
  const blocked = places.find((place) => place.isInside === false);
  model.expect(blocked === undefined, "admission", () => `item ${blocked?.item.id} came in before others who go first`);
}

/** A batch whose pause before another call has ended takes a slot before any new batch. */
function checkRetriesFirst(model: Model, { batchId }: Call): void {
  const due = model.resting().find((batch) => model.isRetryDue(batch) && batch.lastCall.failedAt < model.now);
  model.expect(due === undefined, "retry first", () => `${batchId} went before another call of ${due?.id}`);
}

function checkLeftBehind(model: Model, places: readonly Place[], rest: readonly Place[], context: BatchContext): void {
  const { uses } = model.world;
  const lane = rest.filter((place) => place.key === context.key && mayGo(model, place));
  if (uses.order === "length") {
    checkFirst(model, places, lane);
    return;
  }
  for (const left of lane) {
    const later = places.find((place) => isSameLine(model, left, place) && left.isBefore(place));
    model.expect(later === undefined, "FIFO", () => `${later?.item.id} overtook ${left.item.id}`);
    if (uses.tenants > 0 || uses.cache === "async") continue;
    const lower = places.find((place) => rankOf(model, place) > rankOf(model, left));
    model.expect(lower === undefined, "rank", () => `${lower?.item.id} went before ${left.item.id}`);
  }
  if (lane.length > 0)
    checkFilled(
      model,
      places,
      without(model.mayBeQueued(), places).filter(({ key }) => key === context.key),
    );
}

/**
 * Ordering by length may pass entries over, but not with a whole batch: the first entry is in it.
 */
function checkFirst(model: Model, places: readonly Place[], lane: readonly Place[]): void {
  const { tenants, cache } = model.world.uses;
  for (const left of lane) {
    const isOvertaken = places.every((place) => isSameLine(model, left, place) && left.isBefore(place));
    model.expect(!isOvertaken, "the first goes", () => `${listOf(places)} went before ${left.item.id}`);
    if (tenants > 0 || cache === "async") continue;
    const isMoreUrgent = places.every((place) => rankOf(model, place) > rankOf(model, left));
    model.expect(!isMoreUrgent, "rank", () => `${listOf(places)} went before ${left.item.id}`);
  }
}

/** A batch is closed when its slot takes it, so it has as many items as its caps allow. */
function checkFilled(model: Model, places: readonly Place[], lane: readonly Place[]): void {
  if (places.length >= model.limits.maxBatchSize) return;
  if ((model.isPaused && !model.isClosed) || model.world.uses.limiter?.costPerMinute !== undefined) return;
  const fits = lane.every((place) => model.costOf([...places, place]) <= model.limits.maxBatchCost);
  model.expect(!fits, "filled", () => `${listOf(places)} went without ${listOf(lane)}`);
}

export function listOf(places: readonly Place[]): string {
  return `${places.map((place) => place.item.id).join(" ")} (cost ${sum(places.map((place) => place.cost))})`;
}
