// The batch that goes next: from which lane, with which entries, and whether the limiter lets it. It is itself the state
// of the batcher that the policy reads. Changes nothing but its question to the limiter.

import type { ResolvedOptions } from "../contract/options.ts";
import type { PackedBatch } from "../policy/caps.ts";
import { type Choice, type ChoiceState, chooseLane } from "../policy/choose-lane.ts";
import type { Gate } from "../policy/decide.ts";
import { pack } from "../policy/pack.ts";
import type { Lane } from "../queue/lane.ts";
import type { Queue } from "../queue/queue.ts";
import type { Admission } from "../submit/admission.ts";
import type { LearnedCaps } from "./learned-caps.ts";
import type { LimiterGate } from "./limiter-gate.ts";

export class NextBatch implements ChoiceState {
  readonly #queue: Queue;
  readonly #admission: Admission;
  readonly #learned: LearnedCaps;
  readonly #limiter: LimiterGate | null;
  #options: ResolvedOptions;
  gate: Gate = "open";
  passedAt: number = Number.NEGATIVE_INFINITY;
  isPaused = false;
  isDraining = false;

  constructor(
    queue: Queue,
    admission: Admission,
    learned: LearnedCaps,
    limiter: LimiterGate | null,
    options: ResolvedOptions,
  ) {
    this.#queue = queue;
    this.#admission = admission;
    this.#learned = learned;
    this.#limiter = limiter;
    this.#options = options;
  }

  configure(options: ResolvedOptions): void {
    this.#options = options;
  }

  get preferredBatchSize(): number {
    return this.#options.preferredBatchSize;
  }

  get maxWaitMs(): number {
    return this.#options.maxWaitMs;
  }

  get leadMs(): number | undefined {
    return this.#learned.leadMs;
  }

  get isQueueFull(): boolean {
    return this.#admission.isFull;
  }

  /** While paused a flush may send what it covers and no more. */
  get isFlushOnly(): boolean {
    return this.isPaused && !this.isDraining;
  }

  /** A batch that has asked the limiter has gathered, and keeps its place in the order. */
  lane(gate: Gate, passedAt: number, now: number): Choice {
    this.gate = this.#limiter?.hasAsked === true ? "open" : gate;
    this.passedAt = passedAt;
    return chooseLane(this.#queue, this.#learned.limits(this.#options), this, now);
  }

  /** The next batch of a lane, for one of so many free slots; null while the limiter says no. */
  pack(lane: Lane, freeSlots: number, now: number): PackedBatch | null {
    const upTo = this.isFlushOnly ? lane.flushedUpTo : Infinity;
    const waiting = this.isFlushOnly ? lane.size : this.#queue.size;
    const caps = this.#learned.capsOf(lane, this.#options, freeSlots, waiting);
    const whole = pack(lane, caps, now, upTo);
    if (this.#limiter === null || whole.entries.length === 0) return whole;
    const granted = this.#limiter.ask(whole.cost, false);
    if (granted === null) return null;
    if (granted >= whole.cost) return whole;
    return { ...pack(lane, { ...caps, maxBatchCost: granted }, now, upTo), full: whole.full };
  }
}
