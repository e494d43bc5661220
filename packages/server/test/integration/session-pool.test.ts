import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { DEFAULT_ENCODER } from "../../src/models/encoder-model.ts";
import { cachedEncoder } from "../../src/models/model-cache.ts";
import { SessionPool, type SessionPoolOptions } from "../../src/models/session-pool.ts";
import { padTokens, splitRows } from "../../src/models/token-batch.ts";
import { temporaryFolder } from "../support/folders.ts";
import { maxDifference } from "../support/vectors.ts";

const CRASHING = new URL("../support/crashing-worker.ts", import.meta.url);
const CRASH = 666;
const EXIT = 667;
const REFUSE = 668;

const pools: SessionPool[] = [];

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

function poolOf(options: SessionPoolOptions): SessionPool {
  const pool = new SessionPool(options);
  pools.push(pool);
  return pool;
}

async function encoderPool(workers: number): Promise<SessionPool> {
  const { path } = await cachedEncoder(await temporaryFolder(), DEFAULT_ENCODER);
  const pool = poolOf({ modelPath: path, workers });
  await pool.open();
  return pool;
}

const crashingPool = (workers: number): SessionPool => poolOf({ modelPath: "none", workers, workerUrl: CRASHING });

async function firstOf(pool: SessionPool, token: number): Promise<number | undefined> {
  return (await pool.run(padTokens([[token]], 0))).data[0];
}

describe("model threads with a real model", () => {
  test("answer each of many runs with its own vectors, and the event loop goes on meanwhile", async () => {
    const pool = await encoderPool(2);
    const lists = Array.from({ length: 24 }, (_, index) =>
      Array.from({ length: 60 }, (_, place) => 3 + index * 60 + place),
    );
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 1);
    const alone = await Promise.all(lists.map((list) => pool.run(padTokens([list], 0))));
    clearInterval(timer);
    const together = splitRows(await pool.run(padTokens(lists, 0)));
    expect(ticks).toBeGreaterThan(2);
    for (const [index, block] of alone.entries()) {
      expect(maxDifference(block.data, together[index] ?? [])).toBeLessThan(1e-4);
    }
    expect(maxDifference(together[0] ?? [], together[1] ?? [])).toBeGreaterThan(1e-2);
  });

  test("pass on the model's own message when it fails, and go on", async () => {
    const pool = await encoderPool(1);
    await expect(pool.run(padTokens([[5, 99_999]], 0))).rejects.toMatchObject({
      code: "MODEL_FAILED",
      message: expect.stringMatching(/indices|bounds/i),
    });
    expect((await pool.run(padTokens([[5]], 0))).width).toBe(DEFAULT_ENCODER.hidden);
    expect(pool.restarts).toBe(0);
  });

  test("finish what was given to them before they end", async () => {
    const pool = await encoderPool(2);
    const lists = Array.from({ length: 16 }, () => Array.from({ length: 256 }, (_, place) => 3 + place));
    const running = Array.from({ length: 6 }, () => pool.run(padTokens(lists, 0)));
    const closed = pool.close();
    expect(pool.close()).toBe(closed);
    await expect(pool.run(padTokens([[5]], 0))).rejects.toMatchObject({ code: "MODEL_CLOSED" });
    expect((await Promise.all(running)).map((block) => block.rows)).toEqual([16, 16, 16, 16, 16, 16]);
    await closed;
    expect(pool.ready).toBe(false);
  });

  test("refuse a file that is no model, by its path", async () => {
    const path = join(await temporaryFolder(), "broken.onnx");
    await writeFile(path, "this is no model");
    const pool = poolOf({ modelPath: path, workers: 2 });
    await expect(pool.open()).rejects.toMatchObject({ code: "MODEL_LOAD", message: expect.stringContaining(path) });
    expect(pool.ready).toBe(false);
  });
});

describe("a model thread that dies", () => {
  test.each([
    ["throws", CRASH, /exit code 1: out of luck/],
    ["exits", EXIT, /exit code 7/],
  ])("because it %s rejects the run it had, and another takes its place", async (_, order, message) => {
    const pool = crashingPool(1);
    const lost = firstOf(pool, order);
    const next = firstOf(pool, 42);
    await expect(lost).rejects.toMatchObject({ code: "MODEL_THREAD_ENDED", message: expect.stringMatching(message) });
    expect(await next).toBe(42);
    expect(pool.restarts).toBe(1);
    await expect(firstOf(pool, order)).rejects.toThrow();
    expect(await firstOf(pool, 43)).toBe(43);
    expect(pool.restarts).toBe(2);
  });

  test("leaves the runs of other threads alone", async () => {
    const pool = crashingPool(3);
    await pool.open();
    const orders = Array.from({ length: 30 }, (_, index) => (index % 10 === 4 ? CRASH : index));
    const outcomes = await Promise.allSettled(orders.map((order) => firstOf(pool, order)));
    for (const [index, outcome] of outcomes.entries()) {
      if (orders[index] === CRASH) expect(outcome.status).toBe("rejected");
      else expect(outcome).toEqual({ status: "fulfilled", value: index });
    }
  });

  test("is not one that answers with a failure", async () => {
    const pool = crashingPool(1);
    await expect(firstOf(pool, REFUSE)).rejects.toMatchObject({ code: "MODEL_FAILED", message: "no such token" });
    expect(pool.restarts).toBe(0);
  });

  test("while the pool closes is not replaced", async () => {
    const pool = crashingPool(1);
    await pool.open();
    const lost = firstOf(pool, CRASH);
    await Promise.all([expect(lost).rejects.toThrow(), pool.close()]);
    expect(pool.ready).toBe(false);
  });
});
