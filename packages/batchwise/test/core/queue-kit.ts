// A queue to fill and to pack from in tests of its parts, with numbers as items.

import { pack } from "../../src/core/policy/pack.ts";
import type { Caps, Pick } from "../../src/core/policy/packer.ts";
import { Queue } from "../../src/core/queue/queue.ts";
import type { Party, Seating, Sink } from "../../src/core/queue/recipient.ts";
import type { Segment, SegmentOwner } from "../../src/core/queue/segment.ts";

export interface NewEntry {
  readonly id: number;
  readonly cost?: number;
  readonly at?: number;
  readonly priority?: number;
  readonly small?: boolean;
  readonly tenant?: string;
  readonly key?: string;
  /** Its number in a call; 0 where it has none. */
  readonly position?: number;
  readonly dueAt?: number;
}

/** Somebody who has a place in the queue and can leave it. */
class Seat implements Party {
  readonly countsItself = true;
  #seating: Seating | null = null;
  #index = 0;

  seat(seating: Seating, index: number): void {
    this.#seating = seating;
    this.#index = index;
  }

  leave(): void {
    this.#seating?.vacate(this.#index);
  }

  succeed(): void {}
  fail(): void {}
}

function batchOwner(keepsCosts: boolean): SegmentOwner {
  return { holdsWaiting: false, keepsCosts, vacated: () => {} };
}

export const uncapped: Caps = {
  maxBatchSize: 1000,
  maxBatchCost: Number.POSITIVE_INFINITY,
  batchCost: "sum",
  priorityAgingMs: Number.POSITIVE_INFINITY,
};

export class Kit {
  readonly queue: Queue;
  readonly #seats: Map<number, Seat> = new Map();

  readonly #isBare: boolean;

  /** `bare`: entries are bare promises, which cannot leave. */
  constructor(options: { fair?: boolean; segmentItems?: number; segmentCost?: number; bare?: boolean } = {}) {
    this.#isBare = options.bare ?? false;
    this.queue = new Queue(options.fair ?? false);
    this.queue.reshape(options.segmentItems ?? 4, options.segmentCost ?? Number.POSITIVE_INFINITY);
  }

  push(...entries: readonly NewEntry[]): this {
    for (const entry of entries) {
      const { id, cost = 1, at = 0, priority = 0, small = false, tenant = "", key } = entry;
      const seat = new Seat();
      if (!this.#isBare) this.#seats.set(id, seat);
      const sink: Sink = this.#isBare ? Object.assign(() => {}, { id }) : seat;
      const segment = this.queue.line(key, priority, small).push(tenant, id, sink, at, cost);
      const { position = 0, dueAt = Number.POSITIVE_INFINITY } = entry;
      if (position > 0) segment.setPosition(segment.length - 1, position);
      if (dueAt < Number.POSITIVE_INFINITY) segment.setDue(segment.length - 1, dueAt, 5);
    }
    return this;
  }

  leave(...ids: readonly number[]): this {
    for (const id of ids) this.#seats.get(id)?.leave();
    return this;
  }

  /** Packs the lane of the items without a key, and changes nothing. */
  pick(caps: Partial<Caps> = {}, now = 0): Pick {
    return pack(this.queue.plain.lane.lines, { ...uncapped, ...caps }, now);
  }

  /** Packs and takes a batch; its items. */
  take(caps: Partial<Caps> = {}, now = 0): unknown[] {
    const segment = this.takeSegment(caps, now);
    return segment.items.slice(0, segment.length);
  }

  takeSegment(caps: Partial<Caps> = {}, now = 0, keepsCosts = true): Segment {
    return this.queue.take(this.pick(caps, now), batchOwner(keepsCosts));
  }

  /** Takes batch after batch until nothing waits. */
  takeAll(caps: Partial<Caps> = {}, now = 0): unknown[][] {
    const batches: unknown[][] = [];
    while (this.queue.size > 0) batches.push(this.take(caps, now));
    return batches;
  }
}
