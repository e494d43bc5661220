import { type LimiterClient, type RateLimiter, rateLimiter } from "batchwise";
import { describe, expect, test } from "vitest";
import { range } from "../support.ts";
import { ask, granted, type StepClock, stepClock } from "./kit.ts";

const CALLS_PER_SECOND = 2;
const TOKENS_PER_SECOND = 20_000;
const SECONDS = 60;

/**
 * A provider that counts by itself: at most so much as has flowed in since the first moment, and
 * one second's worth.
 */
class Provider {
  readonly #clock: StepClock;
  #calls = CALLS_PER_SECOND;
  #tokens = TOKENS_PER_SECOND;
  #readAt = 0;
  accepted = 0;
  refused = 0;
  readonly #taken: { readonly at: number; readonly tokens: number }[] = [];

  constructor(clock: StepClock) {
    this.#clock = clock;
  }

  call(tokens: number): void {
    const seconds = (this.#clock.now() - this.#readAt) / 1_000;
    this.#readAt = this.#clock.now();
    this.#calls = Math.min(CALLS_PER_SECOND, this.#calls + seconds * CALLS_PER_SECOND);
    this.#tokens = Math.min(TOKENS_PER_SECOND, this.#tokens + seconds * TOKENS_PER_SECOND);
    if (this.#calls < 1 - 1e-6 || this.#tokens < tokens - 1e-3) {
      this.refused += 1;
      return;
    }
    this.#calls -= 1;
    this.#tokens -= tokens;
    this.accepted += 1;
    this.#taken.push({ at: this.#clock.now(), tokens });
  }

  /** Tokens a second, from this second on. */
  tokensPerSecondFrom(second: number): number {
    const taken = this.#taken.filter(({ at }) => at >= second * 1_000);
    return taken.reduce((sum, { tokens }) => sum + tokens, 0) / (this.#clock.now() / 1_000 - second);
  }
}

/** The smallest possible batcher: waiting items go as one batch, cut to the limiter's grant. */
class TinyBatcher implements LimiterClient {
  readonly #clock: StepClock;
  readonly #limiter: RateLimiter;
  readonly #provider: Provider;
  readonly #queue: { readonly tokens: number; readonly at: number }[] = [];
  readonly waits: number[] = [];

  constructor(clock: StepClock, limiter: RateLimiter, provider: Provider) {
    this.#clock = clock;
    this.#limiter = limiter;
    this.#provider = provider;
  }

  submit(tokens: number): void {
    this.#queue.push({ tokens, at: this.#clock.now() });
    if (this.#queue.length === 1) this.retry();
  }

  retry(): void {
    while (this.#queue.length > 0) {
      const wanted = this.#queue.reduce((sum, { tokens }) => sum + tokens, 0);
      const cost = granted(ask(this.#limiter, this, wanted));
      if (cost === undefined) return;
      let used = 0;
      while (this.#queue.length > 0 && used + (this.#queue[0]?.tokens ?? 0) <= cost + 1e-6) {
        const item = this.#queue.shift();
        used += item?.tokens ?? 0;
        this.waits.push(this.#clock.now() - (item?.at ?? 0));
      }
      this.#limiter.giveBack(0, cost - used);
      this.#provider.call(used);
    }
  }
}

interface Minute {
  readonly provider: Provider;
  readonly waits: readonly number[];
}

/** A minute of submits at even distances, of 200 to 400 tokens, to `count` batchers in turn. */
function serve(count: number, perSecond: number, instead?: RateLimiter): Minute {
  const clock = stepClock();
  const provider = new Provider(clock);
  const limits = { callsPerMinute: CALLS_PER_SECOND * 60, costPerMinute: TOKENS_PER_SECOND * 60, clock };
  const limiter = instead ?? rateLimiter(limits);
  const batchers = range(count).map(() => new TinyBatcher(clock, limiter, provider));
  for (const index of range(perSecond * SECONDS)) {
    batchers[index % count]?.submit(200 + ((index * 7_919) % 201));
    clock.advance(1_000 / perSecond);
  }
  return { provider, waits: batchers.flatMap(({ waits }) => waits) };
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

describe("a provider of 2 calls and 20,000 tokens a second", () => {
  test("refuses nothing, and answers half of 60 submits a second within half a second", () => {
    const { provider, waits } = serve(1, 60);
    expect(provider.refused).toBe(0);
    expect(provider.accepted).toBeGreaterThanOrEqual(119);
    expect(median(waits)).toBeLessThanOrEqual(260);
    expect(Math.max(...waits)).toBeLessThanOrEqual(600);
  });

  test("is used to at least 97 % when tokens are short", () => {
    const { provider } = serve(1, 90);
    expect(provider.refused).toBe(0);
    expect(provider.tokensPerSecondFrom(0)).toBeGreaterThanOrEqual(0.97 * TOKENS_PER_SECOND);
  });

  test.each([
    [60, 18_000],
    [90, 20_000],
  ])("refuses nothing of 16 batchers that share the limiter, at %d submits a second", (perSecond, tokensPerSecond) => {
    const { provider } = serve(16, perSecond);
    expect(provider.refused).toBe(0);
    // Each batcher has its turn every 8 s; until all have had some, their batches are small.
    expect(provider.tokensPerSecondFrom(20)).toBeGreaterThanOrEqual(0.97 * tokensPerSecond);
  });

  test("refuses much of the same load without a limiter", () => {
    const open: RateLimiter = {
      reserve: (_client, cost) => ({ granted: true, cost }),
      giveBack: () => {},
      withdraw: () => {},
      hold: () => {},
    };
    expect(serve(1, 60, open).provider.refused).toBeGreaterThan(1_000);
  });
});
