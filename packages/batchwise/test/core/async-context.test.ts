import { AsyncLocalStorage } from "node:async_hooks";
import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, gate, range, rig } from "../support.ts";

const storage = new AsyncLocalStorage<string>();
const here = (): string | undefined => storage.getStore();

describe("the async context", () => {
  test("of a handler is the one in which the batcher was made, whoever triggers the batch", async () => {
    const batcher = storage.run("construction", () =>
      createBatcher((items: number[]) => items.map(here), { maxBatchSize: 2 }),
    );
    const results = range(5).map((item) => storage.run(`caller ${item}`, () => batcher.submit(item)));
    expect(await Promise.all(results)).toEqual(range(5).map(() => "construction"));
    const flushed = storage.run("flusher", async () => {
      const result = batcher.submit(9);
      await batcher.flush();
      return result;
    });
    expect(await flushed).toBe("construction");
  });

  test("of every stage of a handler is that one too", async () => {
    const seen: (string | undefined)[] = [];
    const note = <Value>(value: Value): Value => {
      seen.push(here());
      return value;
    };
    const batcher = storage.run("construction", () =>
      createBatcher({
        open: () => note(undefined),
        prepare: async (items: number[]) => note(items),
        run: async (items: number[]) => note(items),
        finish: async (items: number[]) => note(items),
        close: () => note(undefined),
      }),
    );
    await storage.run("caller", () => batcher.submit(1));
    await storage.run("closer", () => batcher.close());
    expect(seen).toEqual(range(5).map(() => "construction"));
  });

  test("of a handler stays that one after an await, on a further attempt, and when a timer sends the batch", async () => {
    const seen: (string | undefined)[] = [];
    const of = rig<number>();
    const batcher = storage.run("construction", () =>
      createBatcher(
        async (items: number[]) => {
          seen.push(here());
          await null;
          seen.push(here());
          if (seen.length === 2) throw new Error("once");
          return items;
        },
        { clock: of.clock, maxWaitMs: 50, retry: { attempts: 2, backoffMs: 10 } },
      ),
    );
    const result = storage.run("caller", () => batcher.submit(1));
    await storage.run("clock", () => of.clock.advance(100));
    expect(await result).toBe(1);
    expect(seen).toEqual(range(4).map(() => "construction"));
  });

  test("of a caller goes on after the answer as it was before", async () => {
    const of = rig<number>();
    const callers = range(3).map((item) =>
      storage.run(`caller ${item}`, async () => {
        await of.batcher.submit(item);
        return here();
      }),
    );
    await echo(of);
    expect(await Promise.all(callers)).toEqual(["caller 0", "caller 1", "caller 2"]);
  });

  test("of a caller is that of the functions which look at his item", async () => {
    const seen: (string | undefined)[] = [];
    const note = <Value>(value: Value): Value => {
      seen.push(here());
      return value;
    };
    const batcher = storage.run("construction", () =>
      createBatcher(
        { prepareItem: (item: number) => note(item), run: (items: number[]) => items },
        { cost: () => note(1), key: () => note("k"), dedupe: (item) => note(String(item)), fairBy: () => note("t") },
      ),
    );
    await storage.run("caller", () => batcher.submit(1));
    expect(seen).toEqual(range(5).map(() => "caller"));
  });

  test("of each caller reaches the handler through `captureContext`", async () => {
    const batcher = createBatcher((items: number[], { requests }) => items.map((_, i) => requests[i]?.context), {
      captureContext: here,
    });
    const results = range(3).map((item) => storage.run(`caller ${item}`, () => batcher.submit(item)));
    expect(await Promise.all(results)).toEqual(["caller 0", "caller 1", "caller 2"]);
    expect(await storage.run("caller", () => batcher.submit(4, { context: "given" }))).toBe("given");
    expect(await storage.run("caller", () => batcher.submit(4, { context: undefined }))).toBe("caller");
    expect(await storage.run("caller", () => batcher.submit(4, { context: null }))).toBe(null);
  });

  test("of one caller does not leak into the batch of the next", async () => {
    const first = gate();
    const seen: (string | undefined)[] = [];
    const batcher = createBatcher(async (items: number[]) => {
      seen.push(here());
      await first.promise;
      return items;
    });
    const one = storage.run("one", () => batcher.submit(1));
    await new Promise(setImmediate);
    const two = storage.run("two", () => batcher.submit(2));
    storage.run("opener", () => first.open());
    expect([await one, await two]).toEqual([1, 2]);
    expect(seen).toEqual([undefined, undefined]);
  });
});
