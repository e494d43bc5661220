import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Batcher, type BatchOptions, createBatcher, type SubmitOptions } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";
import { Tenant } from "../../src/core/queue/tenant.ts";
import { range } from "../support.ts";
import { entryOf } from "./support/queue-kit.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

interface Item {
  readonly hangs?: boolean;
}

interface Subject {
  readonly batcher: Batcher<Item, number>;
  /** Submits this many items and waits for their answers. */
  answer(count: number, options?: () => SubmitOptions): Promise<void>;
  /** How many of them are still in memory. */
  alive(): Promise<number>;
}

/** A batcher whose handler answers at once, except for an item that hangs. */
function subject(options: BatchOptions<Item, number>): Subject {
  const clock = virtualClock();
  const batcher = createBatcher<Item, number>(
    (items) => (items.some(({ hangs }) => hangs) ? new Promise<number[]>(() => {}) : items.map(() => 0)),
    { clock, ...options },
  );
  const items: WeakRef<Item>[] = [];
  const submit = (submitOptions: SubmitOptions | undefined): Promise<number> => {
    const item = {};
    items.push(new WeakRef(item));
    return batcher.submit(item, submitOptions);
  };
  return {
    batcher,
    answer: async (count, submitOptions) => {
      await Promise.all(range(count).map(() => submit(submitOptions?.())));
    },
    alive: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
      return items.filter((item) => item.deref() !== undefined).length;
    },
  };
}

test("answered items are freed while an earlier deadline presses their lane", async () => {
  const { batcher, answer, alive } = subject({ maxWaitMs: 2, maxBatchSize: 8 });
  void batcher.submit({}, { priority: -1_000, timeoutMs: 60_000 });
  for (const _batch of range(100)) await answer(8, () => ({ timeoutMs: 600_000 }));
  expect(await alive()).toBeLessThanOrEqual(16);
});

test("answered items of callers with signals are freed while an earlier deadline presses their lane", async () => {
  const { batcher, answer, alive } = subject({ maxWaitMs: 2, maxBatchSize: 8 });
  void batcher.submit({}, { priority: -1_000, timeoutMs: 60_000 });
  for (const _batch of range(100)) {
    await answer(8, () => ({ timeoutMs: 600_000, signal: new AbortController().signal }));
  }
  expect(await alive()).toBeLessThanOrEqual(16);
});

test("answered items are freed while an earlier batch runs under the same time limit", async () => {
  const { batcher, answer, alive } = subject({ handlerTimeoutMs: 1_000, maxBatchSize: 8, concurrency: 2 });
  void batcher.submit({ hangs: true });
  await new Promise((resolve) => setImmediate(resolve));
  for (const _batch of range(20)) await answer(8);
  expect(await alive()).toBeLessThanOrEqual(16);
});

test("answered items are freed with `fairBy`", async () => {
  let sent = 0;
  const fairBy = (): string => {
    sent += 1;
    return `tenant ${sent % 3}`;
  };
  const { answer, alive } = subject({ fairBy, maxBatchSize: 8 });
  for (const _batch of range(20)) await answer(24);
  expect(await alive()).toBeLessThanOrEqual(24);
});

test("answered items of callers with signals are freed while an earlier deadline runs", async () => {
  const { batcher, answer, alive } = subject({ maxBatchSize: 8, concurrency: 2 });
  void batcher.submit({ hangs: true }, { timeoutMs: 1_000 });
  await new Promise((resolve) => setImmediate(resolve));
  for (const _batch of range(5)) {
    await answer(8, () => ({ timeoutMs: 60_000, signal: new AbortController().signal }));
  }
  expect(await alive()).toBeLessThanOrEqual(16);
});

test("answered items are freed while others that came with them wait", async () => {
  const { batcher, answer, alive } = subject({ maxBatchSize: 64 });
  batcher.pause();
  const first = answer(16);
  void batcher.submit({ hangs: true });
  void answer(24);
  batcher.configure({ maxBatchSize: 16 });
  batcher.resume();
  await first;
  expect(batcher.stats()).toMatchObject({ completed: 16, running: 16, waiting: 9 });
  expect(await alive()).toBe(24);
});

test("map keeps no more of a large source in memory than `maxPending` items", async () => {
  const { batcher } = subject({ maxBatchSize: 32 });
  const items: WeakRef<Item>[] = [];
  const rows = function* (): Iterable<Item> {
    for (let row = 0; row < 20_000; row += 1) {
      const item = {};
      if (row % 20 === 0) items.push(new WeakRef(item));
      yield item;
    }
  };
  let read = 0;
  for await (const _result of batcher.map(rows(), { maxPending: 100 })) {
    read += 1;
    if (read === 19_000) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
      expect(items.filter((item) => item.deref() !== undefined).length).toBeLessThanOrEqual(15);
    }
  }
  expect(read).toBe(20_000);
});

test("map keeps no result that was read while its source has nothing more", async () => {
  const batcher = createBatcher<number, object>((items) => items.map((item) => ({ item })));
  const rows = async function* (): AsyncIterable<number> {
    yield* range(3);
    await new Promise(() => {});
  };
  for (const ordered of [true, false]) {
    const results = batcher.map(rows(), { ordered });
    const read: WeakRef<object>[] = [];
    for (const _row of range(3)) read.push(new WeakRef((await results.next()).value as object));
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    expect(read.filter((result) => result.deref() !== undefined)).toEqual([]);
    await results.return?.();
  }
});

test("a tenant without entries keeps none of those that raised ones passed", async () => {
  const tenant = new Tenant(null as never);
  const entries = range(1_000).map((at) => entryOf({ id: at, at }));
  for (const entry of [...entries, entryOf({ id: 1, at: 1 })]) tenant.add(entry);
  const left = entries.map((entry) => new WeakRef(entry));
  for (let entry = tenant.first; entry !== null; entry = tenant.first) tenant.remove(entry);
  entries.length = 0;
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(left.filter((entry) => entry.deref() !== undefined)).toEqual([]);
  expect(tenant.first).toBe(null);
});
