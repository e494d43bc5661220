// Invariants of the end of a world: every caller has its own answer or an explained error, the
// counters match the callers' outcomes, and nothing remains.

import { type BatcherStats, BatchwiseError, type ItemOutcome } from "batchwise";
import type { Scene } from "./check-rest.ts";
import { WRONG_SHAPE } from "./handler.ts";
import type { Model } from "./model.ts";
import type { Caller, Outcome, Place } from "./record.ts";

export interface End extends Scene {
  /** Errors of the handler's `open`. */
  readonly openErrors: ReadonlySet<unknown>;
}

export function checkEnd(end: End): void {
  const { model, batcher, driver, timers } = end;
  const stats = batcher.stats();
  model.expect(driver.isClosed, "close", () => "never resolved");
  model.expect(timers() === 0, "no timer once closed", () => `${timers()} are set`);
  const isEmpty = stats.waiting === 0 && stats.running === 0 && batcher.inspect().length === 0;
  model.expect(isEmpty, "empty once closed", () => JSON.stringify(stats));
  model.expect(driver.readyOpen === 0, "ready", () => "unanswered after close");
  model.expect(driver.idleOpen === 0, "idle", () => "unanswered after close");
  checkLimit(model);
  model.expect(
    model.flushes.every((flush) => flush.isDone),
    "flush",
    () => "unresolved after close",
  );
  const seen = countsOf(model, end.openErrors);
  checkStats(model, seen, stats);
}

/** In any interval, the calls do not exceed the limiter's rate plus one full bucket. */
function checkLimit(model: Model): void {
  const { limiter } = model.world.uses;
  if (limiter?.callsPerMinute === undefined || model.world.stages.open) return;
  const perMs = limiter.callsPerMinute / 60_000;
  const bucket = Math.max(1, perMs * (limiter.burstMs ?? 1_000));
  let [most, last] = [bucket, 0];
  for (const { startedAt } of model.calls) {
    most = Math.min(bucket, most + perMs * (startedAt - last)) - 1;
    last = startedAt;
    model.expect(most > -1e-6, "limiter", () => `a call at ${startedAt} was over the limit`);
  }
}

type Counts = Record<ItemOutcome, number>;

/** True if an outcome came at the expected time, as far as it is known: calls of many hide it. */
function isAt(caller: Caller, at: number, expected: number | undefined): boolean {
  return caller.sees === "end" ? expected !== undefined && expected <= at : at === expected;
}

function countsOf(model: Model, openErrors: ReadonlySet<unknown>): Counts {
  const counts: Counts = { completed: 0, failed: 0, cancelled: 0, expired: 0, rejected: 0 };
  for (const caller of model.callers) {
    if (caller.sees === "none") continue;
    const { outcome } = caller;
    if (outcome === undefined) {
      model.violate("settles", `item ${caller.plan.item.id} never did`);
      continue;
    }
    const kind = outcome.isOk ? checkValue(model, caller, outcome) : explain(model, caller, outcome, openErrors);
    if (kind === undefined) model.violate("own outcome", describe(caller, outcome));
    else counts[kind] += 1;
  }
  return counts;
}

function describe(caller: Caller, outcome: Outcome): string {
  const text = outcome.isOk ? `value ${String(outcome.value)}` : `error ${String(outcome.error)}`;
  const { item } = caller.plan;
  return `item ${item.id} of ${caller.submittedAt} got ${text} at ${outcome.at}, after ${String(caller.place?.answer?.is)}`;
}

function checkValue(model: Model, caller: Caller, outcome: Outcome & { isOk: true }): ItemOutcome | undefined {
  const answer = caller.place?.answer;
  const isTimely = isAt(caller, outcome.at, answer?.at) || model.world.stages.finish || model.world.uses.prefetch > 0;
  const isOwn = answer?.isOk === true && Object.is(answer.is, outcome.value) && isTimely;
  return isOwn && caller.refusal === undefined ? "completed" : undefined;
}

type Failure = Outcome & { isOk: false };

/** The outcome for an error; undefined if nothing explains it. */
function explain(
  model: Model,
  caller: Caller,
  failure: Failure,
  openErrors: ReadonlySet<unknown>,
): ItemOutcome | undefined {
  const { error, at } = failure;
  if (caller.refusal !== undefined) return explainRefusal(caller, failure);
  if (caller.abort !== undefined && error === caller.abort.signal.reason) {
    return isAt(caller, at, caller.abortedAt) ? "cancelled" : undefined;
  }
  const answer = caller.place?.answer;
  if (answer !== undefined && !answer.isOk && answer.is === error) {
    return isAt(caller, at, answer.at) || model.world.stages.finish || answer.isWhole ? "failed" : undefined;
  }
  if (openErrors.has(error)) return "failed";
  return error instanceof BatchwiseError ? explainOwn(model, caller, error.code, at) : undefined;
}

