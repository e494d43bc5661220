import { createBatcher, rateLimiter } from "batchwise";
import { describe, expect, test } from "vitest";
import { thrownBy } from "../support.ts";

function refusalOf(options: unknown): Error & { code: string } {
  return thrownBy(() => rateLimiter(options as never)) as Error & { code: string };
}

describe("`rateLimiter`", () => {
  test.each([
    [{}, TypeError, "Expected `callsPerMinute` to be a number > 0 when `costPerMinute` is not set, got `undefined`"],
    [undefined, TypeError, "when `costPerMinute` is not set"],
    [{ burstMs: 5 }, TypeError, "when `costPerMinute` is not set"],
    [null, TypeError, "Expected `options` to be an object"],
    [60, TypeError, "Expected `options` to be an object"],
    [{ callsPerMinute: 0 }, RangeError, "Expected `callsPerMinute` to be a number > 0, got `0` (number)"],
    [{ callsPerMinute: Number.NaN }, RangeError, "callsPerMinute"],
    [{ callsPerMinute: "60" }, TypeError, "callsPerMinute"],
    [{ costPerMinute: -1 }, RangeError, "costPerMinute"],
    [{ callsPerMinute: 60, costPerMinute: null }, TypeError, "costPerMinute"],
    [{ callsPerMinute: 60, burstMs: 0 }, RangeError, "Expected `burstMs` to be a finite number > 0, got `0` (number)"],
    [{ callsPerMinute: 60, burstMs: Number.POSITIVE_INFINITY }, RangeError, "burstMs"],
    [
      { callsPerMinute: 60, clock: {} },
      TypeError,
      "Expected `clock` to be an object with now, setTimeout, clearTimeout",
    ],
    [{ callsPerMinut: 60 }, TypeError, "Unknown option `callsPerMinut`, did you mean `callsPerMinute`?"],
    [
      { tokensPerMinute: 60 },
      TypeError,
      "Unknown option `tokensPerMinute`: tokens are a batch's cost; use `costPerMinute`",
    ],
    [{ rpm: 60 }, TypeError, "use `callsPerMinute`"],
  ])("refuses %o", (options, Kind, message) => {
    const refusal = refusalOf(options);
    expect(refusal).toBeInstanceOf(Kind);
    expect(refusal.code).toBe("INVALID_OPTION");
    expect(refusal.message).toContain(message);
  });

  test("takes either rate by itself, and undefined for an option that is not given", () => {
    expect(() => rateLimiter({ callsPerMinute: 60, costPerMinute: undefined })).not.toThrow();
    expect(() => rateLimiter({ costPerMinute: 0.5, burstMs: undefined, clock: undefined })).not.toThrow();
  });

  test("runs on the platform's clock unless it is given one", () => {
    const limiter = rateLimiter({ callsPerMinute: 60 });
    expect(limiter.reserve({ retry: () => {} }, 1)).toEqual({ granted: true, cost: 1 });
  });
});

describe("the option `limiter`", () => {
  const echo = (items: number[]): number[] => items;

  test("is in the options in force as it was given", () => {
    const limiter = rateLimiter({ callsPerMinute: 60 });
    expect(createBatcher(echo, { limiter }).options.limiter).toBe(limiter);
    expect(createBatcher(echo).options.limiter).toBeUndefined();
  });

  test("takes any object that has the methods of a RateLimiter", () => {
    const limiter = {
      reserve: (_client: unknown, cost: number) => ({ granted: true, cost }) as const,
      giveBack: () => {},
      withdraw: () => {},
      hold: () => {},
    };
    expect(createBatcher(echo, { limiter }).options.limiter).toBe(limiter);
    const refusal = thrownBy(() => createBatcher(echo, { limiter: { ...limiter, hold: 5 } as never })) as Error;
    expect(refusal.message).toContain("Expected `limiter` to be an object with reserve, giveBack, withdraw, hold");
  });

  test("is refused with `prefetch`, which closes batches before the limiter is called", () => {
    const limiter = rateLimiter({ callsPerMinute: 60 });
    const refusal = thrownBy(() => createBatcher(echo, { limiter, prefetch: 1 }));
    expect(refusal).toMatchObject({ code: "INVALID_OPTION", name: "RangeError" });
    expect((refusal as Error).message).toBe(
      "Expected `prefetch` to be 0 when `limiter` or `targetLatencyMs` is set, got `1` (number)",
    );
    expect(createBatcher(echo, { limiter, prefetch: 0 }).options.prefetch).toBe(0);
  });
});
