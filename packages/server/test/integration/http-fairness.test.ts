import { describe, expect, test } from "vitest";
import type { Service } from "../../src/http/service.ts";
import { startSmall, until } from "../support/services.ts";

interface Caller {
  readonly key: string;
  readonly user?: string;
}

/**
 * One caller sends 24 requests, then another sends two. Gives after how many answers the second has
 * both of its own.
 */
async function answersBefore(first: Caller, second: Caller): Promise<number> {
  const service = await startSmall({ maxBatchSize: 1 });
  const { batcher } = service.embedder;
  // Until all of them wait, on any machine.
  batcher.pause();
  let answered = 0;
  const ask = async ({ key, user }: Caller): Promise<number> => {
    const { status } = await request(service, key, user);
    expect(status).toBe(200);
    answered += 1;
    return answered;
  };
  const crowd = Array.from({ length: 24 }, () => ask(first));
  await until(() => batcher.stats().submitted >= 24);
  const later = [ask(second), ask(second)];
  await until(() => batcher.stats().submitted >= 26);
  batcher.resume();
  const places = await Promise.all(later);
  await Promise.all(crowd);
  return Math.max(...places);
}

function request(service: Service, key: string, user: string | undefined): Promise<Response> {
  return fetch(`${service.url}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "batchwise-demo", input: "grey rain", user }),
  });
}

describe("callers that share the model", () => {
  test.each([
    ["two API keys", { key: "a" }, { key: "b" }],
    ["two users of one key", { key: "a", user: "ann" }, { key: "a", user: "ben" }],
    ["users of the same name with two keys", { key: "a", user: "ann" }, { key: "b", user: "ann" }],
  ])("do not wait for all of each other's texts: %s", async (_, first, second) => {
    expect(await answersBefore(first, second)).toBeLessThan(20);
  });

  test("are served in the order of their requests when they are one", async () => {
    expect(await answersBefore({ key: "a", user: "ann" }, { key: "a", user: "ann" })).toBeGreaterThanOrEqual(22);
  });
});
