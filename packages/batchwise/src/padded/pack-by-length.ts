// Chooses the next batch of a lane under `order: "length"`: the entry that goes first, and the
// waiting entries that are cheapest to pad together with it. Reads the queue; changes nothing.
//
// No entry is passed over for long. The entry that goes first is in every batch; with tenants, in
// every other batch the one that has waited longest takes its place. An entry that would be late
// with the batch after this one is included.

import type { Caps, PackedBatch, Waiting } from "../core/policy/caps.ts";
import type { RunTimes } from "../core/policy/run-times.ts";
import type { Entry } from "../core/queue/entry.ts";
import { lineOf } from "../core/queue/lane.ts";
import { groupAround, groupByLength } from "./group-by-length.ts";

/**
 * Smallest window: entries are chosen from the half of the queue that has waited longest, between
 * this many and `WIDEST`.
 */
const NARROWEST = 16;
const WIDEST = 256;

export interface LengthCaps extends Caps {
  readonly order?: "fifo" | "length";
  /** The cost of a call besides its items. */
  readonly fixedCost?: number;
  /** Highest cost of a batch while other slots are free. */
  readonly share?: number;
  /** Run times of batches, for items with deadlines; null if unknown. */
  readonly runTimes?: RunTimes | null;
}

export function packByLength(lane: Waiting, caps: LengthCaps, now: number, upTo: number): PackedBatch {
  const { size } = lane;
  const { maxBatchSize, maxBatchCost, fixedCost = 0, share = maxBatchCost } = caps;
  const window = windowOf(lane, upTo, Math.min(WIDEST, Math.max(NARROWEST, Math.ceil(size / 2))));
  const padded = window.length * longestOf(window);
  const isWhole = window.length === size && size <= maxBatchSize && padded <= maxBatchCost;
  const required = requiredOf(window, isWhole, () => now + 2 * (caps.runTimes?.leadMs ?? Infinity));
  const candidates = [...required, ...window.filter((entry) => !required.includes(entry))];
  const lengths = candidates.map(({ cost }) => cost);
  const limits = { maxRows: maxBatchSize, budget: Math.min(maxBatchCost, share), fixedCost };
  const group = required.length > 1 ? groupAround(required.length, lengths, limits) : groupByLength(lengths, limits);
  const chosen = new Set(group.map((index) => candidates[index] as Entry));
  const entries = window.filter((entry) => chosen.has(entry));
  const isCostly = padded >= maxBatchCost && maxBatchCost < Infinity;
  return {
    entries,
    cost: entries.length * longestOf(entries),
    full: entries.length >= maxBatchSize ? "size" : isCostly ? "cost" : null,
  };
}

/**
 * The first entries, only of the first ranks if these are enough. An entry that was passed over
 * comes first.
 */
function windowOf(lane: Waiting, upTo: number, width: number): Entry[] {
  const window = lane.first(width, upTo);
  const end = window.findIndex(
    (entry, index) => index >= NARROWEST && lineOf(entry) !== lineOf(window[index - 1] as Entry),
  );
  if (end !== -1) window.length = end;
  const [first] = window;
  if (first === undefined) return window;
  const { oldest, passedOver } = lineOf(first);
  if (passedOver === null || passedOver !== oldest) return window;
  return [passedOver, ...window.filter((entry) => entry !== passedOver)];
}

/**
 * The entries that must be in the batch: the first, and entries that would be late with the next
 * batch. If not everything fits, at most one of the late ones, the earliest, if it is due before
 * the first. All of them would be a batch in order of arrival, which is slower for every caller.
 */
function requiredOf(window: readonly Entry[], isWhole: boolean, lateFrom: () => number): Entry[] {
  const [first, ...others] = window;
  if (first === undefined) return [];
  const due = others.filter((entry) => dueAt(entry) < Infinity);
  if (due.length === 0) return [first];
  const urgent = due.filter((entry) => dueAt(entry) < lateFrom());
  if (isWhole) return [first, ...urgent];
  const earliest = urgent.reduce((one, other) => (dueAt(other) < dueAt(one) ? other : one), first);
  return earliest === first ? [first] : [first, earliest];
}

function dueAt({ recipient }: Entry): number {
  return typeof recipient === "object" && recipient !== null ? recipient.dueAt : Infinity;
}

function longestOf(entries: readonly Entry[]): number {
  return Math.max(0, ...entries.map(({ cost }) => cost));
}
