// A handler that submits to its own batcher. If it awaits that and no slot is free, nothing
// continues: the batcher warns.

import { type Batcher, createBatcher, type WarningEvent } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { gate, range, rig } from "../support.ts";

type Handler = (items: number[], self: () => Batcher<number, number>) => Promise<number[]>;

/** A batcher on a virtual clock whose handler uses it, and its warnings. */
function selfish(handler: Handler, options: object = {}) {
  const clock = virtualClock();
  const batcher: Batcher<number, number> = createBatcher((items: number[]) => handler(items, () => batcher), {
    clock,
    ...options,
  });
  const codes: string[] = [];
  const warnings: WarningEvent[] = [];
  batcher.on("warning", (warning) => {
    codes.push(warning.code);
    warnings.push(warning);
  });
  return { clock, batcher, codes, warnings };
}

const sleep = (clock: ReturnType<typeof virtualClock>, ms: number): Promise<void> =>
  new Promise((resolve) => clock.setTimeout(resolve, ms));

describe("a handler that awaits its own batcher while no slot is left", () => {
  test("warns after 1 s, once, in words that name the way out", async () => {
    const { clock, batcher, warnings } = selfish(async (items, self) => {
      if (items[0] === 0) await self().submit(1);
      return items;
    });
    void batcher.submit(0);
    await clock.advance(999);
    expect(warnings).toEqual([]);
    await clock.advance(2);
    expect(warnings).toMatchObject([{ code: "SELF_CALL", message: expect.stringContaining("a batcher of its own") }]);
    await clock.advance(10_000);
    expect(warnings).toHaveLength(1);
  });

  test("warns also where it submits after an `await`, by its async context", async () => {
    const { clock, batcher, codes } = selfish(async (items, self) => {
      await sleep(clock, 5);
      if (items[0] === 0) await self().submit(1);
      return items;
    });
    void batcher.submit(0);
    await clock.advance(1_100);
    expect(codes).toEqual(["SELF_CALL"]);
  });

  test("warns where several slots are taken so, and not before the last one is", async () => {
    const { clock, batcher, codes } = selfish(
      async (items, self) => {
        await self().submit((items[0] as number) + 10);
        return items;
      },
      { concurrency: 2, maxBatchSize: 1 },
    );
    void batcher.submit(1);
    await clock.advance(1_100);
    expect(codes).toEqual(["SELF_CALL"]);
  });

  test("warns where it submits many", async () => {
    const { clock, batcher, codes } = selfish(async (items, self) => {
      if (items[0] === 0) await self().submitMany(range(40));
      return items;
    });
    void batcher.submit(0);
    await clock.advance(1_100);
    expect(codes).toEqual(["SELF_CALL"]);
  });

  test("warns 1 s after the submit that hangs, where earlier ones were answered", async () => {
    const { clock, batcher, codes } = selfish(
      async (items, self) => {
        if (items[0] !== 0) return items;
        await self().submit(1);
        await sleep(clock, 2_500);
        await self().submit(1);
        await self().submit(2);
        return items;
      },
      { dedupe: String, cache: new Map([["1", 1]]) },
    );
    void batcher.submit(0);
    await clock.advance(3_499);
    expect(codes).toEqual([]);
    await clock.advance(1);
    expect(codes).toEqual(["SELF_CALL"]);
  });

  test("warns not before the last of several submits has waited 1 s", async () => {
    const { clock, batcher, codes } = selfish(async (items, self) => {
      if (items[0] !== 0) return items;
      void self().submit(1);
      await sleep(clock, 900);
      await self().submit(2);
      return items;
    });
    void batcher.submit(0);
    await clock.advance(1_899);
    expect(codes).toEqual([]);
    await clock.advance(1);
    expect(codes).toEqual(["SELF_CALL"]);
  });
});

describe("a handler that awaits an item equal to one of its own batch", () => {
  test.each([1, 2])("warns, whether a slot is left or not: concurrency %i", async (concurrency) => {
    const { clock, batcher, warnings } = selfish(
      async (items, self) => {
        await self().submit(items[1] as number);
        return items;
      },
      { concurrency, dedupe: String },
    );
    void batcher.submitMany([1, 2]);
    await clock.advance(999);
    expect(warnings).toEqual([]);
    await clock.advance(1);
    expect(warnings).toMatchObject([
      { code: "SELF_CALL", message: expect.stringContaining("of its own batch (dedupe)") },
    ]);
  });

  test("warns also where it submits others beside it, which are answered", async () => {
    const { clock, batcher, codes } = selfish(
      async (items, self) => {
        if (items[0] === 1) await self().submitMany([1, 3, 4]);
        return items;
      },
      { concurrency: 2, dedupe: String },
    );
    void batcher.submit(1);
    await clock.advance(1_000);
    expect(codes).toEqual(["SELF_CALL"]);
  });

  test("warns where two batches await items of each other", async () => {
    const { clock, batcher, codes } = selfish(
      async ([item], self) => {
        await sleep(clock, 5);
        await self().submit(3 - (item as number));
        return [item as number];
      },
      { concurrency: 2, maxBatchSize: 1, dedupe: String },
    );
    void batcher.submitMany([1, 2]);
    await clock.advance(1_100);
    expect(codes).toEqual(["SELF_CALL"]);
  });
});

