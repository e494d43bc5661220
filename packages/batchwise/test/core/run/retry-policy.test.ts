import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RateLimiter } from "../../../src/core/contract/limiter.ts";
import type { RetryOptions } from "../../../src/core/contract/options.ts";
import { PreparedOptions } from "../../../src/core/contract/resolve-options.ts";
import { askedPause, backoffOf, isWorthRetrying } from "../../../src/core/run/retry-policy.ts";
import { servicesKit } from "../support/services.ts";

const failure = new Error("the handler's");

function throwing(): never {
  throw new Error("the user's");
}

/** The policy's decision, and the codes of its warnings. */
async function worth(retry: RetryOptions, attempt: number): Promise<[boolean, string[]]> {
  const { services, warnings } = servicesKit();
  const { options } = PreparedOptions.of({ retry });
  const isWorth = isWorthRetrying(options.retry, attempt, failure, services.events);
  await null;
  return [isWorth, warnings.map(({ code }) => code)];
}

describe("a batch that failed", () => {
  test("is called again while there are attempts left and `when` says so", async () => {
    const answers = fc.constantFrom<unknown>(true, false, 1, 0, "", "yes", undefined);
    const attempts = fc.integer({ min: 1, max: 5 });
    await fc.assert(
      fc.asyncProperty(attempts, fc.integer({ min: 1, max: 6 }), answers, async (most, attempt, answer) => {
        const asked: unknown[] = [];
        const when = (error: unknown): boolean => {
          asked.push(error);
          return answer as boolean;
        };
        const isLeft = attempt < most;
        expect(await worth({ attempts: most, when }, attempt)).toEqual([isLeft && Boolean(answer), []]);
        expect(asked).toEqual(isLeft ? [failure] : []);
        expect(await worth({ attempts: most }, attempt)).toEqual([isLeft, []]);
      }),
    );
  });

  test.each([
    ["throws", throwing],
    ["is async", async () => true],
    ["rejects", () => Promise.reject(failure)],
  ])("is not called again where `when` %s, with a warning", async (_how, when) => {
    expect(await worth({ attempts: 3, when: when as never }, 1)).toEqual([false, ["RETRY_FAILED"]]);
  });

  test("is never called again without `retry`", () => {
    expect(isWorthRetrying(undefined, 1, failure, servicesKit().services.events)).toBe(false);
  });
});

describe("the backoff", () => {
  test.each([
    ["a number", 25, 25, 0],
    [
      "a function of the attempt and the error",
      (attempt: number, error: unknown) => (error === failure ? attempt * 10 : 1),
      20,
      0,
    ],
    ["one that returns nothing", () => 0, 0, 0],
    ["one that throws", throwing, 0, 1],
    ["one that returns NaN", () => Number.NaN, 0, 1],
    ["one that returns Infinity", () => Number.POSITIVE_INFINITY, 0, 1],
    ["one that returns less than nothing", () => -1, 0, 1],
    ["one that returns text", () => "5" as never, 0, 1],
    ["one that rejects", () => Promise.reject(failure) as never, 0, 1],
  ])("by %s is %o ms, with %d warnings", async (_how, backoffMs, pauseMs, count) => {
    const { services, warnings } = servicesKit();
    expect(backoffOf(backoffMs, 2, failure, services)).toBe(pauseMs);
    await null;
    expect(warnings).toHaveLength(count);
  });
});

describe("the pause in a provider's answer", () => {
  function limiterThat(hold: (forMs: number) => unknown): RateLimiter {
    return {
      reserve: () => ({ granted: false }),
      giveBack: () => {},
      withdraw: () => {},
      hold: hold as RateLimiter["hold"],
    };
  }

  test("holds all batchers that share the limiter", () => {
    const held: number[] = [];
    const { services } = servicesKit({ limiter: limiterThat((forMs) => held.push(forMs)) });
    expect(askedPause({ headers: { "retry-after": "2" } }, services)).toBe(2_000);
    expect(askedPause(failure, services)).toBe(0);
    expect(held).toEqual([2_000]);
  });

  test("is kept without a limiter, too", () => {
    expect(askedPause({ retryAfterMs: 30 }, servicesKit().services)).toBe(30);
  });

  test.each([
    ["throws", throwing],
    ["rejects", () => Promise.reject(failure)],
  ])("is kept where `limiter.hold` %s, with a warning", async (_how, hold) => {
    const { services, warnings, clock } = servicesKit({ limiter: limiterThat(hold) });
    expect(askedPause({ retryAfterMs: 30 }, services)).toBe(30);
    await clock.settle();
    expect(warnings.map(({ code }) => code)).toEqual(["LIMITER_FAILED"]);
  });
});
