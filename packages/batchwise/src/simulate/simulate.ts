// Runs the engine itself in virtual time, with given options, arrivals and handler. Only arrivals,
// time and the handler are modelled.

import { countOf } from "../core/contract/errors.ts";
import type { Batcher } from "../core/contract/types.ts";
import { aCost, invalidOption, isCost, rangeError } from "../core/contract/validate.ts";
import { createBatcher } from "../makers/batch.ts";
import { type Stream, streamOf } from "./arrivals.ts";
import { boundOf } from "./bound.ts";
import { EventClock } from "./event-clock.ts";
import { type ResolvedSimulation, resolveSimulation, type SimulateOptions } from "./options.ts";
import { exponential, type Random, randomOf } from "./random.ts";
import { FineHistogram, type SimulationReport } from "./report.ts";
import { drawRun, plainRunMs } from "./service.ts";

/** Promise jobs between a refusal by the engine and its arrival at the caller. */
const JOBS = 4;
/** A closed-loop caller who is answered or refused in no time thinks at least this long. */
const LEAST_THINK_MS = 1;

/** Rounds of promise jobs without a timer after which everything that can settle has settled. */
const IDLE_ROUNDS = 100;
const STUCK =
  "Expected `limiter` to have the clock of the simulation: give `options` as a function of it, and pass it to " +
  "`rateLimiter({ …, clock })`. Items wait, and nothing is left to happen in virtual time";

const ignore = (): void => {};

/** The streams of chance. */
const [ARRIVALS, SERVICE, ENGINE, ITEMS, CALLERS] = [0, 1, 2, 3, 4];

/**
 * Simulates a batcher: the engine itself, in virtual time, under arrivals and with a handler that
 * are described by plain data. Answers "what would happen at twice the load", and which settings
 * serve it best.
 *
 * @returns latency, goodput, batch sizes and calls, and beside them the most that can be reached.
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 *
 * @example
 * ```ts
 * import { simulate } from "batchwise/simulate";
 * const report = await simulate({
 *   arrivals: { kind: "poisson", perSecond: 800 },
 *   service: { kind: "line", fixedMs: 20, itemMs: 1, noise: 0.1 },
 *   options: { maxBatchSize: 64 },
 *   targetMs: 150,
 *   durationMs: 60_000,
 *   seed: 1,
 * });
 * console.log(report.goodput, report.latencyMs.p99, report.bound.goodput);
 * ```
 */
export async function simulate<Item = number>(options: SimulateOptions<Item>): Promise<SimulationReport> {
  return await new Simulation(resolveSimulation(options as never)).run();
}

/** Codes of items that were refused or given up; all others failed. */
const REFUSALS: ReadonlySet<string> = new Set(["OVERLOADED", "QUEUE_FULL", "DEADLINE_EXCEEDED"]);

class Simulation {
  readonly #given: ResolvedSimulation;
  readonly #clock: EventClock = new EventClock();
  readonly #batcher: Batcher<unknown, unknown>;
  readonly #arrivals: Stream;
  readonly #service: Random;
  readonly #items: Random;
  readonly #callers: Random;
  readonly #targetMs: number;
  readonly #latencyMs: FineHistogram = new FineHistogram();
  readonly #refusedAfterMs: FineHistogram = new FineHistogram();
  readonly #batchSize: FineHistogram = new FineHistogram();
  readonly #runMs: FineHistogram = new FineHistogram();
  readonly #warnings: string[] = [];
  readonly #counts = { offered: 0, answered: 0, inTime: 0, refused: 0, failed: 0, retries: 0, calls: 0 };
  #index = 0;
  /** The handler has answered, or a caller waits to hear of a refusal. */
  #hasJobs = false;
  /** Why there is no report. */
  #error: Error | null = null;

