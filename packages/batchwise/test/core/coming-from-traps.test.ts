// Options of other batchers that look the same and mean something else here: refused or warned of,
// with a fix. docs/coming-from.md refers to these tests.

import { batch, createBatcher, type WarningEvent } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, type Rig, range, reasonOf, rig, thrownBy } from "../support.ts";

/** Messages of all warnings from now on, including unheard ones. */
function warningsOf<Item, Result>({ batcher }: Rig<Item, Result>): string[] {
  const messages: string[] = [];
  batcher.on("warning", ({ message }: WarningEvent) => messages.push(message));
  return messages;
}

async function runs(of: Rig<number, number>, count: number): Promise<string[]> {
  const messages = warningsOf(of);
  for (const _ of range(2)) {
    const answers = of.batcher.submitMany(range(count));
    await echoAll(of);
    await of.clock.advance(1_000);
    await echoAll(of);
    await answers;
  }
  return messages;
}

describe("a minimum", () => {
  test("`minBatchSize` is refused, and the message names `preferredBatchSize`", () => {
    const options = { minBatchSize: 1, maxWaitMs: 50 };
    const refusals = [
      thrownBy(() => createBatcher((items: string[]) => items, options as never)),
      thrownBy(() => batch((items: string[]) => items, options as never)),
      thrownBy(() => rig().batcher.configure(options as never)),
    ];
    for (const error of refusals) {
      expect(error).toMatchObject({ name: "TypeError", code: "INVALID_OPTION" });
      expect(String(error)).toContain("`preferredBatchSize`");
    }
  });

  test("without `preferredBatchSize` a batch is held for `maxBatchSize` items or until the end of the wait", async () => {
    const of = rig<number>({ maxBatchSize: 4, maxWaitMs: 50 });
    const answers = of.batcher.submitMany(range(3));
    await of.clock.advance(49);
    expect(of.handler.calls.length).toBe(0);
    await of.clock.advance(1);
    await echo(of);
    expect(await answers).toEqual(range(3));
  });

  test("`preferredBatchSize` waiting items end the wait, and all that wait go along", async () => {
    const of = rig<number>({ preferredBatchSize: 2, maxBatchSize: 4, maxWaitMs: 50 });
    const answers = of.batcher.submitMany(range(3));
    await echo(of);
    expect(await answers).toEqual(range(3));
    expect([of.clock.now(), of.handler.batches]).toEqual([0, [[0, 1, 2]]]);
    expect(of.batcher.stats().batchesByReason).toMatchObject({ preferred: 1 });
  });
});

describe("options that do nothing, or undo one another", () => {
  test("`prefetch` is warned of once where the handler has no `prepare`", async () => {
    const messages = await runs(rig<number>({ prefetch: 2 }), 3);
    expect(messages).toEqual([expect.stringMatching(/`?prefetch`?.*`?prepare`?/s)]);
  });

  test("the default `maxBatchSize` is warned of once where it closes batches far below `maxBatchCost`", async () => {
    const messages = await runs(rig<number>({ cost: () => 1, maxBatchCost: 1_000 }), 64);
    expect(messages).toEqual([expect.stringContaining("maxBatchSize")]);
    expect(await runs(rig<number>({ cost: () => 1, maxBatchCost: 1_000, maxBatchSize: 32 }), 64)).toEqual([]);
  });

  test("a `maxQueueSize` that fills before a batch does is warned of once: it ends the wait", async () => {
    const messages = await runs(rig<number>({ maxWaitMs: 50, maxQueueSize: 4 }), 4);
    expect(messages).toEqual([expect.stringContaining("maxQueueSize")]);
  });

  test("a `preferredBatchSize` of 1 is warned of once beside a wait: it ends all waiting", async () => {
    const messages = await runs(rig<number>({ maxWaitMs: 50, preferredBatchSize: 1 }), 3);
    expect(messages).toEqual([expect.stringContaining("preferredBatchSize")]);
  });
});

describe("functions of another kind", () => {
  test("an async `prepareItem` is awaited: the handler gets its result", async () => {
    const batcher = createBatcher({
      prepareItem: async (text: string) => text.length,
      run: (lengths: number[]) => lengths.map((length) => length * 2),
    });
    expect(await batcher.submitMany(["a", "bb"])).toEqual([2, 4]);
  });

  test("an async generator is refused for a handler, and the message names `batchStream`", () => {
    const stream = async function* (items: string[]): AsyncGenerator<string[]> {
      yield items;
    };
    const refusals = [thrownBy(() => batch(stream as never)), thrownBy(() => createBatcher(stream as never))];
    for (const error of refusals) {
      expect(error).toMatchObject({ code: "INVALID_OPTION" });
      expect(String(error)).toContain("`batchStream`");
    }
  });

  test("a submit option that does not exist rejects only that item, with the name that was probably meant", async () => {
    const batcher = createBatcher((items: string[]) => items);
    const other = batcher.submit("other");
    const error = await reasonOf(batcher.submit("a", { timeout: 50 } as never));
    expect(error).toMatchObject({ name: "TypeError", code: "INVALID_OPTION" });
    expect(String(error)).toContain("it is `timeoutMs` here");
    expect(await other).toBe("other");
    expect(batcher.stats()).toMatchObject({ submitted: 2, completed: 1, failed: 1 });
  });
});
