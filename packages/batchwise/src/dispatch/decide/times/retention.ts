// What may be let go of, and in steps of which size. Pure.

/**
 * The sweeper looks at what a provider lists of the last day, and at uploads: it knows by the row
 * of a batch whose they are. So an ended batch stays for two days, however old its requests may
 * get.
 */
const BATCHES_STAY_MS = 48 * 3_600_000;

const LEAST = 100;
const MOST = 5_000;
export const FIRST_STEP = 500;
/**
 * A step that took longer is too large, one that took less than a third of it too small: a commit
 * alone takes some ms.
 */
const LONGEST_STEP_MS = 60;

export interface Cutoffs {
  readonly before: number;
  readonly batchesBefore: number;
  readonly tombstonesBefore?: number;
}

/** Up to which times outcomes, batches and tombstones may go. */
export function cutoffs(now: number, olderThanMs: number, tombstoneRetentionMs: number): Cutoffs {
  const before = now - olderThanMs;
  const times = { before, batchesBefore: Math.min(before, now - BATCHES_STAY_MS) };
  return tombstoneRetentionMs === Infinity ? times : { ...times, tombstonesBefore: now - tombstoneRetentionMs };
}

/**
 * The size of the next step, after one of this size took so long: other calls wait for a step on
 * some stores.
 */
export function nextStep(size: number, tookMs: number): number {
  if (tookMs > LONGEST_STEP_MS) return Math.max(LEAST, Math.floor(size / 2));
  return tookMs < LONGEST_STEP_MS / 3 ? Math.min(MOST, size * 2) : size;
}
