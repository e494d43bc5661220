// One limit for many processes, kept in Redis. Clients of this process wait here, first come, first
// served. The process waits in Redis on behalf of the first, in order of the processes' requests.
// While Redis is unreachable, each process keeps its own share of the limit (shares.ts).

import type { LimiterAnswer, LimiterClient, RateLimiter } from "../../core/contract/limiter.ts";
import { LONGEST_RETRY_AFTER_MS } from "../../core/contract/retry-after.ts";
import { attempt } from "../../core/contract/thenable.ts";
import { captureAsyncContext } from "../../core/time/async-context.ts";
import { SteadyClock } from "../../core/time/clock.ts";
import { WakeTimer } from "../wake-timer.ts";
import { KnownLimiters } from "./known-limiters.ts";
import { type RedisRateLimiterOptions, type ResolvedRedisOptions, resolveRedisOptions } from "./options.ts";
import { Place } from "./place.ts";
import { ProcessCount } from "./process-count.ts";
import { Server } from "./server.ts";
import { Shares } from "./shares.ts";

/**
 * Makes a limiter for the option `limiter` of batchers in several processes, which share the rates
 * through Redis: all limiters with the same `key` together grant no more than one `rateLimiter`
 * would. Processes are served first come, first served, and a provider's Retry-After stops all of
 * them.
 *
 * If Redis does not answer, each process continues within a second with an equal share: the limit
 * divided by `processes` or by the number of processes that Redis has seen in the last ten seconds,
 * whichever is more. When Redis answers again, it enforces the limit again.
 *
 * Calls with the same client and options return the same limiter, so a process is counted once.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 *
 * @example
 * ```ts
 * import { createBatcher } from "batchwise";
 * import { redisRateLimiter } from "batchwise/limits/redis";
 * import { Redis } from "ioredis";
 *
 * const limiter = redisRateLimiter({ client: new Redis(), key: "openai", callsPerMinute: 600, processes: 8 });
 * const titles = createBatcher(async (texts: string[]) => texts, { limiter });
 * ```
 */
export function redisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  const resolved = resolveRedisOptions(options);
  const limiter = known.find(resolved, () => new RedisLimiter(resolved));
  limiter.listen(resolved.onState);
  return limiter;
}

const WAIT: LimiterAnswer = Object.freeze({ granted: false });
/** Interval in ms in which a process with a share checks whether Redis is back. */
const LOOK_MS = 500;
/**
 * Time in ms after a return in which other processes may still use their shares: they check every
 * LOOK_MS.
 */
const GRACE_MS = LOOK_MS;

/** By client and options. */
const known: KnownLimiters<RedisLimiter> = new KnownLimiters();

class RedisLimiter implements RateLimiter {
  readonly #options: ResolvedRedisOptions;
  readonly #server: Server;
  /**
   * Fires when the first client may request again, or, while Redis is unreachable, at the next try
   * to reach it.
   */
  readonly #timer: WakeTimer;
  /** Clients that wait for Redis, with the cost of their last request. */
  readonly #waiting: Map<LimiterClient, number> = new Map();
  #isAsking = false;
  #isTimed = false;
  /** The place of this process in Redis's queue. */
  readonly #place: Place = new Place();
  /** Null while Redis answers. */
  #shares: Shares | null = null;
  #heldUntil = 0;
  readonly #count: ProcessCount;
  readonly #listeners: Set<ResolvedRedisOptions["onState"]> = new Set();

  constructor(given: ResolvedRedisOptions) {
    const options = { ...given, clock: new SteadyClock(given.clock, captureAsyncContext()) };
    this.#options = options;
    this.#server = new Server(options);
    this.#timer = new WakeTimer(options.clock, () => this.#wake());
    const look = (isSeen: boolean) => this.#server.look(isSeen);
    this.#count = new ProcessCount(options.clock, look, (error) => this.#lookFailed(error));
  }

  listen(listener: ResolvedRedisOptions["onState"]): void {
    this.#listeners.add(listener);
  }

