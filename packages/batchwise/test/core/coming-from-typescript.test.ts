// Behaviour that users of dataloader, batshit and TanStack Pacer's AsyncBatcher rely on.
// docs/coming-from.md refers to these tests.

import { batch } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, range, rig, watch } from "../support.ts";

describe("coming from dataloader", () => {
  test("loadMany is submitSettled: one key that fails hides no other", async () => {
    const load = batch((ids: number[]) => ids.map((id) => (id === 2 ? new Error("no such user") : `user ${id}`)));
    expect(await load.submitSettled([1, 2])).toEqual([
      { status: "fulfilled", value: "user 1" },
      { status: "rejected", reason: new Error("no such user") },
    ]);
  });

  test("prime is `set` of the cache, and clear is forget()", async () => {
    const cache = new Map([["1", "primed"]]);
    const load = batch((ids: number[]) => ids.map((id) => `user ${id}`), { dedupe: String, cache });
    expect(await load(1)).toBe("primed");
    await load.forget("1");
    expect(await load(1)).toBe("user 1");
  });

  test("a value that is cleared while it is loaded is not cached: the next load is a new one", async () => {
    const cache = new Map<string, string>();
    const of = rig<string>({ dedupe: (id) => id, cache, concurrency: 2 });
    const before = of.batcher.submit("1");
    await of.clock.settle();
    await of.batcher.forget("1");
    const after = of.batcher.submit("1");
    await of.clock.settle();
    of.handler.calls[0]?.answer(() => "stale");
    of.handler.calls[1]?.answer(() => "fresh");
    expect(await Promise.all([before, after])).toEqual(["stale", "fresh"]);
    await of.clock.settle();
    expect([...cache]).toEqual([["1", "fresh"]]);
  });

  test("without `batch` every call is of one item", async () => {
    const of = rig<number>({ maxBatchSize: 1, concurrency: Number.POSITIVE_INFINITY });
    const answers = of.batcher.submitMany([1, 2, 3]);
    await echo(of);
    expect(await answers).toEqual([1, 2, 3]);
    expect(of.handler.batches).toEqual([[1], [2], [3]]);
  });

  test("a schedule of one's own is pause() and flush()", async () => {
    const of = rig<string>();
    of.batcher.pause();
    const answers = of.batcher.submitMany(["a", "b"]);
    await of.clock.advance(1_000);
    expect(of.handler.calls.length).toBe(0);
    const flushed = watch(of.batcher.flush());
    await echo(of);
    expect(await answers).toEqual(["a", "b"]);
    expect(flushed.state).toBe("fulfilled");
  });
});

describe("coming from batshit", () => {
  test("records that come back in any order are put in place by the handler, batch after batch", async () => {
    const table = [
      { id: 3, name: "c" },
      { id: 1, name: "a" },
    ];
    const byId = batch((ids: number[]) => {
      const found = new Map(table.filter(({ id }) => ids.includes(id)).map((row) => [row.id, row]));
      return ids.map((id) => found.get(id) ?? null);
    });
    expect(await byId.submitMany([1, 2])).toEqual([{ id: 1, name: "a" }, null]);
    expect(await byId.submitMany([3])).toEqual([{ id: 3, name: "c" }]);
  });

  test("next() is flush(): the batch goes now, and no empty one follows when its wait would have ended", async () => {
    const of = rig<string>({ maxWaitMs: 100 });
    const answer = of.batcher.submit("a");
    const flushed = of.batcher.flush();
    await echo(of);
    await flushed;
    await of.clock.advance(200);
    expect(await answer).toBe("a");
    expect(of.handler.batches).toEqual([["a"]]);
  });

  test("a handler that throws before it returns a promise fails only its callers", async () => {
    let isDown = true;
    const batcher = batch((items: string[]) => {
      if (isDown) throw new Error("down");
      return items;
    });
    expect(await batcher.submitSettled(["a"])).toEqual([{ status: "rejected", reason: new Error("down") }]);
    isDown = false;
    expect(await batcher("b")).toBe("b");
  });
});

describe("coming from TanStack Pacer", () => {
  test("every item has its own result", async () => {
    const double = batch((items: number[]) => items.map((item) => item * 2), { maxBatchSize: 3 });
    expect(await Promise.all([1, 2, 3, 4].map((item) => double(item)))).toEqual([2, 4, 6, 8]);
  });

  test("steady traffic does not put a batch off: one item each 8 ms under a wait of 20 ms", async () => {
    const of = rig<number>({ maxWaitMs: 20, concurrency: Number.POSITIVE_INFINITY });
    for (const item of range(20)) {
      void of.batcher.submit(item);
      await of.clock.advance(8);
    }
    expect(of.handler.calls[0]?.items).toEqual([0, 1, 2]);
    expect(of.handler.calls[0]?.context.requests[0]?.waitedMs).toBe(20);
  });

  test("a pause between attempts is `retry.backoffMs`", async () => {
    const of = rig<string>({ retry: { attempts: 2, backoffMs: 100 } });
    const answer = of.batcher.submit("a");
    await of.clock.settle();
    of.handler.calls[0]?.reject(new Error("down"));
    await of.clock.advance(99);
    expect(of.handler.calls.length).toBe(1);
    await of.clock.advance(1);
    await echo(of);
    expect(await answer).toBe("a");
  });

  test("a condition of one's own is a flush() at the submit that meets it", async () => {
    const of = rig<{ urgent: boolean }>({ maxWaitMs: 1_000 });
    const submit = (item: { urgent: boolean }): void => {
      void of.batcher.submit(item);
      if (item.urgent) void of.batcher.flush();
    };
    submit({ urgent: false });
    await of.clock.settle();
    expect(of.handler.calls.length).toBe(0);
    submit({ urgent: true });
    await of.clock.settle();
    expect(of.handler.calls[0]?.items.length).toBe(2);
  });
});
