// Collects the records and the violations of one world. Everything here is derived from values that
// callers and user functions can see.

import type { ItemOutcome } from "batchwise";
import type { VirtualClock } from "batchwise/testing";
import { checkExpiry } from "./check-reason.ts";
import {
  type Batch,
  type Call,
  Caller,
  type FlushRecord,
  type Outcome,
  Place,
  type Refusal,
  type Sight,
} from "./record.ts";
import { admit } from "./room.ts";
import type { Fault, Item, Plan } from "./schedule.ts";
import type { Limits, World } from "./world.ts";

export interface Violation {
  readonly check: string;
  readonly detail: string;
}

const MOST_VIOLATIONS = 5;

export class Model {
  readonly world: World;
  readonly clock: VirtualClock;
  readonly violations: Violation[] = [];
  readonly callers: Caller[] = [];
  readonly placesByItem: Map<number, Place> = new Map();
  readonly batches: Map<string, Batch> = new Map();
  readonly calls: Call[] = [];
  readonly flushes: FlushRecord[] = [];
  readonly unhandled: unknown[] = [];
  readonly trace: string[] | undefined;
  limits: Limits;
  /** The widest limits so far. */
  widest: Limits;
  /** When `concurrency` last fell: batches closed before may still run above the new limit. */
  slotsTakenAt = Number.NEGATIVE_INFINITY;
  /** Actions for the next call that the batcher makes, run inside it. */
  readonly inside: (() => Promise<void>)[] = [];
  /** Actions for the next call of `batchCost`, run inside it. */
  readonly measuring: (() => Promise<void>)[] = [];
  /** Keys that the cache was asked to delete. */
  readonly deleted: string[] = [];
  /** Counts that `resetStats` has removed from the counters. */
  readonly reset: Record<ItemOutcome, number> = { completed: 0, failed: 0, cancelled: 0, expired: 0, rejected: 0 };
  wasReset = false;
  /** Since when a slot is free, and since when nothing that deadlines depend on has changed. */
  freeSince = Number.POSITIVE_INFINITY;
  steadySince = 0;
  /** Incremented at each standstill. */
  step = 0;
  isPaused = false;
  closedAt = Number.POSITIVE_INFINITY;
  abandonedAt = Number.POSITIVE_INFINITY;
  /** True while an action runs, that is, before the turn ends. */
  isActing = false;
  /** True if an action ran inside a call in this step: the waiting items are not known exactly. */
  isTangled = false;
  /** True from a handler's answer in its own task until the promise jobs of that task are done. */
  isTurnOpen = false;
  /** True if something ended in this step and its callers have no answer yet. */
  isStale = false;
  /** True while a call is submitted whose items the queue could never hold. */
  isTooMany = false;
  /** True until the handler has opened: closed batches wait for it. */
  isOpening: boolean;
  /** Number of "item" events, by outcome. */
  readonly heard: Record<ItemOutcome, number> = { completed: 0, failed: 0, cancelled: 0, expired: 0, rejected: 0 };
  /** The caller being submitted, for functions that get no item. */
  current: Caller | undefined;
  /** The batcher's own count of blocked submits. */
  blocked: () => number = () => 0;
  /** Durations of the last calls of the last batches. */
  readonly #callMs: number[] = [];
  readonly #waiting: Place[] = [];
  readonly #byScope: Map<string, Place> = new Map();
  readonly #byItem: Map<Item, Caller> = new Map();
  #arrivals = 0;

  constructor(world: World, clock: VirtualClock, trace: string[] | undefined) {
    this.world = world;
    this.clock = clock;
    this.limits = world.limits;
    this.widest = world.limits;
    this.isOpening = world.stages.open;
    this.trace = trace;
  }

  get now(): number {
    return this.clock.now();
  }

  get preferredBatchSize(): number {
    return this.limits.preferredBatchSize ?? this.limits.maxBatchSize;
  }

  get isClosed(): boolean {
    return this.closedAt !== Number.POSITIVE_INFINITY;
  }

  /** Call inside a call of the batcher, except a submit: its item has not arrived yet. */
  actInside(): void {
    this.#act(this.inside);
  }

