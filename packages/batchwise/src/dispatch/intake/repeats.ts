// Tells which requests of a job have the id of an earlier one, without keeping ids: a job is
// enqueued in order, so that one that arrived no later than its predecessor has come before. Where
// several runs give different orders, it may be wrong.

import type { NewRequest, RequestRow } from "../contract/rows.ts";

export class Repeats {
  /** The last request that was no repeat, if there is one: what arrived after it is new. */
  last: readonly string[] = [];

  /**
   * One answer each. `stored`: these and `last`, as the store has them; empty where the store knew
   * none of them.
   */
  of(rows: readonly Pick<NewRequest, "id">[], stored: ReadonlyMap<string, RequestRow>): boolean[] {
    const [before] = this.last;
    let highest = before === undefined ? 0 : (stored.get(before)?.arrival ?? 0);
    const seen = new Set<string>();
    return rows.map(({ id }) => {
      // One that is not there has been pruned.
      const arrival = stored.get(id)?.arrival ?? Number.POSITIVE_INFINITY;
      if (seen.has(id) || arrival <= highest) return true;
      seen.add(id);
      if (arrival < Number.POSITIVE_INFINITY) highest = arrival;
      this.last = [id];
      return false;
    });
  }
}
