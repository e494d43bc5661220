// The requests of an unused limiter in Redis, and the calls that return the same limiter.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { LimiterClient } from "batchwise";
import { redisRateLimiter } from "batchwise/limits/redis";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/**
 * A client of a Redis that grants everything and sees three processes. `asked`: its requests in
 * order.
 */
function grantingClient() {
  const asked: string[] = [];
  const redis = { isGone: false };
  const client = {
    call: async (_command: string, ...args: (string | number)[]): Promise<unknown> => {
      // The script's name, how many keys there are, four keys.
      asked.push(String(args[6]));
      if (redis.isGone) throw new Error("gone");
      return [1, "1", 3, "0"];
    },
  };
  return { asked, client, redis };
}

const user: LimiterClient = { retry: () => {} };
const rates = { key: "k", callsPerMinute: 60_000 };

test("a limiter looks every half second for ten seconds after its last use, and has no timer then", async () => {
  const clock = virtualClock();
  const { asked, client } = grantingClient();
  const limiter = redisRateLimiter({ client, clock, ...rates });
  expect(await limiter.reserve(user, 1)).toEqual({ granted: true, cost: 1 });
  await clock.advance(5_250);
  expect(asked).toEqual(["ask", ...Array.from({ length: 10 }, () => "look")]);
  await limiter.reserve(user, 1);
  asked.length = 0;
  await clock.advance(60_000);
  expect(asked).toEqual(Array.from({ length: 20 }, () => "look"));
  expect(clock.timers).toBe(0);
});

test("a limiter whose client was closed looks twice more, reports nothing and has no timer then", async () => {
  const clock = virtualClock();
  const { asked, client, redis } = grantingClient();
  const states: string[] = [];
  const limiter = redisRateLimiter({ client, clock, ...rates, onState: (state) => states.push(state) });
  await limiter.reserve(user, 1);
  redis.isGone = true;
  await clock.advance(750);
  redis.isGone = false;
  await clock.advance(500);
  expect(asked).toEqual(["ask", "look", "look"]);
  redis.isGone = true;
  await clock.advance(60_000);
  expect(asked).toEqual(["ask", "look", "look", "look", "look"]);
  expect(states).toEqual([]);
  expect(clock.timers).toBe(0);
});

test.each([
  [
    "throws",
    () => {
      throw new Error("Odd.");
    },
  ],
  ["rejects", () => Promise.reject(new Error("Odd."))],
])("an `onState` that %s is called, and the limiter continues", async (_how, fail) => {
  const clock = virtualClock();
  const { client, redis } = grantingClient();
  const states: string[] = [];
  const onState = (state: string): unknown => {
    states.push(state);
    return fail();
  };
  const limiter = redisRateLimiter({ client, clock, ...rates, processes: 3, onState: onState as () => void });
  redis.isGone = true;
  await limiter.reserve(user, 1);
  redis.isGone = false;
  await clock.advance(2_000);
  expect(states).toEqual(["shares", "redis"]);
  expect(await limiter.reserve(user, 1)).toEqual({ granted: true, cost: 1 });
});

test.each([
  [undefined, 3],
  [2, 3],
  [6, 6],
])(
  "a process that loses Redis, with `processes: %s`, after Redis has reported three, divides by %i",
  async (given, by) => {
    const clock = virtualClock();
    const { client, redis } = grantingClient();
    const limiter = redisRateLimiter({ client, clock, ...rates, processes: given });
    await limiter.reserve(user, 1);
    await clock.advance(60_000);
    redis.isGone = true;
    let granted = 0;
    const taker: LimiterClient = {
      retry: async () => {
        for (let answer = await limiter.reserve(taker, 1); answer.granted; answer = await limiter.reserve(taker, 1)) {
          granted += 1;
        }
      },
    };
    taker.retry();
    await clock.advance(60_000);
    expect(granted).toBeGreaterThan((60_000 / by) * 0.99);
    expect(granted).toBeLessThanOrEqual(60_000 / by);
  },
);

test("calls with the same client, clock and options return the same limiter; others do not", () => {
  const clock = virtualClock();
  const { client } = grantingClient();
  const options = { client, clock, ...rates, processes: 2 };
  const limiter = redisRateLimiter(options);
  expect(redisRateLimiter({ ...options, onState: () => {} })).toBe(limiter);
  for (const other of [
    { client: grantingClient().client },
    { clock: virtualClock() },
    { key: "another" },
    { callsPerMinute: 1 },
    { costPerMinute: 1 },
    { burstMs: 1 },
    { processes: 1 },
    { timeoutMs: 1 },
  ]) {
    expect(redisRateLimiter({ ...options, ...other })).not.toBe(limiter);
  }
});

test("a client keeps no limiter alive", async () => {
  const { client } = grantingClient();
  const make = (index: number) => new WeakRef(redisRateLimiter({ client, ...rates, key: `tenant ${index}` }));
  const made = Array.from({ length: 100 }, (_, index) => make(index));
  // An object that a WeakRef has returned in a task lives until the task's end.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(made.filter((limiter) => limiter.deref() !== undefined)).toHaveLength(0);
  expect(client).toBeDefined();
});
