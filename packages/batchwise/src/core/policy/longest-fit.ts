// Finds how many of a lane's first entries fit under a cap by the user's cost function. The
// function gets at most 11 times as many items as fit, however many wait.
//
// The search doubles the number of entries until they cost too much, then narrows down between the
// last two numbers: twice by an estimate from the items' own costs, which is exact if costs add up,
// then by halves. Up to 15 entries it finds all that fit. Beyond that it may find fewer if the
// function jumps.

import type { Entry } from "../queue/entry.ts";
import type { MeasuredEntries } from "../queue/measured-entries.ts";
import { itemsOf } from "./batch-cost.ts";

/** The function has had each item once before, at its submit: 12 times in all. */
const MOST_VISITS = 11;
const MOST_ESTIMATES = 2;
/** Entries are read in parts of this many times the number that is measured next. */
const READ_AHEAD = 4;

/** A number of first entries and their total cost. */
type Prefix = Pick<MeasuredEntries, "count" | "cost">;

/**
 * `read` returns the first `count` entries, or fewer if no more wait. `known`: the result of an
 * earlier search, if its entries are still the first ones.
 */
export function longestFit(
  read: (count: number) => readonly Entry[],
  cap: number,
  costOf: (items: unknown[]) => number,
  known: MeasuredEntries | null = null,
): MeasuredEntries {
  let entries = known?.entries ?? read(2 * READ_AHEAD);
  // If the function makes a caller leave, the entry loses its item, so the items are copied.
  let items = itemsOf(entries);
  let fits: Prefix = known ?? { count: Math.min(1, entries.length), cost: 0 };
  let over: Prefix | null = null;
  let visits = 0;
  const measure = (count: number): void => {
    visits += count;
    const cost = costOf(items.slice(0, count));
    if (cost <= cap || count === 1) fits = { count, cost };
    else over = { count, cost };
  };
  while (over === null) {
    const wanted = 2 * fits.count;
    if (entries.length < wanted) {
      const more = read(READ_AHEAD * wanted);
      // If the function has submitted entries that go first, the batch stays as it was measured.
      if (startsWith(more, entries)) [entries, items] = [more, items.concat(itemsOf(more.slice(items.length)))];
    }
    if (entries.length === fits.count) break;
    measure(Math.min(wanted, entries.length));
  }
  for (let left = MOST_ESTIMATES; over !== null; left -= 1) {
    const count = left > 0 ? estimate(entries, fits, over, cap) : middle(fits, over);
    if (count === fits.count || visits + count > MOST_VISITS * fits.count) break;
    measure(count);
  }
  if (fits.count === 1) measure(1);
  return { entries, ...fits, isCut: over !== null, cap };
}

/** True if these are the first of the entries. */
export function startsWith(entries: readonly Entry[], first: readonly Entry[]): boolean {
  return first.length <= entries.length && first.every((entry, index) => entry === entries[index]);
}

/** The number in the middle; `fits` itself if none is in between. */
function middle(fits: Prefix, over: Prefix): number {
  return (fits.count + over.count) >> 1;
}

/** How many fit if cost grows with the sum of the items' own costs. */
function estimate(entries: readonly Entry[], fits: Prefix, over: Prefix, cap: number): number {
  if (over.cost === Infinity || over.count - fits.count === 1) return middle(fits, over);
  const between = entries.slice(fits.count, over.count - 1);
  const sum = between.reduce((total, { cost }) => total + cost, (entries[over.count - 1] as Entry).cost);
  // Tolerance for rounding of fractions.
  let room = ((cap - fits.cost) / (over.cost - fits.cost)) * sum * (1 + 1e-9);
  const count = between.findIndex((entry) => {
    room -= entry.cost;
    return room < 0;
  });
  return Math.max(fits.count + (count === -1 ? between.length : count), fits.count + 1);
}
