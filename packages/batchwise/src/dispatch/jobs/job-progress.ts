// Reports a job's progress regularly. A pure function computes it from this process's counts and
// one read of the store.

import { attempt } from "../../core/contract/thenable.ts";
import type { PriceFigures } from "../contract/errors.ts";
import type { JobPause, JobProgress } from "../contract/jobs.ts";
import type { UsageRecord } from "../contract/operations.ts";
import type { TokenCounts } from "../contract/store/rows.ts";
import type { LoggedOutcome, OutcomeStatus } from "../contract/types.ts";
import { NO_TOKENS, openIn, sumOfTokens } from "../format/open-requests.ts";
import { heldUntil } from "../operate/held-until.ts";
import { nextTryAt } from "../operate/next-try.ts";
import { usageBy } from "../requests/usage.ts";
import { Loop } from "../runtime/loop.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { jobPause } from "./job-pause.ts";

const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 30_000;
/** Pause while no request is stored; grows to FIRST_PAUSE_MS. */
const START_PAUSE_MS = 100;

/** How far `requests` have been read, see jobs/producer.ts. */
interface Produced {
  readonly enqueued: number;
  readonly existing: number;
  readonly isDone: boolean;
}

export interface JobFacts {
  readonly job: string;
  readonly produced: Produced;
  /** Yielded outcomes. */
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** How many of them were recorded in this run. */
  readonly added: number;
  readonly elapsedMs: number;
  /** The job's usage. */
  readonly usage: readonly UsageRecord[];
  /** Requests of the whole store. */
  readonly inBatches: number;
  readonly nextTryAt: number | null;
  readonly heldUntil: number | null;
  readonly paused: JobPause | null;
  readonly maxPrice: PriceFigures | null;
}

/** Pure. */
export function progressOf(facts: JobFacts): JobProgress {
  const { job, produced, outcomes, added, elapsedMs, usage, inBatches } = facts;
  const done = sum(Object.values(outcomes));
  const open = sum(usage.map(openIn));
  const total = Math.max(produced.enqueued, done + open);
  const perSecond = elapsedMs > 0 ? (added * 1_000) / elapsedMs : 0;
  const nextTryAt = produced.isDone && total > done ? facts.nextTryAt : null;
  const isKnown = produced.isDone && nextTryAt === null && (perSecond > 0 || total === done);
  return {
    job,
    enqueued: produced.enqueued,
    existing: produced.existing,
    allEnqueued: produced.isDone,
    total,
    waiting: open - Math.min(open, inBatches),
    inBatches: Math.min(open, inBatches),
    done,
    outcomes,
    ...usage.reduce<TokenCounts>(sumOfTokens, NO_TOKENS),
    price: priceSum(usage),
    maxPrice: facts.maxPrice,
    elapsedMs,
    perSecond,
    nextTryAt,
    heldUntil: total > done ? facts.heldUntil : null,
    paused: total > done ? facts.paused : null,
    leftMs: isKnown ? Math.ceil(((total - done) * 1_000) / (perSecond || 1)) : null,
  };
}

/** null if tokens of a model without a price were used. */
function priceSum(usage: readonly UsageRecord[]): number | null {
  const used = usage.filter(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0);
  return used.some(({ price }) => price === null) ? null : sum(used.map(({ price }) => price ?? 0));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export interface ProgressInput {
  readonly runtime: Runtime;
  readonly job: string;
  readonly produced: Produced;
  readonly onProgress: ((progress: JobProgress) => void) | null;
}

export class ProgressTeller {
  readonly #input: ProgressInput;
  readonly #loop: Loop;
  readonly #startedAt: number;
  readonly #started: number;
  readonly #outcomes: Record<OutcomeStatus, number> = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
  #added = 0;
  #lastTold = "";
  #pauseMs = START_PAUSE_MS;

  constructor(input: ProgressInput) {
    this.#input = input;
    const { clock } = input.runtime;
    this.#startedAt = clock.now();
    this.#started = clock.monotonic();
    this.#loop = new Loop(clock, (error) => input.runtime.reportShared(error, { operation: "store" }));
  }

  start(): void {
    if (this.#input.onProgress !== null) this.#loop.start(() => this.#turn());
  }

  add({ status, recordedAt }: LoggedOutcome): void {
    this.#outcomes[status] += 1;
    if (recordedAt >= this.#startedAt) this.#added += 1;
  }

  /** Reports once more, if the store answers. */
  async end(): Promise<void> {
    if (this.#input.onProgress === null) return;
    await this.#loop.stop();
    await this.#tell().catch((error: unknown) => {
      this.#input.runtime.reportShared(error, { operation: "store" });
    });
  }

  async #turn(): Promise<number> {
    const told = await this.#tell();
    const isSame = told === this.#lastTold;
    const most = told === "" ? FIRST_PAUSE_MS : LAST_PAUSE_MS;
    this.#pauseMs = isSame ? Math.min(2 * this.#pauseMs, most) : FIRST_PAUSE_MS;
    this.#lastTold = told;
    return this.#input.runtime.clock.now() + this.#pauseMs;
  }

  /**
   * Returns a text that changes when a count does. Before the first request is stored it reports
   * nothing and returns "".
   */
  async #tell(): Promise<string> {
    const { runtime, job, produced, onProgress } = this.#input;
    const { store, clock } = runtime;
    const [usage, probe] = await Promise.all([usageBy(runtime, { job }), store.probe(1, clock.now())]);
    const elapsedMs = clock.monotonic() - this.#started;
    const outcomes = { ...this.#outcomes };
    const { inBatches } = probe;
    const counted = { job, produced, outcomes, added: this.#added, elapsedMs, usage };
    const held = await heldUntil(runtime, probe);
    const paused = await jobPause(
      runtime,
      usage.filter((record) => openIn(record) > 0),
      probe,
    );
    const maxPrice = await runtime.limits.ofJob();
    const waits = { nextTryAt: nextTryAt(probe), heldUntil: held, paused };
    const progress = progressOf({ ...counted, inBatches, ...waits, maxPrice });
    if (progress.total === 0 && !produced.isDone) return "";
    const tellOf = (error: unknown): void => runtime.report(error, { operation: "event" });
    attempt(() => onProgress?.(progress), tellOf);
    const { elapsedMs: _, perSecond, leftMs, ...counts } = progress;
    return JSON.stringify(counts);
  }
}