  reserve(client: LimiterClient, cost: number): LimiterAnswer | Promise<LimiterAnswer> {
    const asked = cost > 0 ? cost : 0;
    if (this.#shares !== null) return this.#reserveShare(this.#shares, client, asked);
    this.#waiting.set(client, asked);
    // A running or scheduled request is not repeated for another cost.
    if (this.#isAsking || this.#isTimed || client !== this.#first()) return WAIT;
    return this.#ask(client, asked);
  }

  giveBack(calls: number, cost: number): void {
    const [givenCalls, givenCost] = [Number.isFinite(calls) ? calls : 0, Number.isFinite(cost) ? cost : 0];
    if (givenCalls === 0 && givenCost === 0) return;
    if (this.#shares !== null) this.#shares.giveBack(givenCalls, givenCost);
    else this.#server.tell("give", givenCalls, givenCost);
  }

  withdraw(client: LimiterClient): void {
    if (this.#shares !== null) {
      this.#shares.withdraw(client);
      if (this.#shares.waiting.length === 0) this.#clear();
      return;
    }
    const wasFirst = client === this.#first();
    if (!this.#waiting.delete(client) || !wasFirst || this.#isAsking) return;
    this.#clear();
    if (this.#waiting.size === 0) this.#leave();
    else this.#wakeIn(0);
  }

  hold(forMs: number): void {
    if (!(forMs > 0)) return;
    const heldMs = Math.min(forMs, LONGEST_RETRY_AFTER_MS);
    this.#heldUntil = Math.max(this.#heldUntil, this.#options.clock.now() + heldMs);
    if (this.#shares !== null) this.#shares.hold(heldMs);
    else this.#server.tell("hold", heldMs);
  }

  async #ask(client: LimiterClient, asked: number): Promise<LimiterAnswer> {
    this.#isAsking = true;
    const askedAt = this.#options.clock.now();
    try {
      const reply = await this.#server.ask(asked, this.#place.ask(askedAt));
      this.#isAsking = false;
      if (!reply.isStale) this.#count.heard(reply);
      if (!reply.isGranted) {
        // A client that withdrew meanwhile waits again: its `retry` is called once more, and it may
        // withdraw again.
        if (!this.#waiting.has(client)) this.#waiting.set(client, asked);
        if (!reply.isStale) this.#place.wait(askedAt, reply.value);
        this.#wakeIn(reply.isStale ? 0 : reply.value);
        return WAIT;
      }
      this.#place.granted(this.#options.clock.now(), reply.othersWaitMs);
      this.#waiting.delete(client);
      if (this.#waiting.size > 0) this.#wakeIn(0);
      return { granted: true, cost: reply.value };
    } catch (error) {
      this.#isAsking = false;
      this.#waiting.delete(client);
      return this.#reserveShare(this.#shares ?? this.#lose(error, askedAt), client, asked);
    }
  }

  /** A waiting process learns here that Redis is lost, instead of at the end of its wait. */
  #lookFailed(error: unknown): void {
    if (this.#shares !== null || this.#isAsking || this.#waiting.size === 0) return;
    this.#clear();
    this.#lose(error, this.#options.clock.now());
  }

  #leave(): void {
    this.#place.leave();
    this.#server.tell("leave");
  }

  /** Redis is lost: from now on this process keeps its share. */
  #lose(error: unknown, askedAt: number): Shares {
    const { clock, processes } = this.#options;
    const count = Math.max(processes ?? 0, this.#count.last);
    this.#count.stop();
    this.#place.leave();
    const shares = new Shares(this.#options, count > 0 ? 1 / count : 0, askedAt);
    const heldMs = this.#heldUntil - clock.now();
    if (heldMs > 0) shares.hold(heldMs);
    this.#shares = shares;
    const others = [...this.#waiting.keys()];
    this.#waiting.clear();
    // The first client gets its answer before the others, which request a share after this step.
    queueMicrotask(() => {
      for (const other of others) this.#retry(other);
    });
    this.#tellState("shares", error);
    return shares;
  }

  #reserveShare(shares: Shares, client: LimiterClient, cost: number): LimiterAnswer {
    const answer = shares.reserve(client, cost);
    if (!this.#isTimed) this.#wakeIn(LOOK_MS);
    return answer;
  }

  #wakeIn(delayMs: number): void {
    this.#isTimed = true;
    this.#timer.set(delayMs);
  }

  #clear(): void {
    this.#isTimed = false;
    this.#timer.clear();
  }

  #wake(): void {
    this.#isTimed = false;
    if (this.#shares !== null) {
      this.#tryAgain(this.#shares);
      return;
    }
    const client = this.#first();
    if (client === undefined || this.#isAsking) return;
    this.#retry(client);
    if (!this.#isAsking && !this.#isTimed && this.#shares === null && this.#first() === client) {
      // Removes a client that neither requests again nor withdraws, because it would block the
      // clients behind it.
      this.#waiting.delete(client);
      if (this.#waiting.size > 0) this.#wakeIn(0);
      else this.#leave();
    }
  }

  #retry(client: LimiterClient): void {
    try {
      client.retry();
    } catch {
      // The client's own failure. The others keep their places.
    }
  }

  #tryAgain(shares: Shares): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const awayMs = this.#options.clock.now() - shares.since;
    this.#server.back(awayMs, GRACE_MS, shares.share).then(
      (reply) => {
        this.#isAsking = false;
        if (reply.isStale) {
          this.#wakeIn(0);
          return;
        }
        this.#count.heard(reply);
        this.#return(shares);
      },
      () => {
        this.#isAsking = false;
        if (shares.waiting.length > 0) this.#wakeIn(LOOK_MS);
      },
    );
  }

  /** Redis answers again: clients that wait for a share make their requests there, in order. */
  #return(shares: Shares): void {
    this.#shares = null;
    this.#clear();
    for (const client of shares.waiting) {
      shares.withdraw(client);
      this.#retry(client);
    }
    this.#tellState("redis", undefined);
  }

  #tellState(state: "shares" | "redis", error: unknown): void {
    for (const listener of this.#listeners) {
      // A listener's error is ignored.
      attempt(
        () => listener(state, error),
        () => {},
      );
    }
  }

  #first(): LimiterClient | undefined {
    return this.#waiting.keys().next().value;
  }
}