  /** Call inside `batchCost`. */
  actMeasuring(): void {
    this.#act(this.measuring);
  }

  #act(acts: (() => Promise<void>)[]): void {
    if (this.current !== undefined) return;
    const act = acts.shift();
    if (act === undefined) return;
    const wasActing = this.isActing;
    this.isTangled = true;
    act();
    this.isActing = wasActing;
  }

  opensTurn(): void {
    if (this.isTurnOpen) return;
    this.isTurnOpen = true;
    Promise.resolve().then(() => {
      process.nextTick(() => {
        this.isTurnOpen = false;
      });
    });
  }

  violate(check: string, detail: string): void {
    this.note(() => `VIOLATION ${check}: ${detail}`);
    if (this.violations.length < MOST_VIOLATIONS) this.violations.push({ check, detail: `at ${this.now}: ${detail}` });
  }

  expect(isTrue: boolean, check: string, detail: () => string): void {
    if (!isTrue) this.violate(check, detail());
  }

  note(line: () => string): void {
    this.trace?.push(`${this.now} [${this.step}] ${line()}`);
  }

  /** Records a submit before it is made, and predicts a refusal where it can. */
  submits(plan: Plan, abort: AbortController | undefined, isSmall: boolean, sees: Sight): Caller {
    const { uses } = this.world;
    const timeoutMs = plan.wishes.timeoutMs ?? uses.timeoutMs ?? Number.POSITIVE_INFINITY;
    const caller = new Caller(plan, this.now, timeoutMs, abort, isSmall, sees);
    this.callers.push(caller);
    this.#byItem.set(plan.item, caller);
    this.note(() => `submit ${plan.item.id} ${JSON.stringify(plan.wishes)} due ${caller.dueAt}`);
    if (this.isClosed) caller.refusal = "closed";
    else if (this.isTooMany) caller.refusal = "too many";
    else if (abort?.signal.aborted) caller.refusal = "aborted";
    else if (timeoutMs <= 0) caller.refusal = "late";
    else if (uses.equals === 0) this.arrives(plan.item);
    return caller;
  }

  /** Gives an item a place or joins it to one. With `dedupe`, when the batcher calls that. */
  arrives(item: Item): void {
    const caller = this.#byItem.get(item);
    if (caller === undefined) return;
    this.current = caller;
    if (this.#isFaulty(caller.plan, ["key", "dedupe"])) caller.refusal = "fault";
    else this.#take(caller);
  }

  #take(caller: Caller): void {
    const { plan } = caller;
    const { uses } = this.world;
    const key = plan.wishes.key ?? (uses.keys > 0 && !uses.isPlain ? plan.item.key : undefined);
    const scope = uses.equals > 0 ? `${key}/${plan.item.equal}` : undefined;
    const known = scope === undefined ? undefined : this.#byScope.get(scope);
    if (known !== undefined && known.state !== "answered" && !known.isGone(this.now - 1)) {
      known.join(caller);
      return;
    }
    const cost = plan.wishes.cost ?? (uses.cost ? plan.item.cost : 1);
    const context = plan.wishes.context ?? (uses.captureContext ? `captured ${plan.item.id}` : undefined);
    this.#arrivals += 1;
    const { equal } = plan.item;
    const cacheKey = key === undefined ? equal : `${key.length}:${key}=${equal}`;
    const place = new Place(caller, { key, scope, cacheKey, cost, context, arrival: this.#arrivals });
    caller.refusal = this.#refusalOf(place);
    if (caller.refusal !== undefined) return;
    this.placesByItem.set(plan.item.id, place);
    this.#waiting.push(place);
    if (scope !== undefined) this.#byScope.set(scope, place);
  }

  #refusalOf(place: Place): Refusal | undefined {
    const { plan } = place.opener;
    if (this.#isFaulty(plan, ["cost", "fairBy", "captureContext", "prepareItem", "batchCost"])) return "fault";
    if (this.world.uses.oversize === "alone") return undefined;
    const own = this.world.uses.batchCost === "function" ? this.costOf([place]) : place.cost;
    return own > this.limits.maxBatchCost ? "too large" : undefined;
  }

  /** True if one of these functions will be called for the item and fail. */
  #isFaulty({ item, wishes }: Plan, where: readonly string[]): boolean {
    const { uses, stages } = this.world;
    if (item.fault === undefined || !where.includes(item.fault.where)) return false;
    const isCalled: Record<Fault["where"], boolean> = {
      cost: uses.cost && wishes.cost === undefined,
      key: uses.keys > 0 && !uses.isPlain && wishes.key === undefined,
      fairBy: uses.tenants > 0,
      dedupe: uses.equals > 0,
      captureContext: uses.captureContext && wishes.context === undefined,
      prepareItem: stages.prepareItem,
      batchCost: uses.batchCost === "function" && this.limits.maxBatchCost !== Number.POSITIVE_INFINITY,
    };
    return isCalled[item.fault.where];
  }

  reconfigured(limits: Limits): void {
    const { widest } = this;
    this.steadySince = this.now;
    if (limits.concurrency < this.limits.concurrency) this.slotsTakenAt = this.now;
    this.limits = limits;
    this.widest = {
      ...limits,
      maxBatchSize: Math.max(widest.maxBatchSize, limits.maxBatchSize),
      maxBatchCost: Math.max(widest.maxBatchCost, limits.maxBatchCost),
      concurrency: Math.max(widest.concurrency, limits.concurrency),
      maxQueueSize: Math.max(widest.maxQueueSize, limits.maxQueueSize),
    };
  }

  /** Ms before a deadline at which its batch has to go; undefined until a first batch has ended. */
  get leadMs(): number | undefined {
    if (this.#callMs.length === 0) return undefined;
    const last = this.#callMs.slice(-64).sort((a, b) => a - b);
    return 1.25 * (last[Math.ceil(0.95 * last.length) - 1] ?? 0) + 1;
  }

  batchEnded(id: string, runMs: number): void {
    this.steadySince = this.now;
    const batch = this.batches.get(id);
    if (batch === undefined) return;
    if (this.#hasEndedCall(batch)) this.#callMs.push(this.now - batch.lastCall.startedAt - batch.lastCall.heldMs);
    batch.hasEnded = true;
    const isTime = this.world.stages.open || runMs === this.now - batch.startedAt;
    this.expect(isTime, "runMs", () => `${id} ran ${runMs}, not ${this.now - batch.startedAt}`);
  }

  /**
   * False if all callers left between two calls, before the handler's `run`, or before a call
   * without a slot had ended.
   */
  #hasEndedCall({ lastCall: { places, failedAt, isRunning, open, hasFinished, startedAt } }: Batch): boolean {
    const { handlerTimeoutMs = Number.POSITIVE_INFINITY } = this.world.uses;
    if (!isRunning && places.every((place) => place.isGone(this.now))) return false;
    if (failedAt < Number.POSITIVE_INFINITY) return failedAt === this.now;
    return (isRunning && open <= 0 && hasFinished) || this.now >= startedAt + handlerTimeoutMs;
  }

  /** Batches that failed and wait before the next call. Exact only when nothing moves. */
  resting(): Batch[] {
    if (this.world.uses.retry === undefined || this.abandonedAt <= this.now) return [];
    return [...this.batches.values()].filter(({ hasEnded, lastCall }) => !hasEnded && lastCall.failedAt <= this.now);
  }

  /** True if the pause of a resting batch has ended. */
  isRetryDue({ lastCall }: Batch): boolean {
    return this.now >= lastCall.failedAt + (this.world.uses.retry?.backoffMs ?? 0);
  }

  /** The places of those batches. */
  retrying(): Place[] {
    return this.resting().flatMap(({ id }) => {
      return [...this.placesByItem.values()].filter((place) => {
        return place.batchId === id && place.state === "handed" && !place.isGone(this.now);
      });
    });
  }

  /** Callers of submit that have no answer yet. */
  openCallers(): Caller[] {
    return this.callers.filter((caller) => caller.sees === "each" && caller.outcome === undefined);
  }

  /** Number of members of calls whose outcomes are unknown, or not known yet. */
  get unseenCount(): number {
    return this.callers.filter((caller) => caller.sees !== "each" && caller.outcome === undefined).length;
  }

  /** The places that wait, in the queue or outside a full queue, in order of arrival. */
  waiting(now: number = this.now): Place[] {
    if (this.abandonedAt <= this.now) return [];
    return this.#waiting.filter((place) => place.state === "waiting" && !place.isGone(now));
  }

  /** Places that are certainly in the queue. */
  queued(now: number = this.now): Place[] {
    const mayBlock = this.world.uses.onFull === "wait";
    return mayBlock ? this.waiting(now).filter(({ isInside }) => isInside === true) : this.waiting(now);
  }

  /** Places that may be in the queue. */
  mayBeQueued(): Place[] {
    return this.waiting().filter(({ isInside }) => isInside !== false);
  }

  /** Admits as many as the batcher did, in model order. `isExact`: all due by now have left. */
  syncRoom(isExact: boolean): void {
    if (this.world.uses.onFull !== "wait") return;
    const outside = this.waiting().filter(({ isInside }) => isInside !== true);
    if (outside.length === 0) return;
    if (!isExact && outside.length < this.waiting(this.now - 1).filter(({ isInside }) => isInside !== true).length)
      return;
    const isEntering = outside.some(({ enteredInStep }) => enteredInStep === this.step);
    if (isEntering) for (const place of outside) place.isInside = undefined;
    else admit(this, outside, outside.length - this.blocked());
  }

  /** A look-up has missed: its item joins the queue now. */
  entered(place: Place): void {
    place.state = "waiting";
    place.enteredAt = this.now;
    place.enteredInStep = this.step;
    this.#arrivals += 1;
    place.arrival = this.#arrivals;
    const index = this.#waiting.indexOf(place);
    if (index !== -1) this.#waiting.splice(index, 1);
    this.#waiting.push(place);
  }

  /** A draining close ends all look-ups: their items join the queue. */
  closes(): void {
    const lookups = this.#waiting.filter((place) => place.state === "lookup" && !place.isGone(this.now - 1));
    for (const place of lookups) this.entered(place);
    this.isStale ||= lookups.length > 0;
  }

  /**
   * Later submits of an equal item run again, unless it waits. A look-up of it counts as a miss.
   */
  forgets(equal: string, key: string | undefined): void {
    const scope = `${key}/${equal}`;
    const place = this.#byScope.get(scope);
    if (place?.state === "lookup" && !place.isGone(this.now - 1)) this.entered(place);
    if (place?.state !== "handed") return;
    place.isForgotten = true;
    this.#byScope.delete(scope);
  }

  settled(caller: Caller, outcome: Outcome): void {
    this.expect(caller.outcome === undefined, "settles once", () => `item ${caller.plan.item.id} again`);
    caller.outcome = outcome;
    checkExpiry(this, caller, outcome);
    this.note(() => `settled ${caller.plan.item.id} ${String(outcome.isOk ? outcome.value : outcome.error)}`);
  }

  /** The cost of a batch of these places, by this world's measure. */
  costOf(places: readonly Place[]): number {
    const { batchCost } = this.world.uses;
    if (batchCost === "function") return measureItems(places.map((place) => place.item));
    const costs = places.map((place) => place.cost);
    return batchCost === "sum" ? sum(costs) : costs.length * Math.max(...costs);
  }

  /** Drops places that no longer wait, so that long worlds stay fast. */
  tidy(): void {
    for (let index = this.#waiting.length - 1; index >= 0; index -= 1) {
      const place = this.#waiting[index];
      if (place?.state !== "lookup" && (place?.state !== "waiting" || place.isGone(this.now))) {
        this.#waiting.splice(index, 1);
      }
    }
  }
}

/** The cost function of some worlds; an item with a fault there fits into no batch. */
function measureItems(items: readonly Plan["item"][]): number {
  if (items.some((item) => item.fault?.where === "batchCost")) return Number.POSITIVE_INFINITY;
  const costs = items.map((item) => item.cost);
  return sum(costs) + Math.max(...costs);
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
