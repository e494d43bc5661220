// Which waiting entries form the next batch of a lane. Reads the queue and decides; changes nothing.
//
// Entries are taken strictly in dispatch order: the highest effective priority first, then the oldest. A batch ends
// before the first entry that does not fit, so no entry is ever overtaken by a cheaper one of its own line. A single
// entry that is over the cap by itself runs alone.

import type { Cursor } from "../queue/cursor.ts";
import type { Fifo } from "../queue/fifo.ts";
import type { Line } from "../queue/lane.ts";
import { longestFit, measured, orSum } from "./batch-cost.ts";
import { type Caps, Packing, type Pick } from "./packer.ts";

/** Packs the next batch of a lane. `lines` are in the order of their classes; at least one has an entry. */
export function pack(lines: readonly Line[], caps: Caps, now: number): Pick {
  return packSegment(lines, caps) ?? packUntil(Number.POSITIVE_INFINITY, lines, caps, now);
}

/** Packs only what was submitted up to an epoch, that is, what a flush covers. */
export function packUntil(epoch: number, lines: readonly Line[], caps: Caps, now: number): Pick {
  const { batchCost } = caps;
  if (typeof batchCost === "function") return packByFunction(epoch, lines, { ...caps, batchCost }, now);
  return new Packing(epoch, caps, now).run(lines);
}

const NO_CURSORS: readonly Cursor[] = [];

/**
 * The common case without a search: entries wait in one line only, and its first segment, cut where a batch would be
 * cut, is the batch. Undefined where it is not.
 */
function packSegment(lines: readonly Line[], { maxBatchSize, maxBatchCost, batchCost }: Caps): Pick | undefined {
  const fifo = typeof batchCost === "function" ? null : onlyFifo(lines);
  const segment = fifo?.first ?? null;
  if (fifo === null || segment === null || !segment.intact) return undefined;
  const { live, cost, next } = segment;
  if (live > maxBatchSize || cost > maxBatchCost) return undefined;
  if (batchCost === "padded" && (segment.costs !== null || next !== null)) return undefined;
  const isCut = live < maxBatchSize && next !== null;
  if (isCut && cost + next.costAt(next.head) <= maxBatchCost) return undefined;
  const full = live === maxBatchSize ? "size" : isCut || cost >= maxBatchCost ? "cost" : null;
  const whole = { fifo, segment, from: 0, end: live, count: live, cost };
  return { stretches: [whole], cursors: NO_CURSORS, count: live, cost, full };
}

/** The fifo of the one line that has entries; null where more have, or where tenants take turns in it. */
function onlyFifo(lines: readonly Line[]): Fifo | null {
  let only: Line | null = null;
  for (const line of lines) {
    if (line.size === 0) continue;
    if (only !== null) return null;
    only = line;
  }
  return only !== null && only.ring === null ? only.fifo : null;
}

interface FunctionCaps extends Caps {
  readonly batchCost: (items: readonly unknown[]) => number;
}

/**
 * Packs under a cost function of the whole batch: the longest prefix that fits, found by doubling and halving, so the
 * function sees O(n log n) items in all. One that throws or returns no number counts as "does not fit".
 */
function packByFunction(epoch: number, lines: readonly Line[], caps: FunctionCaps, now: number): Pick {
  const { batchCost, maxBatchCost } = caps;
  const uncapped = { ...caps, batchCost: "sum", maxBatchCost: Number.POSITIVE_INFINITY } as const;
  const widest = new Packing(epoch, uncapped, now).run(lines);
  const items = itemsOf(widest);
  const { count, cost } = longestFit(items, maxBatchCost, (prefix) => measured(batchCost, prefix));
  if (count === items.length) {
    const isFull = cost >= maxBatchCost && maxBatchCost < Number.POSITIVE_INFINITY;
    return { ...widest, cost: orSum(cost, widest.cost), full: widest.full ?? (isFull ? "cost" : null) };
  }
  const cut = new Packing(epoch, { ...uncapped, maxBatchSize: count }, now).run(lines);
  return { ...cut, cost: orSum(cost, cut.cost), full: "cost" };
}

function itemsOf(pick: Pick): unknown[] {
  const items: unknown[] = [];
  for (const { segment, from, end } of pick.stretches) {
    for (let index = from; index < end; index += 1) {
      if (segment.sinks[index] !== null) items.push(segment.items[index]);
    }
  }
  return items;
}
