/**
 * A provider with rate limits: it accepts a number of calls and of tokens per second and answers
 * 429 with Retry-After above that. Poisson arrivals. Simulated on the virtual clock, so a minute
 * takes about a second and the same seed gives the same figures on every machine.
 *
 *   node bench/load/limited-provider.ts                    every contender, one line of JSON each
 *   node bench/load/limited-provider.ts '{"perSecond":90}' with other settings
 */
import { type BatchContext, type Batcher, type BatchOptions, createBatcher, rateLimiter } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import type { Measurement } from "../harness/child.ts";
import { poissonArrivals, quantile, seededRandom } from "../harness/numbers.ts";

export type LimitedConfig = {
  /** Submits per second, for `durationMs`. */
  readonly perSecond: number;
  readonly durationMs: number;
  /** Mean tokens per item, and the largest difference from the mean. */
  readonly meanTokens: number;
  readonly spreadTokens: number;
  /** The provider's limits. Its buckets hold one second's worth. */
  readonly callsPerSecond: number;
  readonly tokensPerSecond: number;
  /** Duration of an accepted call and of a refused one. */
  readonly callMs: number;
  readonly refusalMs: number;
  /** Batchers that share the load, and their limiter. */
  readonly batchers: number;
  readonly seed: number;
};

const limitedDefaults: LimitedConfig = {
  perSecond: 60,
  durationMs: 60_000,
  meanTokens: 300,
  spreadTokens: 150,
  callsPerSecond: 2,
  tokensPerSecond: 20_000,
  callMs: 100,
  refusalMs: 20,
  batchers: 1,
  seed: 1,
};

/** The error of an HTTP client for a 429. */
class TooManyRequests extends Error {
  readonly status = 429;
  readonly headers: Headers;

  constructor(retryAfterMs: number) {
    super("429 rate limit reached");
    const seconds = Math.ceil(retryAfterMs / 1_000);
    this.headers = new Headers({ "retry-after": `${seconds}`, "retry-after-ms": `${Math.ceil(retryAfterMs)}` });
  }
}

/** The provider: counts with its own buckets, and charges nothing for refused calls. */
class LimitedProvider {
  readonly #clock: VirtualClock;
  readonly #config: LimitedConfig;
  #calls: number;
  #tokens: number;
  #readAt: number;
  accepted = 0;
  refused = 0;
  /** Tokens of calls accepted before the last submit. */
  tokensInTime = 0;

  constructor(clock: VirtualClock, config: LimitedConfig) {
    this.#clock = clock;
    this.#config = config;
    this.#calls = config.callsPerSecond;
    this.#tokens = config.tokensPerSecond;
    this.#readAt = clock.now();
  }

  /**
   * Answers after `callMs`, or rejects with 429 after `refusalMs`. A call above a full bucket is
   * always refused.
   */
  async call(tokens: number): Promise<void> {
    this.#refill();
    const waitMs = this.#waitFor(tokens);
    if (waitMs > 1e-3) {
      this.refused += 1;
      await this.#pass(this.#config.refusalMs);
      throw new TooManyRequests(waitMs);
    }
    this.#calls -= 1;
    this.#tokens -= tokens;
    this.accepted += 1;
    if (this.#clock.now() <= this.#config.durationMs) this.tokensInTime += tokens;
    await this.#pass(this.#config.callMs);
  }

  #refill(): void {
    const { callsPerSecond, tokensPerSecond } = this.#config;
    const seconds = (this.#clock.now() - this.#readAt) / 1_000;
    this.#readAt = this.#clock.now();
    this.#calls = Math.min(callsPerSecond, this.#calls + seconds * callsPerSecond);
    this.#tokens = Math.min(tokensPerSecond, this.#tokens + seconds * tokensPerSecond);
  }

  #waitFor(tokens: number): number {
    const forCalls = (1 - this.#calls) / this.#config.callsPerSecond;
    const forTokens = (tokens - this.#tokens) / this.#config.tokensPerSecond;
    return Math.max(0, forCalls, forTokens) * 1_000;
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimeout(resolve, ms);
    });
  }
}

/** An item is its number of tokens. */
type TokenBatcher = Batcher<number, number>;

interface World {
  readonly clock: VirtualClock;
  readonly config: LimitedConfig;
  readonly provider: LimitedProvider;
}

/** Makes the batchers of one contender. */
type Contender = (world: World) => TokenBatcher[];

/**
 * Common options: batches that the provider can accept at all, and retries that outlast every
 * refusal.
 */
