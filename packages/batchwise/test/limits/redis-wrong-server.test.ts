// Answers that say that the server is the wrong one by now: limiter and store leave the connection,
// since the address may lead to its successor. For all other answers they leave it alone: other
// code may use it. Real servers: redis-limiter-failover.test.ts in integration/limits.

import { runInNewContext } from "node:vm";
import { redisStore } from "batchwise/dispatch/redis";
import type { RedisClient } from "batchwise/limits/redis";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { resolveRedisOptions } from "../../src/limits/redis/options.ts";
import { Server } from "../../src/limits/redis/server.ts";

const IN_VAIN = "Too many Cluster redirections. Last error:";
const MOVED = "MOVED 3999 127.0.0.1:6381";
const READONLY = "READONLY You can't write against a read only replica.";

/** As of a client that was made in another vm context. */
const Foreign: ErrorConstructor = runInNewContext("class ReplyError extends Error { name = 'ReplyError' }; ReplyError");

/** A client that answers with these in turn; a text is an error's. */
function clientOf(answers: readonly unknown[], Kind: ErrorConstructor = Error) {
  const left: unknown[] = [];
  const rest = [...answers];
  const commands: string[] = [];
  return {
    left,
    commands,
    call: async (command: string) => {
      commands.push(command);
      const answer = rest.shift();
      if (typeof answer === "string") throw new Kind(answer);
      return answer;
    },
    disconnect: (reconnect?: boolean) => void left.push(reconnect),
  };
}

/** Calls that end whether they succeed or not. */
const CALLS = {
  limiter: (client: RedisClient) => {
    const server = new Server(resolveRedisOptions({ client, clock: virtualClock(), key: "k", callsPerMinute: 60 }));
    return () => server.look(true);
  },
  store: (client: RedisClient) => {
    const store = redisStore({ client });
    return () => store.probe(1, 0);
  },
};

describe.each(Object.entries(CALLS))("the client of a %s", (_name, callsOf) => {
  async function leftBy(answers: readonly unknown[]): Promise<unknown[]> {
    const client = clientOf(answers);
    const call = callsOf(client);
    for (const _ of answers) await call().catch(() => {});
    return client.left;
  }

  test("and whose errors are of another realm is left, and gets the text of a script", async () => {
    const client = clientOf([READONLY, "NOSCRIPT No matching script."], Foreign);
    const call = callsOf(client);
    for (const _ of [1, 2]) await call().catch(() => {});
    expect(client.left).toEqual([true]);
    expect(client.commands.slice(0, 3)).toEqual(["EVALSHA", "EVALSHA", "EVAL"]);
  });

  test.each([
    [READONLY, 2],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 2],
    [MOVED, 1],
    [`${IN_VAIN} ReplyError: ${MOVED}`, 1],
    [`${IN_VAIN} ReplyError: CLUSTERDOWN The cluster is down`, 0],
    [`${IN_VAIN} ReplyError: TRYAGAIN Multiple keys request during rehashing of slot`, 0],
    [`${IN_VAIN} Error: Connection is closed.`, 0],
    ["OOM command not allowed when used memory > 'maxmemory'.", 0],
  ])("that meets %s twice is left %i times", async (words, times) => {
    expect(await leftBy([words, words])).toEqual(Array.from({ length: times }, () => true));
  });

  test("is left again where keys move after a call that succeeded", async () => {
    expect(await leftBy([MOVED, MOVED, [1, 1, 1, 0, 0], MOVED])).toEqual([true, true]);
  });
});
