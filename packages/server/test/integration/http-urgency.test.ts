import { describe, expect, test } from "vitest";
import type { Service } from "../../src/http/service.ts";
import { embed, type Failure, startSmall, until } from "../support/services.ts";

const TEXT = "grey rain";

/** A service that runs one text at a time, and none until its batcher is resumed. */
async function startPaused(options: { readonly timeoutMs?: number } = {}): Promise<Service> {
  const service = await startSmall({ maxBatchSize: 1, ...options });
  service.embedder.batcher.pause();
  return service;
}

/**
 * Sends requests until `count` texts wait, and gives their answers in the order in which they came
 * back.
 */
async function crowd(service: Service, count: number, headers: Record<string, string> = {}): Promise<Race> {
  const finished: string[] = [];
  const race: Race = {
    finished,
    async enter(name, ownHeaders) {
      const { status } = await embed(service, TEXT, ownHeaders);
      expect({ name, status }).toEqual({ name, status: 200 });
      finished.push(name);
    },
    all: [],
  };
  race.all.push(...Array.from({ length: count }, () => race.enter("crowd", headers)));
  await until(() => service.embedder.batcher.stats().submitted >= count);
  return race;
}

interface Race {
  readonly finished: readonly string[];
  readonly all: Promise<void>[];
  enter(name: string, headers: Record<string, string>): Promise<void>;
}

describe("the header x-priority", () => {
  test("takes a request past those that wait, or behind them", async () => {
    const service = await startPaused();
    const race = await crowd(service, 30);
    race.all.push(race.enter("patient", { "x-priority": "-10" }));
    await until(() => service.embedder.batcher.stats().submitted >= 31);
    race.all.push(...Array.from({ length: 4 }, () => race.enter("crowd", {})));
    race.all.push(race.enter("urgent", { "x-priority": "5" }));
    await until(() => service.embedder.batcher.stats().submitted >= 36);
    service.embedder.batcher.resume();
    await Promise.all(race.all);
    expect(race.finished.indexOf("urgent")).toBeLessThan(5);
    expect(race.finished.indexOf("patient")).toBeGreaterThanOrEqual(31);
  });

  test.each(["high", "1.5", "11", "-11", "1e1", "1, 2"])("is refused when it is %j", async (value) => {
    const refused = await embed(await startSmall(), "text", { "x-priority": value });
    expect(refused.status).toBe(400);
    const { error } = (await refused.json()) as Failure;
    expect(error).toMatchObject({ param: "x-priority", code: "invalid_value" });
    expect(error.message).toContain(`from -10 to 10, got "${value}"`);
  });
});

describe("the header x-timeout-ms", () => {
  test("is the request's own deadline", async () => {
    const service = await startPaused();
    const race = await crowd(service, 20);
    const late = await embed(service, TEXT, { "x-timeout-ms": "20" });
    expect(late.status).toBe(504);
    expect(((await late.json()) as Failure).error.code).toBe("deadline_exceeded");
    expect((await embed(service, [TEXT, TEXT], { "x-timeout-ms": "20" })).status).toBe(504);
    service.embedder.batcher.resume();
    expect((await embed(service, TEXT, { "x-timeout-ms": "60000" })).status).toBe(200);
    await Promise.all(race.all);
  });

  test("does not reach past the server's", async () => {
    const service = await startPaused({ timeoutMs: 20 });
    const calls = Array.from({ length: 8 }, () => embed(service, TEXT, { "x-timeout-ms": "60000" }));
    expect((await Promise.all(calls)).at(-1)?.status).toBe(504);
  });

  test.each(["soon", "0", "-5", "1.5", "86400001"])("is refused when it is %j", async (value) => {
    const refused = await embed(await startSmall(), "text", { "x-timeout-ms": value });
    expect(refused.status).toBe(400);
    const { error } = (await refused.json()) as Failure;
    expect(error).toMatchObject({ param: "x-timeout-ms", code: "invalid_value" });
    expect(error.message).toContain(`from 1 to 86400000, got "${value}"`);
  });
});
