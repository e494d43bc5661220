// The batch that goes next: from which lane, with which entries, and whether the limiter lets it.
// It is itself the state of the batcher that the policy reads. Changes nothing but its question to
// the limiter and which lanes are marked hot.

import type { LearnedStats } from "../contract/stats.ts";
import { type Caps, type PackedBatch, withCap } from "../policy/caps.ts";
import { type Choice, type ChoiceState, chooseLane, mayBeReady } from "../policy/choose-lane.ts";
import type { Gate } from "../policy/decide.ts";
import { FIFO } from "../policy/pack.ts";
import { type EndedBatch, isPacked, type Packer } from "../policy/packer.ts";
import { RunTimes } from "../policy/run-times.ts";
import type { LatencyTarget, TargetView } from "../policy/target-rule.ts";
import type { Entry } from "../queue/entry.ts";
import type { Lane } from "../queue/lane.ts";
import type { Queue } from "../queue/queue.ts";
import type { Admission } from "../submit/admission.ts";
import type { Services } from "../submit/services.ts";
import type { LimiterGate } from "./limiter-gate.ts";
import type { Slots } from "./slots.ts";

export class NextBatch implements ChoiceState, TargetView {
  readonly services: Services;
  readonly queue: Queue;
  readonly slots: Slots;
  readonly #admission: Admission;
  readonly #limiter: LimiterGate | null;
  /** How long the calls of the last batches took. */
  #times: RunTimes | null = null;
  /** Created when the options first need it; kept afterwards, with its learned values. */
  #otherPacker: Packer | null = null;
  packer: Packer = FIFO;
  gate: Gate = "open";
  passedAt: number = -Infinity;
  /** A flush may send what it covers, and no more. False while draining. */
  isPaused = false;
  isDraining = false;
  /** Number of maps that take no more items while their readers wait for running ones. */
  stuckMaps = 0;
  /** The rule in force; null without a latency target. */
  target: LatencyTarget | null = null;
  /** Kept, with its learned values, while the options have no target. */
  #target: LatencyTarget | null = null;

  constructor(services: Services, slots: Slots, admission: Admission, limiter: LimiterGate | null) {
    this.services = services;
    this.queue = services.queue;
    this.slots = slots;
    this.#admission = admission;
    this.#limiter = limiter;
    this.configure();
  }

  /** Makes a packer, or the rule of a latency target, when options first need one. */
  configure(): void {
    const { options, extensions } = this.services;
    if (isPacked(options)) this.#otherPacker ??= extensions.makePacker();
    this.packer = isPacked(options) ? (this.#otherPacker as Packer) : FIFO;
    const hasTarget = options.targetLatencyMs < Infinity;
    if (hasTarget) this.#target ??= extensions.makeTarget(this);
    this.#target?.configure();
    this.target = hasTarget ? this.#target : null;
    this.#admission.target = this.target;
    this.#renewCaps();
  }

  /** Takes over the learned caps. A cap that has fallen may make lanes full. */
  #renewCaps(): void {
    const { options } = this.services;
    const caps = this.#limited(withCap(options, this.packer.highestCap(options)));
    const hasFallen = caps.maxBatchCost < this.#admission.caps.maxBatchCost;
    this.#admission.caps = caps;
    // A single lane is the most urgent one, and is checked anyway.
    if (!hasFallen || this.queue.lineCount < 2) return;
    for (const lane of this.queue.lanes()) if (mayBeReady(lane, caps)) this.queue.markHot(lane);
  }

  isHeld(): boolean {
    return this.isPaused || this.#limiter?.hasAsked === true;
  }

