// Detects requests of a job that repeat an earlier id, without keeping ids. A job is enqueued in
// order, so a request that arrived no later than its predecessor is a repeat. May be wrong if
// several runs gave different orders.

import type { NewRequest, RequestRow } from "../contract/store/rows.ts";

export class Repeats {
  /** The id of the last request that was not a repeat, if any. Later arrivals are new. */
  last: readonly string[] = [];

  /**
   * Whether each row is a repeat. `stored`: these rows and `last` as the store has them; empty if
   * the store knew none.
   */
  of(rows: readonly Pick<NewRequest, "id">[], stored: ReadonlyMap<string, RequestRow>): boolean[] {
    const [before] = this.last;
    let highest = before === undefined ? 0 : (stored.get(before)?.arrival ?? 0);
    const seen = new Set<string>();
    return rows.map(({ id }) => {
      // A missing row has been pruned.
      const arrival = stored.get(id)?.arrival ?? Number.POSITIVE_INFINITY;
      if (seen.has(id) || arrival <= highest) return true;
      seen.add(id);
      if (arrival < Number.POSITIVE_INFINITY) highest = arrival;
      this.last = [id];
      return false;
    });
  }
}