function commonOptions({ clock, config }: World): BatchOptions<number, number> {
  return {
    clock,
    random: seededRandom(config.seed),
    cost: (tokens) => tokens,
    maxBatchSize: 1_000,
    maxBatchCost: config.tokensPerSecond,
    concurrency: 8,
    maxQueueSize: Number.POSITIVE_INFINITY,
    retry: { attempts: 1_000, backoffMs: 500 },
  };
}

function handlerOf({ provider }: World): (items: number[], context: BatchContext) => Promise<number[]> {
  return async (items, { cost }) => {
    await provider.call(cost);
    return items;
  };
}

function batchersOf(world: World, options: BatchOptions<number, number>): TokenBatcher[] {
  const make = (): TokenBatcher => createBatcher(handlerOf(world), { ...commonOptions(world), ...options });
  return Array.from({ length: world.config.batchers }, make);
}

/**
 * The option `limiter`: the batch is closed when the limits allow it. Several batchers share one
 * limiter.
 */
const withLimiter: Contender = (world) => {
  const { callsPerSecond, tokensPerSecond } = world.config;
  const limits = { callsPerMinute: callsPerSecond * 60, costPerMinute: tokensPerSecond * 60, clock: world.clock };
  return batchersOf(world, { limiter: rateLimiter(limits) });
};

/** The provider refuses, and the batch is sent again. */
const withRetry: Contender = (world) => batchersOf(world, {});

/**
 * A gate written by hand: pauses at the call, and resumes when the provider could accept the next
 * one. For a single batcher.
 */
const withGate: Contender = (world) => {
  const { clock, config } = world;
  const call = handlerOf(world);
  const batcher: TokenBatcher = createBatcher<number, number>((items, context) => {
    batcher.pause();
    const forTokensMs = (context.cost / config.tokensPerSecond) * 1_000;
    clock.setTimeout(() => batcher.resume(), Math.ceil(Math.max(1_000 / config.callsPerSecond, forTokensMs)));
    return call(items, context);
  }, commonOptions(world));
  return [batcher];
};

export const limitedContenders = { limiter: withLimiter, retry: withRetry, gate: withGate } as const;

/** Serves the load to the last item and returns the figures. */
export async function measureLimited(
  contender: keyof typeof limitedContenders,
  settings: Partial<LimitedConfig> = {},
): Promise<Measurement> {
  const config: LimitedConfig = { ...limitedDefaults, ...settings };
  const clock = virtualClock();
  const provider = new LimitedProvider(clock, config);
  const batchers = limitedContenders[contender]({ clock, config, provider });
  const { latencies, offered } = await arrive(clock, config, batchers);
  await Promise.all(batchers.map((batcher) => batcher.close()));
  const { accepted, refused, tokensInTime } = provider;
  const seconds = config.durationMs / 1_000;
  return {
    calls: accepted + refused,
    refused,
    refusedShare: refused / (accepted + refused),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    // Divided by what could have been used while callers came: the rate for the whole time, and the
    // bucket that was full at first.
    tokensUsedShare: tokensInTime / (config.tokensPerSecond * (seconds + 1)),
    answeredShare: latencies.length / offered,
    meanBatch: latencies.length / accepted,
  };
}

interface Arrivals {
  readonly latencies: number[];
  readonly offered: number;
}

/**
 * Submits at the times of a schedule, to the batchers in turn, and waits until all calls have
 * ended.
 */
async function arrive(
  clock: VirtualClock,
  config: LimitedConfig,
  batchers: readonly TokenBatcher[],
): Promise<Arrivals> {
  const times = poissonArrivals(config.perSecond, config.durationMs, config.seed);
  const random = seededRandom(config.seed + 1);
  const latencies: number[] = [];
  const submit = (index: number): void => {
    const tokens = Math.round(config.meanTokens + (2 * random() - 1) * config.spreadTokens);
    const at = clock.now();
    const batcher = batchers[index % batchers.length] as TokenBatcher;
    batcher.submit(tokens).then(
      () => latencies.push(clock.now() - at),
      () => {},
    );
    if (index + 1 < times.length) clock.setTimeout(() => submit(index + 1), (times[index + 1] as number) - at);
  };
  clock.setTimeout(() => submit(0), times[0] as number);
  await clock.runAll(10_000_000);
  return { latencies, offered: times.length };
}

if (import.meta.main) {
  const settings = JSON.parse(process.argv[2] ?? "{}") as Partial<LimitedConfig>;
  for (const contender of ["limiter", "retry", "gate"] as const) {
    const measured = await measureLimited(contender, settings);
    process.stdout.write(`${JSON.stringify({ contender, ...measured })}\n`);
  }
}
