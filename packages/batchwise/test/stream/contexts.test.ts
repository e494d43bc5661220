import { AsyncLocalStorage } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { batchStream } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

const child = fileURLToPath(new URL("./contexts-child.ts", import.meta.url));
const storage = new AsyncLocalStorage<string>();
const task = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the async context in which the stream function was made", () => {
  test("is that of the call, of every round, of the iterator's end and of the clean-up, for any reader", async () => {
    const seen: string[] = [];
    const note = (what: string): void => {
      seen.push(`${what} in ${storage.getStore()}`);
    };
    const stream = storage.run("maker", () =>
      batchStream<string, number>(
        (items) => {
          note("call");
          let round = 0;
          return {
            [Symbol.asyncIterator]: () => ({
              next: async () => {
                note("next");
                await null;
                round += 1;
                return { done: false, value: items.map(() => round) };
              },
              return: async () => {
                note("return");
                return { done: true, value: undefined };
              },
            }),
          };
        },
        { maxBufferedChunks: 1 },
      ),
    );
    const [a, b] = [storage.run("a", () => stream("a")), storage.run("b", () => stream("b"))];
    await task();
    for (let reads = 0; reads < 6; reads += 1) {
      await storage.run("a", () => a.next());
      await storage.run("b", () => b.next());
      await task();
    }
    await storage.run("a", () => a.return?.());
    await storage.run("b", () => b.return?.());
    await task();
    expect(seen.filter((entry) => entry.startsWith("next")).length).toBeGreaterThan(6);
    expect(seen.at(-1)).toBe("return in maker");
    expect(new Set(seen)).toEqual(new Set(["call in maker", "next in maker", "return in maker"]));
  });

  test("is that of the warning of a blocked batch, with a clock that another context moves", async () => {
    const clock = virtualClock();
    const stream = storage.run("maker", () =>
      batchStream(
        function* (items: string[]) {
          for (;;) yield items;
        },
        { clock, maxBufferedChunks: 1 },
      ),
    );
    const seen: unknown[] = [];
    stream.on("warning", () => seen.push(storage.getStore()));
    await storage.run("caller", async () => {
      const a = stream("a");
      await clock.advance(1000);
      await a.return?.();
    });
    expect(seen).toEqual(["maker"]);
  });

  test("is that of a warning which was kept for the first listener", async () => {
    const clock = virtualClock();
    const stream = storage.run("maker", () =>
      batchStream(
        function* (items: string[]) {
          for (;;) yield items;
        },
        { clock, maxBufferedChunks: 1 },
      ),
    );
    const a = stream("a");
    await clock.advance(1000);
    const seen: unknown[] = [];
    storage.run("registrar", () => stream.on("warning", ({ code }) => seen.push([code, storage.getStore()])));
    expect(seen).toEqual([["STREAM_BLOCKED", "maker"]]);
    await a.return?.();
  });
});

describe("a caller's AsyncLocalStorage store", () => {
  const run = (...flags: string[]): Record<string, unknown> => {
    const { stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", child, ...flags], {
      encoding: "utf8",
      timeout: 30_000,
    });
    if (stderr !== "") throw new Error(stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  test("is not reachable when its stream has ended, however it did, though the batch continues; nor are its chunks", () => {
    const { chunksMade, ...report } = run();
    expect(chunksMade).toBeGreaterThan(30);
    expect(report).toEqual({ running: 1, chunksKept: 0, whileOthersGoOn: [], afterTheBatch: [] });
  });

  test("of the caller that started the batch is not reachable either, though the batch continues", () => {
    expect(run("--caller-first")).toMatchObject({ running: 1, chunksKept: 0, whileOthersGoOn: [], afterTheBatch: [] });
  });
});