  letGo(entries: readonly Entry[], error: Error): void {
    this.services.inOneStep(() => this.#admission.letGo(entries, error));
  }

  /**
   * Learns from a batch that has ended. Where the last caller left before or between calls, nothing
   * is known of them.
   */
  record(batch: EndedBatch, callMs: number | undefined): void {
    this.#target?.record(batch, callMs);
    if (callMs !== undefined) {
      this.#times ??= new RunTimes();
      this.#times.record(callMs);
      this.packer.record(batch, callMs);
    }
    if (this.target !== null || this.packer !== FIFO) this.#renewCaps();
  }

  /** What users see of a cap that is learned; null where none is. */
  get learned(): LearnedStats | null {
    return (this.target ?? this.packer).stats(this.services.options);
  }

  get preferredBatchSize(): number {
    return this.services.options.preferredBatchSize;
  }

  get maxWaitMs(): number {
    const { maxWaitMs } = this.services.options;
    const mostMs = this.stuckMaps > 0 && maxWaitMs === Infinity ? 0 : maxWaitMs;
    return Math.min(mostMs, this.target?.holdMs ?? Infinity);
  }

  get leadMs(): number | undefined {
    return this.#times?.leadMs;
  }

  get isQueueFull(): boolean {
    return this.#admission.isFull;
  }

  /** True if waiting items are certain to wait for the gate: a look before would delay callers. */
  waitsForGate(): boolean {
    const { size, isFlushed } = this.queue;
    const { maxBatchSize, maxBatchCost, maxQueueSize } = this.services.options;
    const mayBeFull = size >= Math.min(maxBatchSize, maxQueueSize) || maxBatchCost < Infinity;
    if (size === 0 || mayBeFull || isFlushed || this.isDraining) return false;
    return this.#admission.blocked === 0 && this.slots.next === undefined;
  }

  /** A batch that has reserved at the limiter has gathered, and keeps its place in the order. */
  lane(gate: Gate, now: number): Choice {
    this.gate = this.#limiter?.hasAsked === true ? "open" : gate;
    // Items without a key enter by a shorter way, which does not look whether they fill their lane.
    const lane = this.gate === "pass" ? this.queue.keyless : null;
    if (lane !== null && lane.size > 0 && mayBeReady(lane, this.#admission.caps)) this.queue.markHot(lane);
    return chooseLane(this.queue, this.#admission.caps, this, now);
  }

  /** These caps, with the one of a latency target. */
  #limited<Limits extends Caps>(caps: Limits): Limits {
    const maxBatchCost = this.target?.maxBatchCost ?? Infinity;
    return maxBatchCost < caps.maxBatchCost ? { ...caps, maxBatchCost } : caps;
  }

  /**
   * The next batch if the first entries of a single line need not be copied and nothing holds them:
   * the general way would come to the same batch. It may go when it is full or has gathered. Null
   * if there is more to decide.
   */
  plain(): PackedBatch | null {
    const { maxBatchSize, batchCost, maxBatchCost } = this.#admission.caps;
    if (this.services.options.maxWaitMs > 0 || this.isPaused || this.isDraining || this.#limiter !== null) return null;
    if (this.packer !== FIFO || batchCost !== "sum" || this.services.signals !== null) return null;
    const chunk = this.queue.whole(maxBatchSize);
    if (chunk === null || chunk.cost > maxBatchCost) return null;
    const { entries, cost } = chunk;
    if (entries.length >= maxBatchSize) return { entries, cost, full: "size" };
    if (cost >= maxBatchCost) return { entries, cost, full: "cost" };
    return { entries, cost, full: this.isQueueFull ? "size" : null };
  }

  /** The next batch of a lane; null while the limiter says no. */
  pack(lane: Lane, now: number): PackedBatch | null {
    const upTo = this.isPaused ? (lane.flushes?.upTo ?? -1) : Infinity;
    const waiting = this.isPaused ? lane.size : this.queue.size;
    const state = { freeSlots: this.slots.free, waiting, runTimes: this.#times };
    const caps = this.#limited(this.packer.capsOf(lane, this.services.options, state));
    const whole = this.packer.pack(lane, caps, now, upTo);
    if (this.#limiter === null || whole.entries.length === 0) return whole;
    const granted = this.#limiter.ask(whole.cost, false);
    if (granted === null) return null;
    // An item over the cap is alone, and cannot be cut to the grant.
    if (granted >= Math.min(whole.cost, caps.maxBatchCost)) return whole;
    return { ...this.packer.pack(lane, { ...caps, maxBatchCost: granted }, now, upTo), full: whole.full };
  }
}