describe("handlers of several batchers that await one another while no slot is left", () => {
  /** Batchers in a ring: each handler submits `depth - 1` to the next one and awaits it. */
  function ring(count: number, isSync: boolean, options: object = {}) {
    const clock = virtualClock();
    const warnings: WarningEvent[] = [];
    const batchers: Batcher<number, number>[] = Array.from({ length: count }, (_, n) => {
      const handler = async (items: number[]): Promise<number[]> => {
        if (!isSync) await sleep(clock, 5);
        const [depth = 0] = items;
        if (depth > 0) await batchers[(n + 1) % count]?.submit(depth - 1);
        return items;
      };
      const batcher = createBatcher(handler, { clock, name: `b${n}`, ...options });
      batcher.on("warning", (warning) => warnings.push(warning));
      return batcher;
    });
    return { clock, batchers, warnings };
  }

  test.each([
    [2, true],
    [2, false],
    [3, true],
  ])("%i of them warn, once, and name each other (in one turn: %s)", async (count, isSync) => {
    const { clock, batchers, warnings } = ring(count, isSync);
    void batchers[0]?.submit(count);
    await clock.advance(10_000);
    expect(warnings).toMatchObject([{ code: "SELF_CALL", message: expect.stringContaining("submit to one another") }]);
    for (const { name } of batchers.map((batcher) => batcher.options))
      expect(warnings[0]?.message).toContain(`"${name}"`);
  });

  test("do not warn where one of them has a free slot, or awaits late", async () => {
    const { clock, batchers, warnings } = ring(2, true, { concurrency: 2 });
    const answer = batchers[0]?.submit(2);
    await clock.advance(10_000);
    expect(await answer).toBe(2);
    const slow = createBatcher(
      async (items: number[]) => {
        await sleep(clock, 30_000);
        return items;
      },
      { clock },
    );
    const front = createBatcher(async (items: number[]) => slow.submitMany(items), { clock });
    for (const batcher of [slow, front]) batcher.on("warning", (warning) => warnings.push(warning));
    const all = Promise.all(range(5).map((n) => front.submit(n)));
    void slow.submitMany(range(100));
    await clock.advance(600_000);
    expect(await all).toEqual(range(5));
    expect(warnings).toEqual([]);
  });
});

describe.each(["close", "idle"] as const)("a handler that calls %s() of its own batcher", (method) => {
  test.each([true, false])("and awaits it is warned of, once (in one turn: %s)", async (isSync) => {
    const { clock, batcher, warnings } = selfish(async (items, self) => {
      if (!isSync) await sleep(clock, 5);
      await self()[method]();
      return items;
    });
    void batcher.submit(0);
    await clock.advance(999);
    expect(warnings).toEqual([]);
    await clock.advance(10_000);
    expect(warnings).toMatchObject([{ code: "SELF_CALL", message: expect.stringContaining("close() or idle()") }]);
  });

  test("and does not await it ends, without a warning", async () => {
    const { clock, batcher, codes } = selfish(async (items, self) => {
      void self()[method]();
      await sleep(clock, 500);
      return items;
    });
    const answer = batcher.submit(3);
    await clock.advance(5_000);
    expect([await answer, codes, clock.timers]).toEqual([3, [], 0]);
  });
});

describe("no warning", () => {
  test("comes from a slow handler under load, however long all slots are busy and whatever waits", async () => {
    const { clock, batcher, codes } = selfish(async (items) => {
      await sleep(clock, 5_000);
      return items;
    });
    for (const _ of range(40)) {
      void batcher.submitMany(range(50));
      await clock.advance(500);
    }
    expect(batcher.stats().waiting).toBeGreaterThan(0);
    await clock.advance(600_000);
    expect(codes).toEqual([]);
  });

  test("comes from callers who submit in the batcher's answer, nor from a batcher made in a handler", async () => {
    const other = rig<number>({ maxBatchSize: 1 });
    const { clock, batcher, codes } = selfish(async (items) => {
      void other.batcher.submit(1);
      await sleep(clock, 3_000);
      return items;
    });
    void batcher.submit(0).then(() => batcher.submit(1));
    await clock.advance(10_000);
    expect(codes).toEqual([]);
    const inner: string[] = [];
    const outer = createBatcher(async (items: number[]) => {
      const made = createBatcher(async (their: number[]) => their);
      made.on("warning", ({ code }) => inner.push(code));
      return made.submitMany(items);
    });
    expect(await outer.submit(7)).toBe(7);
    expect(inner).toEqual([]);
  });

  test("comes where a slot is free for the items that the handler submits", async () => {
    const { clock, batcher, codes } = selfish(
      async (items, self) => {
        await sleep(clock, 2_000);
        if (items[0] === 0) await self().submit(1);
        return items;
      },
      { concurrency: 2 },
    );
    const answer = batcher.submit(0);
    await clock.advance(5_000);
    expect(await answer).toBe(0);
    expect(codes).toEqual([]);
  });

  test("comes where the handler submits more work and ends without it", async () => {
    const { clock, batcher, codes } = selfish(async (items, self) => {
      for (const item of items) if (item < 100) void self().submit(item + 1);
      await sleep(clock, 20);
      return items;
    });
    void batcher.submit(0);
    await clock.advance(10_000);
    expect([codes, batcher.stats().completed]).toEqual([[], 101]);
    expect(clock.timers).toBe(0);
  });

  test("comes from work that a handler left behind, once its batch has ended", async () => {
    const left = gate();
    const { clock, batcher, codes } = selfish(async (items, self) => {
      if (items[0] === 0) void left.promise.then(() => self().submit(2));
      else await sleep(clock, 5_000);
      return items;
    });
    await batcher.submit(0);
    void batcher.submit(1);
    await clock.settle();
    left.open();
    await clock.advance(20_000);
    expect([codes, batcher.stats().completed]).toEqual([[], 3]);
  });
});
