import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

interface Job {
  readonly tenant: string;
  readonly id: number;
}

/** Answers at once and records the order of items. */
function recording<Item>(options: BatchOptions<Item, Item>) {
  const clock = virtualClock();
  const order: Item[] = [];
  const handler = (items: Item[]): Item[] => {
    order.push(...items);
    return items;
  };
  const batcher = createBatcher<Item, Item>(handler, { clock, ...options });
  batcher.pause();
  return { clock, batcher, order };
}

/** One item runs, one waits; later submits are blocked outside. */
async function full(options: BatchOptions<string, string> = {}) {
  const of = rig<string>({ maxBatchSize: 1, maxQueueSize: 1, ...options });
  void of.batcher.submitMany(["runs", "waits"]);
  await of.clock.settle();
  const order = (): string[] => of.handler.batches.flat().slice(2);
  return { ...of, order, finish: () => echoAll(of) };
}

describe("submits that wait outside a full queue", () => {
  test("take turns by tenant: one item of another is not behind a flood of 100,000", async () => {
    const { batcher, order } = recording<Job>({ fairBy: ({ tenant }) => tenant });
    const flood = batcher.submitMany(range(100_000).map((id) => ({ tenant: "flood", id })));
    const single = batcher.submit({ tenant: "single", id: 0 });
    expect(batcher.stats()).toMatchObject({ waiting: 10_000, blocked: 90_001 });
    batcher.resume();
    await Promise.all([flood, single]);
    expect(order.findIndex(({ tenant }) => tenant === "single")).toBeLessThan(100);
    const ids = order.filter(({ tenant }) => tenant === "flood").map(({ id }) => id);
    expect(ids).toEqual(range(100_000));
  });

  test("take turns by cost: each tenant outside gets as much as the others", async () => {
    const { batcher, order } = recording<Job>({
      fairBy: ({ tenant }) => tenant,
      cost: ({ tenant }) => (tenant === "large" ? 10 : 1),
      maxBatchSize: 8,
      maxQueueSize: 8,
    });
    const all = ["flood", "large", "small"].map((tenant) =>
      batcher.submitMany(range(tenant === "flood" ? 2_000 : 100).map((id) => ({ tenant, id }))),
    );
    batcher.resume();
    await Promise.all(all);
    const place = (wanted: string, id: number): number =>
      order.findIndex((job) => job.tenant === wanted && job.id === id);
    expect(place("small", 99)).toBeLessThan(400);
    expect(place("large", 99)).toBeGreaterThan(1_000);
  });

  test("go by priority: an urgent one is next though others have been blocked for nearly 10 s", async () => {
    const of = await full();
    void of.batcher.submitMany(range(1_000).map(String));
    await of.clock.advance(9_999);
    void of.batcher.submit("urgent", { priority: 100 });
    await echo(of);
    await echo(of);
    expect(of.order()).toEqual(["urgent"]);
  });

  test("rise in priority by waiting outside, so nothing starves there", async () => {
    const of = await full({ priorityAgingMs: 1_000 });
    void of.batcher.submit("old");
    await of.clock.advance(3_000);
    void of.batcher.submit("young and urgent", { priority: 2 });
    void of.batcher.submit("young and more urgent", { priority: 4 });
    await of.finish();
    expect(of.order()).toEqual(["young and more urgent", "old", "young and urgent"]);
  });

  test("let small calls go before larger ones of the same priority", async () => {
    const of = await full({ smallCallFirst: 2 });
    void of.batcher.submitMany(["large 1", "large 2", "large 3"]);
    void of.batcher.submitMany(["small 1", "small 2"]);
    void of.batcher.submitMany(["urgent 1", "urgent 2", "urgent 3"], { priority: 1 });
    await of.finish();
    expect(of.order()).toEqual([
      "urgent 1",
      "urgent 2",
      "urgent 3",
      "small 1",
      "small 2",
      "large 1",
      "large 2",
      "large 3",
    ]);
  });

  test("come in one after the other whatever their keys, and share batches by key", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxQueueSize: 4, maxBatchSize: 2 });
    of.batcher.pause();
    const answers = of.batcher.submitMany([...range(50).map((id) => `a${id}`), "b0", "c0"]);
    void of.batcher.submit("z", { priority: 1, key: "z" });
    of.batcher.resume();
    await echoAll(of);
    expect((await answers).slice(-2)).toEqual(["b0", "c0"]);
    expect(of.handler.batches.flat().indexOf("z")).toBeLessThan(6);
    for (const batch of of.handler.batches) expect(new Set(batch.map((item) => item[0])).size).toBe(1);
  });

  test("keep the order of one priority, however they come to wait", async () => {
    const of = await full({ maxBatchSize: 3, maxQueueSize: 2 });
    for (const item of range(10)) void of.batcher.submit(String(item), { priority: item % 2 });
    await of.finish();
    const rank = (priority: number): string[] => of.order().filter((item) => Number(item) % 2 === priority);
    expect(rank(0)).toEqual(["0", "2", "4", "6", "8"]);
    expect(rank(1)).toEqual(["1", "3", "5", "7", "9"]);
  });

  test("expire, are cancelled and are closed there, and those behind them come in", async () => {
    const of = await full();
    const leave = new AbortController();
    const cancelled = reasonOf(of.batcher.submit("cancelled", { signal: leave.signal, priority: 9 }));
    const expired = watch(of.batcher.submit("expired", { timeoutMs: 20, priority: 8 }));
    void of.batcher.submit("behind");
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, blocked: 3 });
    await of.clock.advance(19);
    expect(expired.state).toBe("pending");
    leave.abort(new Error("gone"));
    await of.clock.advance(1);
    expect(await cancelled).toEqual(new Error("gone"));
    expect(expired).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, blocked: 1, cancelled: 1, expired: 1 });
    await of.finish();
    expect(of.order()).toEqual(["behind"]);
    expect(of.clock.timers).toBe(0);
  });

  test("are rejected by close({ drain: false }), whatever their priorities, and run at close()", async () => {
    const dropping = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    const dropped = range(50).map((item) => reasonOf(dropping.batcher.submit(item, { priority: item % 7 })));
    await dropping.clock.settle();
    await dropping.batcher.close({ drain: false });
    for (const reason of await Promise.all(dropped)) expect(reason).toMatchObject({ code: "CLOSED" });
    expect(dropping.batcher.stats()).toMatchObject({ waiting: 0, blocked: 0, rejected: 50 });

    const draining = await full();
    draining.batcher.pause();
    void draining.batcher.submit("late");
    void draining.batcher.submit("urgent", { priority: 1 });
    const closed = watch(draining.batcher.close());
    await draining.finish();
    expect(draining.order()).toEqual(["urgent", "late"]);
    expect(closed.state).toBe("fulfilled");
  });

  test("take the place of a caller that has left the queue, the most urgent of them first", async () => {
    const of = rig<string>({ maxQueueSize: 1 });
    of.batcher.pause();
    const leave = new AbortController();
    const left = reasonOf(of.batcher.submit("waits", { signal: leave.signal }));
    void of.batcher.submit("first");
    void of.batcher.submit("urgent", { priority: 1 });
    leave.abort();
    await left;
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, blocked: 1 });
    void of.batcher.flush();
    await echo(of);
    expect(of.handler.batches).toEqual([["urgent"]]);
  });

  test("are not overtaken by a submit that comes when there is room", async () => {
    const of = await full({ maxQueueSize: 2, maxBatchSize: 2 });
    void of.batcher.submitMany(["x1", "x2", "x3", "x4"]);
    of.handler.calls[0]?.resolve(["runs", "waits"]);
    void of.batcher.submit("newcomer");
    await of.finish();
    expect(of.handler.batches.flat().at(-1)).toBe("newcomer");
  });

  test("come in after a refusal to grow: `configure` of a larger queue takes them at the end of the turn", async () => {
    const of = await full();
    of.batcher.pause();
    void of.batcher.submitMany(range(20).map(String));
    of.batcher.configure({ maxQueueSize: 10 });
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ waiting: 10, blocked: 11 });
  });
});

test("cancelled submits outside a full queue keep no item in memory, while others wait there", async () => {
  const batcher = createBatcher<object, number>(() => new Promise<number[]>(() => {}), {
    clock: virtualClock(),
    maxBatchSize: 1,
    maxQueueSize: 1,
    fairBy: (item) => String("tenant" in item),
  });
  for (const _ of range(3)) void batcher.submit({});
  const items: WeakRef<object>[] = [];
  const submit = (signal: AbortSignal, priority: number): void => {
    const item = {};
    items.push(new WeakRef(item));
    batcher.submit(item, { signal, priority, timeoutMs: 60_000 }).catch(() => {});
  };
  for (const round of range(20)) {
    const leave = new AbortController();
    for (const priority of range(50)) submit(leave.signal, priority % 3);
    void batcher.submit({ tenant: round });
    leave.abort();
  }
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(items.filter((item) => item.deref() !== undefined)).toHaveLength(0);
  expect(batcher.stats()).toMatchObject({ blocked: 21, cancelled: 1_000 });
});
