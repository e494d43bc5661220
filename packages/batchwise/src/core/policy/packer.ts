// Packing entry by entry: lines in the order of their classes, or turn by turn where waiting has raised a priority.

import type { Cursor } from "../queue/cursor.ts";
import { type Fifo, firstLive, type Stretch } from "../queue/fifo.ts";
import type { Line } from "../queue/lane.ts";
import { goesBefore, hasAged } from "../queue/order.ts";
import type { Segment } from "../queue/segment.ts";
import type { Measure } from "./batch-cost.ts";

export interface Caps {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly batchCost: Measure<unknown>;
  readonly priorityAgingMs: number;
}

/** Which cap closed a batch; null where everything that waits is in it and more would fit. */
export type Full = "size" | "cost" | null;

/** One stretch of a segment that a batch takes. */
export interface PickedStretch extends Stretch {
  readonly fifo: Fifo;
}

/** A batch to be: `count` entries in `stretches`, to be taken in this order after `commit` of these cursors. */
export interface Pick {
  readonly stretches: readonly PickedStretch[];
  readonly cursors: readonly Cursor[];
  readonly count: number;
  readonly cost: number;
  readonly full: Full;
}

type Growing<Picked> = { -readonly [Name in keyof Picked]: Picked[Name] };

/** One search for a batch; reads up to an epoch. */
export class Packing {
  readonly #caps: Caps;
  readonly #now: number;
  readonly #lastEpoch: number;
  /** Those that are read side by side, and a cursor over each. */
  readonly #lines: Line[] = [];
  /** Where lines are read one after the other: those that have something to commit. */
  readonly #cursors: Cursor[] = [];
  readonly #stretches: PickedStretch[] = [];
  #last: Growing<PickedStretch> | null = null;
  readonly #padded: boolean;
  #count = 0;
  #sum = 0;
  #largest = 0;

  constructor(lastEpoch: number, caps: Caps, now: number) {
    this.#caps = caps;
    this.#now = now;
    this.#lastEpoch = lastEpoch;
    this.#padded = caps.batchCost === "padded";
  }

