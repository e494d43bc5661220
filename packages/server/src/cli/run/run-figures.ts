// The figures of one run: ended requests, rate, cost, remaining time. Pure.

import {
  type DispatcherStats,
  defaultPrices,
  type LoggedOutcome,
  type OutcomeStatus,
  priceOf,
  type Usage,
} from "batchwise/dispatch";
import { counted, dollars, duration, listed, short } from "../common/print.ts";

/** Dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

const MILLION = 1_000_000;

export class RunFigures {
  readonly total: number;
  readonly price: Price | null;
  readonly ended: Record<OutcomeStatus, number> = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
  /** Dollars; null while no price is known. */
  cost: number | null = null;
  inputTokens = 0;
  outputTokens = 0;
  /** The outcomes of this run, and its start. */
  added = 0;
  readonly startedAt: number;

  constructor(total: number, price: Price | null, startedAt: number) {
    this.total = total;
    this.price = price;
    this.startedAt = startedAt;
  }

  add({ status, usage, recordedAt, response }: LoggedOutcome): void {
    this.ended[status] += 1;
    this.inputTokens += usage?.inputTokens ?? 0;
    this.outputTokens += usage?.outputTokens ?? 0;
    if (recordedAt >= this.startedAt) this.added += 1;
    const cost = usage === null ? null : this.#costOf(usage, response?.body.model);
    if (cost !== null) this.cost = (this.cost ?? 0) + cost;
  }

  /**
   * The cost by the given price, else by the default table, which has models' names and the
   * discount for batches.
   */
  #costOf(usage: Usage, model: unknown): number | null {
    if (this.price === null) return typeof model === "string" ? priceOf(usage, model, defaultPrices) : null;
    return (usage.inputTokens * this.price.input + usage.outputTokens * this.price.output) / MILLION;
  }

  get written(): number {
    return Object.values(this.ended).reduce((sum, count) => sum + count, 0);
  }

  get unsuccessful(): number {
    return this.written - this.ended.succeeded;
  }
}

/** The parts of a progress line, most important first. */
export function progressParts(
  figures: RunFigures,
  { batches, nextTryAt, heldUntil }: Pick<DispatcherStats, "batches" | "nextTryAt" | "heldUntil">,
  now: number,
): string[] {
  const { total, written, added, startedAt, inputTokens, outputTokens } = figures;
  const rate = now > startedAt ? (added * 1_000) / (now - startedAt) : 0;
  const unsuccessful = { ...figures.ended, succeeded: 0 };
  return [
    `${counted(written)} of ${counted(total)}`,
    waitPart(Math.max(0, total - written), { nextTryAt, heldUntil }, now) ?? leftPart(total - written, figures, rate),
    ...(rate === 0 ? [] : [`${rate < 10 ? rate.toFixed(1) : short(rate)}/s`]),
    `${short(inputTokens + outputTokens)} tokens`,
    ...(figures.cost === null ? [] : [dollars(figures.cost)]),
    ...(figures.unsuccessful === 0 ? [] : [listed(unsuccessful)]),
    // Includes batches of other jobs in the store; their ended batches say nothing about this job.
    `open batches: ${listed({ ...batches, done: 0 }) || "none"}`,
  ];
}

/** What the run waits for, if nothing else happens. */
function waitPart(
  left: number,
  { nextTryAt, heldUntil }: Pick<DispatcherStats, "nextTryAt" | "heldUntil">,
  now: number,
): string | null {
  if (left === 0) return null;
  if (heldUntil !== null) return `held by an earlier or another process, free in ${duration(heldUntil - now)}`;
  if (nextTryAt === null) return null;
  return `${counted(left)} ${left === 1 ? "waits" : "wait"} to be tried again, next in ${duration(nextTryAt - now)}`;
}

function leftPart(left: number, { written }: RunFigures, rate: number): string {
  if (left <= 0) return "done";
  if (rate > 0) return `${duration((left / rate) * 1_000)} left`;
  return written > 0 ? "nothing new yet" : "nothing back yet";
}
