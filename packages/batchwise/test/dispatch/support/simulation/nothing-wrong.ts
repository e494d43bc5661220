/** What a run of the dispatcher's simulation reports where every promise was kept. */
export const NOTHING_WRONG = {
  lost: [],
  repeatedOutcomes: [],
  wrong: [],
  ranTwice: [],
  sentLate: [],
  expiredNeedlessly: [],
  blamed: [],
  notDelivered: [],
  unendedBatches: [],
  sentWhilePaused: [],
  wronglyPruned: [],
} as const;
