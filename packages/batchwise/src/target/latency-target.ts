// The rule of `targetLatencyMs`: which waiting items are refused, and when batches start.
// BatchSizes learns how large a batch may be and how long it takes.
//
// A batch is never cut to fit its oldest item: that ends in batches of one, which serve few.
// Instead the oldest are refused until the rest can be in time together (the sliding window of
// Nexus, SOSP 2019). No arrivals are predicted. At least one batch always runs; otherwise the
// recovery of a handler would go unnoticed.

import { overloadedError } from "../core/contract/errors.ts";
import type { ResolvedOptions } from "../core/contract/options.ts";
import type { LearnedStats } from "../core/contract/stats.ts";
import type { EndedBatch } from "../core/policy/packer.ts";
import type { Extensions, LatencyTarget, TargetView } from "../core/policy/target-rule.ts";
import type { Entry } from "../core/queue/entry.ts";
import type { Lane } from "../core/queue/lane.ts";
import { BatchSizes } from "./batch-sizes.ts";
import { lateOf } from "./let-go.ts";

/**
 * Waits, and pauses between two starts, end before an item becomes late: by EARLY of the target,
 * and at least EARLY_MS, because timers are late.
 */
const [EARLY, EARLY_MS] = [0.03, 2];
/** Minimum items of a line that are read at once to find the late ones. */
const READ_AHEAD = 4;
/**
 * While no slot is free, items are refused in steps of this part of the target, and share an error:
 * in overload, refusing one by one would take most of the batcher's time.
 */
const SHED_STEP = 0.01;
/** A lane is cut when it has this many times the items that can be in time. */
const OVERFULL = 1.1;
/**
 * A check of more than MANY_LINES lines is not repeated for LOOK_STEP of the target, or until an
 * item becomes late: with thousands of keys it takes milliseconds.
 */
const [MANY_LINES, LOOK_STEP] = [64, 0.05];
/** `retryAfterMs` is at most this many times the target: any later, the estimate is out of date. */
const LONGEST_RETRY = 10;

/** The order in which lanes are served. */
const byRank = ({ place: a }: Lane, { place: b }: Lane): number => a.tier - b.tier || a.key - b.key || a.tie - b.tie;

class TargetRule implements LatencyTarget {
  readonly #view: TargetView;
  readonly #sizes: BatchSizes;
  #refused = 0;
  /** Refused items when the last batch ended. */
  #refusedBefore = 0;
  #error: { readonly until: number; readonly error: Error } | null = null;
  /** No further items are refused before this time, unless a slot is free. */
  #shedAgainAt = 0;
  /** No lane is looked at before this time. */
  #lookAgainAt = 0;

  constructor(view: TargetView) {
    this.#view = view;
    this.#sizes = new BatchSizes(view.services);
  }