  /** `lines` in the order of their classes. */
  run(lines: readonly Line[]): Pick {
    const { maxBatchSize, maxBatchCost, priorityAgingMs } = this.#caps;
    const isByAge = lines.length > 1 && hasAged(lines, this.#now, priorityAgingMs);
    const overflow = isByAge ? this.#takeByAge(lines) : this.#takeByClass(lines);
    const cost = this.#padded ? this.#count * this.#largest : this.#sum;
    const full = this.#count >= maxBatchSize ? "size" : overflow || cost >= maxBatchCost ? "cost" : null;
    return { stretches: this.#stretches, cursors: this.#cursors, count: this.#count, cost, full };
  }

  /** Takes line after line; true when an entry did not fit. */
  #takeByClass(lines: readonly Line[]): boolean {
    for (const line of lines) {
      if (this.#count >= this.#caps.maxBatchSize) return false;
      const cursor = line.size > 0 ? line.cursor(this.#lastEpoch) : undefined;
      if (cursor === undefined) continue;
      if (line.ring !== null) this.#cursors.push(cursor);
      if (this.#takeFrom(cursor, false)) return true;
    }
    return false;
  }

  /** Takes turn after turn, each of the line that goes first by then; true when an entry did not fit. */
  #takeByAge(lines: readonly Line[]): boolean {
    for (const line of lines) {
      const cursor = line.size > 0 ? line.cursor(this.#lastEpoch) : undefined;
      if (cursor === undefined) continue;
      this.#lines.push(line);
      this.#cursors.push(cursor);
    }
    while (this.#count < this.#caps.maxBatchSize) {
      const cursor = this.#first();
      if (cursor === undefined) return false;
      if (this.#takeFrom(cursor, true)) return true;
    }
    return false;
  }

  /** Takes what a cursor is over, or only what was submitted in the same turn; true when an entry did not fit. */
  #takeFrom(cursor: Cursor, isOneTurn: boolean): boolean {
    const at = isOneTurn ? timeAt(cursor) : 0;
    while (this.#isAt(cursor) && this.#count < this.#caps.maxBatchSize) {
      if (isOneTurn && timeAt(cursor) !== at) return false;
      const { segment, runEnd } = cursor;
      const end = isOneTurn ? Math.min(runEnd, segment.endOfTurn(cursor.index)) : runEnd;
      if (!this.#takesRest(cursor, segment, end) && this.#takeRun(cursor, segment, end)) return true;
    }
    return false;
  }

  /** Takes the rest of a segment at once where its cost is known without adding up. */
  #takesRest(cursor: Cursor, segment: Segment, end: number): boolean {
    const { live, cost, isExact } = segment;
    if (cursor.index !== segment.head || end !== segment.length || this.#padded || !isExact) return false;
    if (this.#count + live > this.#caps.maxBatchSize || this.#sum + cost > this.#caps.maxBatchCost) return false;
    this.#stretch(cursor, end, live, cost);
    this.#count += live;
    this.#sum += cost;
    return true;
  }

  /** Takes entries one by one up to `end`; true when one did not fit. */
  #takeRun(cursor: Cursor, segment: Segment, end: number): boolean {
    const { maxBatchSize, maxBatchCost } = this.#caps;
    const { sinks } = segment;
    const costs = segment.costs === null ? null : segment.costs.values;
    const isPadded = this.#padded;
    let index = cursor.index;
    let count = this.#count;
    let sum = this.#sum;
    let largest = this.#largest;
    let overflow = false;
    for (; index < end && count < maxBatchSize; index += 1) {
      if (sinks[index] === null) continue;
      const cost = costs === null ? 1 : (costs[index] as number);
      const measured = isPadded ? (count + 1) * Math.max(largest, cost) : sum + cost;
      overflow = measured > maxBatchCost && count > 0;
      if (overflow) break;
      count += 1;
      sum += cost;
      if (isPadded && cost > largest) largest = cost;
    }
    this.#largest = largest;
    if (index > cursor.index) this.#stretch(cursor, index, count - this.#count, sum - this.#sum);
    this.#count = count;
    this.#sum = sum;
    return overflow;
  }

  /** Notes that the batch takes `count` entries of the cursor's segment up to `end`, and moves the cursor there. */
  #stretch(cursor: Cursor, end: number, count: number, cost: number): void {
    const segment = cursor.segment as Segment;
    const from = cursor.index;
    const last = this.#last;
    if (last !== null && last.segment === segment && firstLive(segment, last.end) === from) {
      last.end = end;
      last.count += count;
      last.cost += cost;
    } else {
      this.#last = { fifo: cursor.fifo, segment, from, end, count, cost };
      this.#stretches.push(this.#last);
    }
    cursor.advanceTo(end);
  }

  /** True while a cursor is over an entry that may be taken. */
  #isAt(cursor: Cursor): cursor is Cursor & { readonly segment: Segment } {
    return cursor.segment !== null;
  }

  /** The cursor over the entry that goes first of all. */
  #first(): Cursor | undefined {
    let best = -1;
    for (let index = 0; index < this.#cursors.length; index += 1) {
      if (!this.#isAt(this.#cursors[index] as Cursor)) continue;
      if (best === -1 || this.#goesBefore(index, best)) best = index;
    }
    return this.#cursors[best];
  }

  #goesBefore(a: number, b: number): boolean {
    const aAt = timeAt(this.#cursors[a] as Cursor);
    const bAt = timeAt(this.#cursors[b] as Cursor);
    const { priorityAgingMs } = this.#caps;
    return goesBefore(this.#lines[a] as Line, aAt, this.#lines[b] as Line, bAt, this.#now, priorityAgingMs);
  }
}

function timeAt(cursor: Cursor): number {
  return (cursor.segment as Segment).timeAt(cursor.index);
}
