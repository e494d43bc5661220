// Tells how far a job is: at once, then about once a second, more rarely while nothing changes, and at the end. Each time
// costs two small reads of the store.

import type { BatchProgress } from "../contract/job.ts";
import type { UsageRecord } from "../contract/operations.ts";
import type { Probe } from "../contract/rows.ts";
import type { OutcomeStatus } from "../contract/types.ts";
import { usageBy } from "../ops/usage.ts";
import type { DispatcherParts } from "./parts.ts";
import { pause } from "./patience.ts";

const FIRST_LOOK_MS = 1_000;
const LAST_LOOK_MS = 10_000;

/** How far the producer is. */
export interface Produced {
  readonly enqueued: number;
  readonly existing: number;
  readonly isDone: boolean;
}

/** Of the whole job, and of this run. */
export interface JobSums {
  readonly usage: readonly UsageRecord[];
  readonly probe: Pick<Probe, "lanes" | "inBatches">;
  readonly produced: Produced;
  /** How many had ended when this run began, and how long ago that was. */
  readonly endedBefore: number;
  readonly elapsedMs: number;
}

export class ProgressTeller {
  readonly #parts: DispatcherParts;
  readonly #job: string;
  readonly #produced: Produced;
  readonly #tell: (progress: BatchProgress) => void;
  readonly #startedAt: number;
  #endedBefore: number | null = null;
  #last = "";

  constructor(parts: DispatcherParts, job: string, produced: Produced, tell: (progress: BatchProgress) => void) {
    this.#parts = parts;
    this.#job = job;
    this.#produced = produced;
    this.#tell = tell;
    this.#startedAt = parts.runtime.clock.monotonic();
  }

  /** Until the dispatcher stops. Rejects with what the listener throws. */
  async run(): Promise<void> {
    const { runtime } = this.#parts;
    for (let lookMs = FIRST_LOOK_MS; !runtime.isStopping; ) {
      const hasChanged = await this.tell();
      lookMs = hasChanged ? FIRST_LOOK_MS : Math.min(lookMs * 2, LAST_LOOK_MS);
      await pause(runtime, lookMs);
    }
  }

  /** False when nothing has changed since the last time, or the store does not answer. */
  async tell(): Promise<boolean> {
    const { runtime } = this.#parts;
    const { store, clock } = runtime;
    let read: [readonly UsageRecord[], Probe];
    try {
      read = await Promise.all([usageBy(runtime, { job: this.#job }), store.probe(1, clock.now())]);
    } catch {
      // It is asked again; those who need an answer tell of it.
      return false;
    }
    const [usage, probe] = read;
    this.#endedBefore ??= total(endedOf(usage));
    const elapsedMs = clock.monotonic() - this.#startedAt;
    const sums = { usage, probe, produced: this.#produced, endedBefore: this.#endedBefore, elapsedMs };
    const progress = progressOf(sums);
    this.#tell(progress);
    const seen = JSON.stringify([progress.enqueued, progress.ended, progress.waiting, progress.inBatches]);
    const hasChanged = seen !== this.#last;
    this.#last = seen;
    return hasChanged;
  }
}

/** Pure. */
export function progressOf({ usage, probe, produced, endedBefore, elapsedMs }: JobSums): BatchProgress {
  const ended = endedOf(usage);
  const open = Math.max(0, sum(usage, ({ requests }) => requests) - total(ended));
  const inBatches = shareInBatches(open, probe);
  const rate = elapsedMs > 0 ? (Math.max(0, total(ended) - endedBefore) * 1_000) / elapsedMs : 0;
  return {
    enqueued: produced.enqueued,
    existing: produced.existing,
    allEnqueued: produced.isDone,
    ended,
    waiting: open - inBatches,
    inBatches,
    rate,
    tokens: {
      inputTokens: sum(usage, ({ inputTokens }) => inputTokens),
      cachedTokens: sum(usage, ({ cachedTokens }) => cachedTokens),
      outputTokens: sum(usage, ({ outputTokens }) => outputTokens),
      reasoningTokens: sum(usage, ({ reasoningTokens }) => reasoningTokens),
    },
    price: priceOf(usage),
    timeLeftMs: timeLeft(open, rate, produced.isDone),
  };
}

function priceOf(usage: readonly UsageRecord[]): number | null {
  return usage.some(({ price }) => price === null) ? null : sum(usage, ({ price }) => price ?? 0);
}

function timeLeft(open: number, rate: number, isAllIn: boolean): number | null {
  if (!isAllIn) return null;
  if (open === 0) return 0;
  return rate > 0 ? Math.round((open / rate) * 1_000) : null;
}

/** Exact where the job is alone in the store: there are no counters of this by job. */
function shareInBatches(open: number, { lanes, inBatches }: JobSums["probe"]): number {
  const all = inBatches + sum(lanes, ({ ready }) => ready);
  return all === 0 ? 0 : Math.min(open, Math.round((open * inBatches) / all));
}

function endedOf(usage: readonly UsageRecord[]): Record<OutcomeStatus, number> {
  const of = (status: OutcomeStatus): number => sum(usage, ({ ended }) => ended[status]);
  return { succeeded: of("succeeded"), failed: of("failed"), cancelled: of("cancelled"), expired: of("expired") };
}

function total(ended: Readonly<Record<OutcomeStatus, number>>): number {
  return Object.values(ended).reduce((all, count) => all + count, 0);
}

function sum<Row>(rows: readonly Row[], count: (row: Row) => number): number {
  return rows.reduce((all, row) => all + count(row), 0);
}
