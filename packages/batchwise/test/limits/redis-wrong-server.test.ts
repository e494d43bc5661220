// Answers that say that the server is the wrong one by now: the limiter leaves the connection,
// since the address may lead to its successor. Real servers: redis-limiter-failover.test.ts in
// integration/limits.

import { redisRateLimiter } from "batchwise/limits/redis";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";

test.each([
  ["READONLY You can't write against a read only replica.", 1],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 1],
  ["MOVED 3999 127.0.0.1:6381", 1],
  ["Too many Cluster redirections. Last error: ReplyError: MOVED 3999 127.0.0.1:6381", 1],
  ["OOM command not allowed when used memory > 'maxmemory'.", 0],
])("%s: the connection is left %i times", async (words, times) => {
  const left: unknown[] = [];
  const client = {
    call: () => Promise.reject(new Error(words)),
    disconnect: (reconnect?: boolean) => void left.push(reconnect),
  };
  const limiter = redisRateLimiter({ client, clock: virtualClock(), key: "k", callsPerMinute: 60, processes: 1 });
  await limiter.reserve({ retry: () => {} }, 1);
  expect(left).toEqual(Array.from({ length: times }, () => true));
});
