// Which waiting items of a lane have to go: a pure function.

import type { Entry } from "../core/queue/entry.ts";

interface Start {
  /** How many wait behind the given entries. */
  readonly behind: number;
  /** Their cost. */
  readonly cost: number;
  /** How many may stay. */
  readonly room: number;
  /** One has to stay. */
  readonly mustRun: boolean;
  /**
   * True if a batch of `items` items of this cost is late when its oldest was submitted at `at`.
   */
  isLate(at: number, items: number, cost: number): boolean;
}

/**
 * The entries that have to go for the others to be in time together, from a lane's first entries in
 * the order of service. The lowest priority as submitted goes first, and of one priority the
 * oldest. Where there is no room for all, those go that would be served last.
 */
export function lateOf(entries: readonly Entry[], { behind, cost, room, mustRun, isLate }: Start): Entry[] {
  const late: Entry[] = [];
  const kept = new Set<Entry>();
  let oldest = Infinity;
  let keptCost = cost;
  for (const entry of entries.toSorted((a, b) => b.priority - a.priority || b.moment.at - a.moment.at)) {
    const at = Math.min(oldest, entry.moment.at);
    const size = behind + kept.size;
    if (isLate(at, size + 1, keptCost + entry.cost) && !(mustRun && size === 0)) {
      late.push(entry);
      continue;
    }
    kept.add(entry);
    keptCost += entry.cost;
    oldest = at;
  }
  if (kept.size <= room) return late;
  const order = entries.filter((entry) => kept.has(entry)).sort((a, b) => b.priority - a.priority);
  return late.concat(order.slice(room));
}
