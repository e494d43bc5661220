// The result of one run of the fault simulation: counts, and a list for each promise, empty if it
// was kept. Types only.

export interface Report {
  readonly requests: number;
  readonly outcomes: number;
  readonly kills: number;
  readonly batches: number;
  /** Answered for, but without an outcome at the end. */
  readonly lost: readonly string[];
  readonly repeatedOutcomes: readonly string[];
  /** Ended otherwise than the provider's answers and the caller's wishes allow. */
  readonly wrong: readonly string[];
  /** Ran successfully at the provider more than once. */
  readonly ranTwice: readonly string[];
  /** In a create that was first sent long after their deadlines. */
  readonly sentLate: readonly string[];
  /** In a calm world, before their deadlines, although a fallback account was free. */
  readonly expiredNeedlessly: readonly string[];
  /** Ended with the words of an outage. */
  readonly blamed: readonly string[];
  readonly notDelivered: readonly string[];
  readonly unendedBatches: readonly string[];
  /** Made at the provider while their account was paused. */
  readonly sentWhilePaused: readonly string[];
  readonly pruned: number;
  /** Pruned although it had to stay, or forgotten altogether. */
  readonly wronglyPruned: readonly string[];
  /**
   * Outcomes and batches left after all was old enough to go; null where this run did not end so.
   */
  readonly leftOver: number | null;
}
