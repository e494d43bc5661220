import { redisRateLimiter } from "batchwise/limits/redis";
import { expect, test } from "vitest";
import { thrownBy } from "../support.ts";

const client = { call: () => new Promise<unknown>(() => {}) };
const good = { client, key: "k", callsPerMinute: 60 };

test.each([
  [{ ...good, client: undefined }, TypeError, "Expected `client` to be a client of ioredis"],
  [{ ...good, client: {} }, TypeError, "Expected `client` to be a client of ioredis"],
  [{ ...good, client: { sendCommand: (_a: 1, _b: 2, _c: 3) => null } }, TypeError, "Expected `client`"],
  [{ ...good, key: undefined }, TypeError, "Expected `key` to be a text without braces, got `undefined`"],
  [{ ...good, key: "a{b}" }, RangeError, "Expected `key` to be a text without braces"],
  [{ ...good, key: "" }, RangeError, "Expected `key`"],
  [{ client, key: "k" }, TypeError, "Expected `callsPerMinute` to be a number > 0 when `costPerMinute` is not set"],
  [{ ...good, callsPerMinute: 0 }, RangeError, "Expected `callsPerMinute` to be a number > 0"],
  [{ ...good, processes: 0 }, RangeError, "Expected `processes` to be an integer >= 1"],
  [{ ...good, timeoutMs: 501 }, RangeError, "Expected `timeoutMs` to be a number from 1 to 500"],
  [{ ...good, onState: 1 }, TypeError, "Expected `onState` to be a function"],
  [{ ...good, prefix: "k" }, TypeError, "Unknown option `prefix`"],
  [{ ...good, tpm: 1 }, TypeError, "Unknown option `tpm`: tokens are a batch's cost; use `costPerMinute`"],
  [null, TypeError, "Expected `options` to be an object"],
])("`redisRateLimiter` refuses %o", (options, Kind, message) => {
  const refusal = thrownBy(() => redisRateLimiter(options as never)) as Error & { code: string };
  expect(refusal).toBeInstanceOf(Kind);
  expect(refusal.code).toBe("INVALID_OPTION");
  expect(refusal.message).toContain(message);
});

test("a limiter without requests has no timer and calls nothing", () => {
  const limiter = redisRateLimiter({ ...good, client: { call: () => Promise.reject(new Error("called")) } });
  limiter.withdraw({ retry: () => {} });
  limiter.giveBack(0, 0);
  expect(limiter).toBeDefined();
});
