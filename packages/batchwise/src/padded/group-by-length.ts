// Which of the items that wait share a batch where each is padded to the longest. A pure function
// of their lengths: the first one goes, and with it those neighbours by length with which the call
// saves most.

export interface GroupCaps {
  readonly maxRows: number;
  /** The most that rows x longest may be, but for a single row. */
  readonly budget: number;
  /** What a call costs besides its rows, in the unit of the lengths. */
  readonly fixedCost: number;
}

/**
 * A group has to save so much. Where less is to be won, or seems to be by times that differ by
 * luck, the first item goes alone, in its order: threads that share the processors hardly gain by
 * it, and those who are passed over wait longer.
 */
export const WORTH_IT = 1.1;

/** Items next to each other by length. */
interface Run {
  readonly from: number;
  readonly to: number;
  /** What each would cost alone, in all, divided by what they cost together. */
  readonly saved: number;
}

/**
 * The indexes, rising, of the items that go with the first one: of the runs of items next to each
 * other by length that contain it, the one that saves most, where a call costs
 * `fixedCost + rows * longest`. Of equal ones, the one with more rows.
 */
export function groupByLength(lengths: readonly number[], caps: GroupCaps): number[] {
  const order = byLength(lengths);
  const sorted = order.map((index) => lengths[index] as number);
  const first = order.indexOf(0);
  let best: Run = { from: first, to: first, saved: WORTH_IT };
  let alone = 0;
  for (let to = first; to < sorted.length; to += 1) {
    const longest = sorted[to] as number;
    if (to > first && (to - first + 1) * longest > caps.budget) break;
    best = bestUpTo(to, alone, sorted, first, caps, best);
    alone += caps.fixedCost + longest;
  }
  return order.slice(best.from, best.to + 1).sort((a, b) => a - b);
}

/**
 * The same where the first `required` items go together, whatever they save: no longer one joins
 * them, and of the others those that cost less with them than alone. Only the first one goes where
 * they are over the caps.
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

/**
 * The best run that ends with the item at `to`, or `best`. `alone`: what those from the first to
 * before it cost alone.
 */
function bestUpTo(
  to: number,
  alone: number,
  sorted: readonly number[],
  first: number,
  caps: GroupCaps,
  best: Run,
): Run {
  const { maxRows, budget, fixedCost } = caps;
  const longest = sorted[to] as number;
  let [most, sum] = [best, to > first ? alone + fixedCost + longest : 0];
  for (let from = first; from >= 0; from -= 1) {
    const rows = to - from + 1;
    if (rows > maxRows || (rows > 1 && rows * longest > budget)) break;
    // The first item is in the sum of those above it.
    if (from < first || to === first) sum += fixedCost + (sorted[from] as number);
    const together = fixedCost + rows * longest;
    const saved = together > 0 ? sum / together : rows;
    if (saved > most.saved || (saved === most.saved && rows > most.to - most.from + 1)) most = { from, to, saved };
  }
  return most;
}
