// Times and step sizes of pruning. Pure.

/**
 * How long ended batches stay, in ms. The sweeper identifies a provider's batches of the last day,
 * and uploads, by our batch rows. So an ended batch stays two days, however old its requests are.
 */
const BATCHES_STAY_MS = 48 * 3_600_000;

const LEAST = 100;
const MOST = 5_000;
export const FIRST_STEP = 500;
/**
 * Longest step, in ms. A longer step is too large, one under a third of it too small: a commit
 * takes some ms.
 */
const LONGEST_STEP_MS = 60;

export interface Cutoffs {
  readonly before: number;
  readonly batchesBefore: number;
  readonly tombstonesBefore?: number;
}

/** Up to which times outcomes, batches and tombstones may be deleted. */
export function cutoffs(now: number, olderThanMs: number, tombstoneRetentionMs: number): Cutoffs {
  const before = now - olderThanMs;
  const times = { before, batchesBefore: Math.min(before, now - BATCHES_STAY_MS) };
  return tombstoneRetentionMs === Infinity ? times : { ...times, tombstonesBefore: now - tombstoneRetentionMs };
}

/**
 * The size of the next step, by this one's duration: on some stores other calls wait for a step.
 */
export function nextStep(size: number, tookMs: number): number {
  if (tookMs > LONGEST_STEP_MS) return Math.max(LEAST, Math.floor(size / 2));
  return tookMs < LONGEST_STEP_MS / 3 ? Math.min(MOST, size * 2) : size;
}
