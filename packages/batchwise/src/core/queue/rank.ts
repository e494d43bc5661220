// The order among waiting entries is one number an entry, fixed when it comes in: the time of its
// submit, minus what its priority is worth. The smallest goes first, and of equal ones the older.
// So waiting `priorityAgingMs` outweighs one step of priority, and no entry's place moves while it
// waits.

export interface Rank {
  /**
   * Smaller ones go first, whatever the times. All are in one, unless a priority is worth more than
   * any time.
   */
  readonly tier: number;
  /** How much earlier an entry counts as submitted, in milliseconds. */
  readonly leadMs: number;
}

/**
 * The rank of a priority. A small call leads by half a step. Where a step is worth infinitely much,
 * or the priority is infinite, priority decides alone, then small calls go before others, then the
 * time of the submit decides.
 */
export function rankOf(priority: number, isSmall: boolean, priorityAgingMs: number): Rank {
  const leadMs = priority * priorityAgingMs + (isSmall ? priorityAgingMs / 2 : 0);
  if (Number.isFinite(leadMs)) return { tier: 0, leadMs };
  return { tier: -priority, leadMs: isSmall ? Infinity : 0 };
}
