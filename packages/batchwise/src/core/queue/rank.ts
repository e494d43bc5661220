// The order of waiting entries is one number per entry: its submit time minus the lead that its
// priority gives (`Line.rankOf` subtracts it). The smallest goes first; of equal ones
// the older. So waiting `priorityAgingMs` outweighs one step of priority, and no entry's place
// changes while it waits.

/** What a priority is worth against waiting time. */
export interface Lead {
  /**
   * A smaller tier goes first at any time. All entries share one tier, unless a priority outweighs
   * every time.
   */
  readonly tier: number;
  /** How much earlier an entry counts as submitted, in ms. */
  readonly leadMs: number;
}

/**
 * The lead of a priority. A small call leads by half a step. If a step or the priority is infinite,
 * priority decides first, then small calls go first, then the submit time decides.
 */
export function leadOf(priority: number, isSmall: boolean, priorityAgingMs: number): Lead {
  const leadMs = priority * priorityAgingMs + (isSmall ? priorityAgingMs / 2 : 0);
  if (Number.isFinite(leadMs)) return { tier: 0, leadMs };
  return { tier: -priority, leadMs: isSmall ? Infinity : 0 };
}