  constructor(given: ResolvedSimulation) {
    this.#given = given;
    const stream = (number: number): Random => randomOf(given.seed, number);
    this.#service = stream(SERVICE as number);
    this.#items = stream(ITEMS as number);
    this.#callers = stream(CALLERS as number);
    this.#arrivals = streamOf(given.arrivals, stream(ARRIVALS as number), given.durationMs);
    const options = typeof given.options === "function" ? given.options(this.#clock) : given.options;
    const time = { clock: this.#clock, random: stream(ENGINE as number) };
    this.#batcher = createBatcher(this.#handler, { name: "simulation", ...options, ...time });
    const { targetLatencyMs, timeoutMs } = this.#batcher.options;
    this.#targetMs = given.targetMs ?? Math.min(targetLatencyMs, timeoutMs);
    this.#batcher.on("warning", ({ code, message }) => this.#warnings.push(`${code}: ${message}`));
    if (!this.#hasCallers) this.#batcher.on("item", this.#ended);
  }

  /** Callers who come again, which open-loop callers with one attempt do not. */
  get #hasCallers(): boolean {
    return this.#given.arrivals.kind === "closed" || this.#given.attempts > 1;
  }

  async run(): Promise<SimulationReport> {
    const { arrivals } = this.#given;
    if (arrivals.kind === "closed") {
      for (let caller = 0; caller < arrivals.callers; caller += 1) this.#think(arrivals.thinkMs ?? 0);
    }
    const clock = this.#clock;
    await this.#settle();
    for (let at = this.#nextAt(); at < Infinity; at = this.#nextAt()) {
      if (clock.nextAt <= at) clock.fireNext();
      else this.#arrive(at);
      clock.endTurns();
      if (this.#hasJobs) await this.#settle();
      if (this.#error !== null) break;
    }
    await this.#close();
    if (this.#error !== null) throw this.#error;
    return this.#report();
  }

  /** Serves what is held without an end. */
  async #close(): Promise<void> {
    const clock = this.#clock;
    const closed = this.#batcher.close();
    for (let isClosed = false, idle = 0; !isClosed; ) {
      clock.endTurns();
      idle = clock.nextAt < Infinity ? 0 : idle + 1;
      clock.fireNext();
      isClosed = await Promise.race([closed.then(() => true), laterJob()]);
      if (isClosed || idle < IDLE_ROUNDS) continue;
      const waiting = countOf(this.#batcher.stats().waiting, "item");
      this.#error ??= invalidOption(RangeError, `${STUCK} (waiting: ${waiting})`);
      await this.#batcher.close({ drain: false });
    }
  }

  /** Runs the promise jobs that deliver answers to callers and start their next submits. */
  async #settle(): Promise<void> {
    const clock = this.#clock;
    do {
      this.#hasJobs = false;
      for (let job = 0; job < JOBS; job += 1) await null;
      clock.endTurns();
    } while (this.#hasJobs || clock.hasOpenTurn);
  }

  #nextAt(): number {
    const { nextAt } = this.#arrivals;
    return Math.min(nextAt < this.#given.durationMs ? nextAt : Infinity, this.#clock.nextAt);
  }

  #arrive(at: number): void {
    this.#clock.moveTo(at);
    const { size } = this.#arrivals;
    this.#arrivals.advance();
    for (let count = 0; count < size; count += 1) this.#submit(this.#newItem());
  }

  #newItem(): unknown {
    const item = this.#given.item(this.#index, this.#items);
    this.#index += 1;
    return item;
  }

  #submit(item: unknown, firstAt?: number, attempt = 1): void {
    const now = this.#clock.now();
    const answer = this.#batcher.submit(item, this.#given.submit?.(item));
    if (!this.#hasCallers) answer.catch(ignore);
    else this.#follow(item, answer, firstAt ?? now, now, attempt);
  }

  // Callers who come again.

  #think(thinkMs: number, leastMs = 0): void {
    const pauseMs = thinkMs > 0 ? exponential(this.#callers, thinkMs) : leastMs;
    if (this.#clock.now() + pauseMs >= this.#given.durationMs) return;
    if (pauseMs === 0) this.#submit(this.#newItem());
    else this.#clock.setTimeout(() => this.#submit(this.#newItem()), pauseMs);
  }

  #follow(item: unknown, answer: Promise<unknown>, firstAt: number, at: number, attempt: number): void {
    const { arrivals, attempts } = this.#given;
    const over = (outcome: "completed" | "failed" | "rejected", waitMs = 0): void => {
      this.#count(outcome, firstAt, at);
      if (arrivals.kind !== "closed") return;
      // Without any pause virtual time would stand still.
      this.#think(arrivals.thinkMs ?? 0, Math.max(waitMs, this.#clock.now() > at ? 0 : LEAST_THINK_MS));
    };
    answer.then(
      () => over("completed"),
      (error: { readonly retryable?: boolean; readonly retryAfterMs?: number; readonly code?: string }) => {
        const waitMs = error.retryAfterMs ?? this.#given.retryMs;
        if (error.retryable === true && attempt < attempts) this.#again(item, waitMs, firstAt, attempt);
        else if (REFUSALS.has(error.code ?? "")) over("rejected", waitMs);
        else over("failed");
      },
    );
    this.#hasJobs = true;
  }

  #again(item: unknown, waitMs: number, firstAt: number, attempt: number): void {
    this.#counts.retries += 1;
    this.#clock.setTimeout(() => this.#submit(item, firstAt, attempt + 1), waitMs);
  }

  // Counting.

  readonly #ended = ({ outcome, latencyMs }: { readonly outcome: string; readonly latencyMs: number }): void => {
    const at = this.#clock.now() - latencyMs;
    this.#count(outcome, at, at);
  };

  /** `firstAt`: when its caller came first; `at`: when this attempt was made. */
  #count(outcome: string, firstAt: number, at: number): void {
    if (firstAt < this.#given.warmUpMs) return;
    const counts = this.#counts;
    const now = this.#clock.now();
    counts.offered += 1;
    if (outcome === "completed") {
      const latencyMs = now - firstAt;
      counts.answered += 1;
      // Sums of fractions are a little off.
      if (latencyMs <= this.#targetMs + 1e-6) counts.inTime += 1;
      this.#latencyMs.record(latencyMs);
    } else if (outcome === "failed") {
      counts.failed += 1;
    } else {
      counts.refused += 1;
      this.#refusedAfterMs.record(now - at);
    }
  }

  // The handler.

  readonly #handler = (items: unknown[], context: { readonly cost: number }): Promise<unknown[]> => {
    const batch = { size: items.length, cost: context.cost, atMs: this.#clock.now() };
    const { runMs, fails } = drawRun(this.#given.service, batch, this.#service);
    if (!isCost(runMs)) {
      this.#error = rangeError("service.runMs(…)", aCost, runMs);
      throw this.#error;
    }
    if (batch.atMs >= this.#given.warmUpMs) {
      this.#counts.calls += 1;
      this.#batchSize.record(batch.size);
      this.#runMs.record(runMs);
    }
    return new Promise((resolve, reject) => {
      this.#clock.setTimeout(() => {
        this.#hasJobs = true;
        if (fails) reject(new Error("The simulated batch failed."));
        else resolve(items);
      }, runMs);
    });
  };

  #report(): SimulationReport {
    const { durationMs, warmUpMs, seed, service } = this.#given;
    const { calls, ...counts } = this.#counts;
    const stats = this.#batcher.stats();
    const seconds = (durationMs - warmUpMs) / 1_000;
    const offeredPerSecond = counts.offered / seconds;
    const { concurrency, maxBatchSize } = this.#batcher.options;
    const itemCost = stats.averageBatchSize > 0 ? stats.averageBatchCost / stats.averageBatchSize : 1;
    const bound = boundOf({
      runMs: (size) => plainRunMs(service, { size, cost: size * itemCost, atMs: 0 }),
      slots: concurrency === Infinity ? 1 : concurrency,
      targetMs: this.#targetMs,
      maxBatchSize,
      perSecond: offeredPerSecond,
    });
    return {
      ...{ durationMs, warmUpMs, seed, targetMs: this.#targetMs },
      ...counts,
      offeredPerSecond,
      goodput: counts.offered > 0 ? counts.inTime / counts.offered : 0,
      goodputPerSecond: counts.inTime / seconds,
      latencyMs: this.#latencyMs.quantiles(),
      refusedAfterMs: this.#refusedAfterMs.quantiles(),
      calls,
      callsPerItem: counts.answered > 0 ? calls / counts.answered : 0,
      batchSize: this.#batchSize.quantiles(),
      runMs: this.#runMs.quantiles(),
      bound,
      stats,
      warnings: this.#warnings,
    };
  }
}

/** Resolves with false after some promise jobs. */
async function laterJob(): Promise<false> {
  for (let job = 0; job < 2 * JOBS; job += 1) await null;
  return false;
}
