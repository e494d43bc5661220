// Chooses the items that share a batch in which each is padded to the longest. A pure function of
// their lengths: takes the first item, and with it the neighbours by length with which the call
// saves most.

export interface GroupCaps {
  readonly maxRows: number;
  /** Highest rows x longest of a group; a single row may exceed it. */
  readonly budget: number;
  /** The cost of a call besides its rows, in the unit of the lengths. */
  readonly fixedCost: number;
}

/**
 * Smallest factor that a group must save. For less, which may be noise in the measured times, the
 * first item goes without others, in its order: threads that share the processors gain little by
 * the group, and passed-over items wait longer.
 */
export const WORTH_IT = 1.1;

/**
 * Ascending indexes of the items that go with the first one: of all runs of neighbours by length
 * that contain it, the one that saves most, if a call costs `fixedCost + rows * longest`. Of equal
 * runs, the one with more rows.
 */
export function groupByLength(lengths: readonly number[], { maxRows, budget, fixedCost }: GroupCaps): number[] {
  const order = byLength(lengths);
  const sorted = order.map((index) => lengths[index] as number);
  const first = order.indexOf(0);
  // The best run in the order of lengths; `saved`: its cost in single calls, divided by its cost.
  let best = { from: first, to: first, saved: WORTH_IT };
  // The cost in single calls of the items from the first to `to`.
  let alone = 0;
  for (let to = first; to < sorted.length; to += 1) {
    const longest = sorted[to] as number;
    alone += fixedCost + longest;
    let sum = alone;
    for (let from = first; from >= 0; from -= 1) {
      const rows = to - from + 1;
      if (rows > maxRows || (rows > 1 && rows * longest > budget)) break;
      if (from < first) sum += fixedCost + (sorted[from] as number);
      const together = fixedCost + rows * longest;
      const saved = together > 0 ? sum / together : rows;
      if (saved > best.saved || (saved === best.saved && rows > best.to - best.from + 1)) best = { from, to, saved };
    }
  }
  return order.slice(best.from, best.to + 1).sort((a, b) => a - b);
}

/**
 * The same if the first `required` items must go together, even at a higher cost: no longer item
 * joins them, and of the others only items that cost less with them than in calls of their own. If
 * they exceed the caps, only the first goes.
 */
export function groupAround(required: number, lengths: readonly number[], caps: GroupCaps): number[] {
  const { maxRows, budget, fixedCost } = caps;
  const longest = Math.max(...lengths.slice(0, required));
  if (required > maxRows || required * longest > budget) return groupByLength(lengths, caps);
  const most = Math.min(maxRows, Math.floor(budget / longest));
  const joining = byLength(lengths).filter((index) => {
    const length = lengths[index] as number;
    return index >= required && length <= longest && fixedCost + length >= WORTH_IT * longest;
  });
  const together = [...lengths.slice(0, required).keys(), ...joining.reverse()];
  return together.slice(0, most).sort((a, b) => a - b);
}

function byLength(lengths: readonly number[]): number[] {
  return lengths.map((_, index) => index).sort((a, b) => (lengths[a] as number) - (lengths[b] as number) || a - b);
}
