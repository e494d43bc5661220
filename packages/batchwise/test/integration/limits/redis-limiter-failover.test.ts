// A failover behind one address: the server that a client is connected to becomes a replica, and
// keeps the connection.

import { redisRateLimiter } from "batchwise/limits/redis";
import { expect, test } from "vitest";
import { startRedisPair } from "../services/redis-pair.ts";
import { ioredis, pause, Taker } from "./kit.ts";

test("a process whose server has become a replica keeps its share, and continues at the new primary", async () => {
  const { proxy, secondPort, failOver } = await startRedisPair();
  const states: unknown[] = [];
  const client = await ioredis(proxy.port);
  const onState = (state: string, error: unknown): void => void states.push(error ?? state);
  const options = { client, key: "failover", costPerMinute: 60_000, burstMs: 200, processes: 2, onState };
  const taker = new Taker(redisRateLimiter(options), 5);
  taker.retry();
  await pause(500);
  expect(taker.granted).toBeGreaterThan(0);
  expect(states).toEqual([]);

  await failOver();
  // The server answers no write while it changes, and refuses them then.
  await expect.poll(() => states).toEqual([expect.any(Error)]);
  const before = taker.granted;
  await pause(1_000);
  expect(taker.granted - before).toBeGreaterThan(250);
  expect(taker.granted - before).toBeLessThan(750);
  expect(states).toHaveLength(1);

  proxy.lead(secondPort);
  await expect.poll(() => states, { timeout: 5_000 }).toEqual([expect.anything(), "redis"]);
  taker.stop();
}, 60_000);