function explainRefusal(caller: Caller, { error, at }: Failure): ItemOutcome | undefined {
  const { refusal, abort, submittedAt } = caller;
  if (!isAt(caller, at, submittedAt)) return undefined;
  const code = (error as { code?: unknown }).code;
  if (refusal === "too many") return isTooMany(error) ? "rejected" : undefined;
  if (refusal === "closed") return code === "CLOSED" ? "rejected" : undefined;
  if (refusal === "aborted") return error === abort?.signal.reason ? "cancelled" : undefined;
  if (refusal === "late") return code === "DEADLINE_EXCEEDED" ? "expired" : undefined;
  if (refusal === "too large") return code === "ITEM_TOO_LARGE" ? "rejected" : undefined;
  return isFaultOf(caller, error) ? "failed" : undefined;
}

function isFaultOf({ plan }: Caller, error: unknown): boolean {
  const { fault } = plan.item;
  if (fault?.thrown !== undefined) return error === fault.thrown;
  const isNumber = fault?.where === "cost" || fault?.where === "batchCost";
  const { code } = error as { code?: unknown };
  return code === "INVALID_OPTION" && error instanceof (isNumber ? RangeError : TypeError);
}

/** A call that the queue can never hold is refused as a whole, and its error is not retryable. */
function isTooMany(error: unknown): boolean {
  return error instanceof BatchwiseError && error.code === "QUEUE_FULL" && !error.retryable;
}

/** Explains errors that the batcher itself makes. */
function explainOwn(model: Model, caller: Caller, code: string, at: number): ItemOutcome | undefined {
  const { place, dueAt, submittedAt } = caller;
  const { uses } = model.world;
  if (code === "DEADLINE_EXCEEDED") return isAt(caller, at, Math.max(dueAt, submittedAt)) ? "expired" : undefined;
  if (code === "CLOSED") return isAt(caller, at, model.abandonedAt) ? "rejected" : undefined;
  if (code === "QUEUE_FULL") return uses.onFull !== "wait" && !wasHanded(place) ? "rejected" : undefined;
  if (code === "BATCH_RESULT") return place?.answer?.is === WRONG_SHAPE ? "failed" : undefined;
  return code === "HANDLER_TIMEOUT" && hasRunOut(model, caller, at) ? "failed" : undefined;
}

function wasHanded(place: Place | undefined): boolean {
  return place?.batchId !== undefined;
}

function hasRunOut(model: Model, caller: Caller, at: number): boolean {
  const { handlerTimeoutMs, prefetch, isolateFailures } = model.world.uses;
  const call = caller.place?.lastCall;
  if (handlerTimeoutMs === undefined || call === undefined) return false;
  return prefetch > 0 || isolateFailures || isAt(caller, at, call.startedAt + handlerTimeoutMs);
}

function checkStats(model: Model, seen: Counts, stats: BatcherStats): void {
  const { unseenCount } = model;
  for (const [name, count] of Object.entries(seen) as [ItemOutcome, number][]) {
    const all = stats[name] + model.reset[name];
    const isCount = all >= count && all <= count + unseenCount;
    model.expect(isCount, "counters", () => `${name} is ${all}, the callers saw ${count}`);
    const isHeard = !model.world.uses.listens || model.heard[name] === all;
    model.expect(isHeard, "item events", () => `${model.heard[name]} ${name}, the counter is ${all}`);
  }
  const ended = stats.completed + stats.failed + stats.cancelled + stats.expired + stats.rejected;
  model.expect(ended === stats.submitted, "conservation", () => `${ended} ended of ${stats.submitted}`);
  const isNumber = Number.isFinite(stats.averageBatchCost) && Number.isFinite(stats.averageBatchSize);
  model.expect(isNumber, "stats", () => `averages ${stats.averageBatchSize} ${stats.averageBatchCost}`);
  const longest = Math.max(0, ...model.callers.filter(isAnswered).map(latencyOf));
  const isHidden = model.wasReset || model.callers.some((caller) => caller.sees !== "each");
  const isLongest = stats.latencyMs.max === longest || isHidden;
  model.expect(isLongest, "stats.latencyMs.max", () => `${stats.latencyMs.max}, not ${longest}`);
}

/** Latency is recorded for completed and failed items that a batch, or the cache, has answered. */
function isAnswered({ outcome, abort, refusal }: Caller): boolean {
  if (outcome === undefined || refusal !== undefined) return false;
  if (outcome.isOk) return true;
  const isOwn = outcome.error instanceof BatchwiseError;
  const code = isOwn ? (outcome.error as BatchwiseError).code : "";
  return outcome.error !== abort?.signal.reason && !["DEADLINE_EXCEEDED", "CLOSED", "QUEUE_FULL"].includes(code);
}

function latencyOf({ outcome, submittedAt }: Caller): number {
  return (outcome?.at ?? submittedAt) - submittedAt;
}