  get #options(): ResolvedOptions {
    return this.#view.services.options;
  }

  get #targetMs(): number {
    return this.#options.targetLatencyMs;
  }

  // What BatchSizes learns.

  configure(): void {
    this.#sizes.choose(false);
  }

  predict(cost: number): number | null {
    return this.#sizes.predict(cost) || null;
  }

  get maxBatchCost(): number {
    return this.#sizes.cost + 1e-6;
  }

  record(batch: EndedBatch, callMs: number | undefined): void {
    const refused = this.#refused - this.#refusedBefore;
    this.#refusedBefore = this.#refused;
    this.#sizes.record(batch, callMs, refused);
  }

  stats(): LearnedStats {
    return this.#sizes.stats(this.#refused);
  }

  // When batches start.

  /**
   * If runs take most of the target, the starts of batches that are not full are spaced by the run
   * time over the slots. Otherwise all slots would run tiny batches side by side, and items would
   * wait for a whole run. Never delays a start so long that an item becomes late.
   */
  notBefore(): number {
    const { slots, queue } = this.#view;
    const { concurrency, key, preferredBatchSize } = this.#options;
    const { running } = slots;
    if (!this.#sizes.isTight || running.length === 0 || this.#view.isHeld()) return 0;
    const cost = this.#waitingCost;
    const isEnough = queue.size >= preferredBatchSize || cost >= this.#sizes.cost;
    if (isEnough || (key !== undefined && queue.lineCount > 1)) return 0;
    let [lastAt, runMs] = [0, 0];
    for (const { cost, startedAt } of running) {
      lastAt = Math.max(lastAt, startedAt);
      runMs += this.#sizes.predict(cost);
    }
    // Further items may come meanwhile.
    const latestAt = this.#latestStart(queue.oldestAt(), 2 * cost) - this.#earlyMs;
    return Math.min(lastAt + runMs / running.length / concurrency, latestAt);
  }

  get holdMs(): number {
    const runMs = this.#sizes.upper(this.#waitingCost + this.#sizes.itemCost);
    return this.#targetMs - runMs - this.#earlyMs;
  }

  get #earlyMs(): number {
    return Math.max(EARLY_MS, EARLY * this.#targetMs);
  }

  // Which items are refused.

  /** True if the waiting items are not in one line of plain ones. */
  get #isMixed(): boolean {
    const { lineCount, oldestLine: line } = this.#view.queue;
    if (line === undefined) return false;
    return lineCount > 1 || line.priority !== 0 || line.lane.key !== undefined || this.#options.fairBy !== undefined;
  }

  /** When the next batch starts: now, or at the first end of a running batch. */
  #startAt(now: number): number {
    if (this.#view.slots.isFree || this.#view.isHeld()) return now;
    let endAt = Infinity;
    for (const { cost, startedAt } of this.#view.slots.running) {
      endAt = Math.min(endAt, startedAt + this.#sizes.predict(cost));
    }
    return Math.max(now, endAt);
  }

  /** How many items that come now can be in time, if the next batch starts then. */
  #roomFrom(startAt: number, now: number): number {
    const leftMs = now - startAt + this.#targetMs - this.#sizes.upper(Infinity);
    const runs = (leftMs * this.#options.concurrency) / this.#sizes.predict(this.#sizes.cost);
    return this.#sizes.cap * Math.max(1, 1 + Math.floor(runs));
  }

  room(now: number): number {
    if (!this.#sizes.isReady || this.#view.isHeld()) return Infinity;
    return this.#roomFrom(this.#startAt(now), now) - this.#view.queue.size;
  }

  refusalOf({ moment: { at }, priority, key, tenant }: Entry): Error | null {
    // Of several priorities, lanes or tenants another item may have to go, at the end of the turn.
    const isPlain = priority === 0 && key === undefined && tenant === "";
    return this.#isMixed || !isPlain || this.room(at) > 0 ? null : this.#refusal(at, 1);
  }

  /** The cost of `items` waiting items. Padding is known as a mean. */
  #costOf(items: number, itemsCost: number): number {
    return this.#options.batchCost === "sum" ? itemsCost : items * this.#sizes.itemCost;
  }

  /** The cost of all waiting items; those of other lanes than the oldest item's count as 1. */
  get #waitingCost(): number {
    const { oldestLane: lane, size } = this.#view.queue;
    return this.#costOf(size, lane === undefined ? size : lane.cost + size - lane.size);
  }

  /** The latest start of a batch of this cost whose oldest item was submitted at `at`. */
  #latestStart(at: number, cost: number): number {
    // While it is unknown when a batch starts, only items that would be late in a batch of their
    // own are certain.
    const most = this.#view.isHeld() ? this.#sizes.itemCost : Infinity;
    return at + this.#targetMs - this.#sizes.upper(Math.min(most, cost));
  }

  shed(now: number): number {
    const { queue } = this.#view;
    if (queue.size === 0 || !this.#sizes.isReady) return Infinity;
    if (now < this.#shedAgainAt && !this.#view.slots.isFree) return this.#shedAgainAt;
    const firstAt = this.#startAt(now);
    if (!this.#isMixed) {
      const lateAt = this.#latestStart(queue.oldestAt(), this.#waitingCost);
      if (lateAt > firstAt) return lateAt;
    }
    if (now < this.#lookAgainAt) return this.#lookAgainAt;
    return this.#look(firstAt, now);
  }

  /** Looks at all lanes in the order of service. */
  #look(firstAt: number, now: number): number {
    const { queue } = this.#view;
    const late: Entry[] = [];
    let startAt = firstAt;
    let nextAt = Infinity;
    let lines = 0;
    for (const lane of [...queue.lanes()].sort(byRank)) {
      lines += lane.lineCount;
      const gone = this.#lateIn(lane, startAt, now, startAt === firstAt);
      const left = lane.size - gone.length;
      for (const entry of gone) late.push(entry);
      if (left === 0) continue;
      const cost = this.#costOf(left, (lane.cost * left) / lane.size);
      const lateAt = this.#latestStart(lane.oldestAt(), cost) - startAt + firstAt;
      if (lateAt > now) nextAt = Math.min(nextAt, lateAt);
      if (this.#view.isHeld()) continue;
      startAt += this.#sizes.predict(Math.min(this.#sizes.cost, cost)) / this.#options.concurrency;
    }
    if (late.length > 0) {
      this.#shedAgainAt = now + SHED_STEP * this.#targetMs;
      nextAt = Math.min(nextAt, this.#shedAgainAt);
      this.#view.letGo(late, this.#refusal(now, late.length));
    }
    this.#lookAgainAt = lines > MANY_LINES ? Math.min(nextAt, now + LOOK_STEP * this.#targetMs) : 0;
    return nextAt;
  }

  /** The items to refuse of a lane whose next batch starts at `startAt`. */
  #lateIn(lane: Lane, startAt: number, now: number, isFirst: boolean): readonly Entry[] {
    const isHeld = this.#view.isHeld();
    const isLate = (at: number, items: number, itemsCost: number): boolean =>
      this.#latestStart(at, this.#costOf(items, itemsCost)) <= startAt;
    const room = this.#isMixed && !isHeld ? this.#roomFrom(startAt, now) : Infinity;
    const isOver = lane.size > OVERFULL * room;
    if (!isOver && !isLate(lane.oldestAt(), lane.size, lane.cost)) return [];
    const isFifo = lane.lineCount === 1 && this.#options.fairBy === undefined;
    for (let most = isFifo && !isOver ? READ_AHEAD : Infinity; ; most *= 4) {
      const entries = lane.first(most, Infinity);
      const behind = lane.size - entries.length;
      // Something always runs.
      const mustRun = isFirst && this.#view.slots.isFree && !isHeld;
      const cost = entries.reduce((sum, entry) => sum - entry.cost, lane.cost);
      const late = lateOf(entries, { behind, cost, room: isOver ? room : Infinity, mustRun, isLate });
      if (late.length < entries.length || behind === 0) return late;
    }
  }

  // Refusals.

  /** One error for all items that are refused within a step. */
  #refusal(now: number, count: number): Error {
    this.#refused += count;
    if (this.#error !== null && now < this.#error.until) return this.#error.error;
    const untilMs = this.#startAt(now) - now + this.#sizes.predict(Math.min(this.#sizes.cost, this.#waitingCost || 1));
    // In overload the served share is 1 - refused, so arrivals / capacity = 1 / (1 - refused).
    const share = Math.max(0.05, Math.min(1, 1.9 - 1 / (1 - this.#sizes.refusedShare)));
    const retryAfterMs = Math.ceil(Math.min(untilMs / share, LONGEST_RETRY * this.#targetMs));
    const error = overloadedError(this.#view.services.name, this.#targetMs, retryAfterMs);
    this.#error = { until: now + SHED_STEP * this.#targetMs, error };
    return error;
  }
}

export const latencyTarget: Extensions["makeTarget"] = (view) => new TargetRule(view);
