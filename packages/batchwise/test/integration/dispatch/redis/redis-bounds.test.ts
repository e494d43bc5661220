// Very many deliveries that come due at one time, and very many batches to look at: no single call
// holds the server for all of them, and the answer is the same.

import { redisStore } from "batchwise/dispatch/redis";
import { expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { redisPlace } from "../../services/kept.ts";
import { clientAt } from "../../services/redis.ts";

/** A store that counts its calls of the server, and can do something between two of them. */
async function countingStore() {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  const counted = { scripts: 0, beforeNext: async (): Promise<void> => {} };
  const counting = {
    call: async (command: string, ...args: (string | number)[]): Promise<unknown> => {
      counted.scripts += 1;
      if (counted.scripts > 1) await counted.beforeNext();
      return client.call(command, ...args);
    },
  };
  const store = redisStore({ client: counting, prefix });
  onTestFinished(async () => {
    await store.close();
    client.disconnect();
  });
  return { store, counted };
}

const SINK = ["webhook"];

async function endInOne(store: Store, key: string, count: number): Promise<void> {
  await store.enqueue(requests(count, `${key}-`), NOW);
  expect(await store.seal(sealInput(key))).toMatchObject({ ok: true, batch: { requests: count } });
  const items = Array.from({ length: count }, (_, ord) => ({
    ...({ ord, kind: "final", status: "succeeded", payload: "{}", code: null, usage: null, charged: true } as const),
  }));
  await store.settle({ key, fence: 1, items, sinks: SINK, cancelledPayload: "", cancelledCode: "", now: NOW });
}

test("12,000 deliveries that are due again are moved in several calls, and the oldest is taken first", async () => {
  const { store, counted } = await countingStore();
  for (let n = 0; n < 12; n += 1) await endInOne(store, `b${n}`, 1_000);
  const take = { sinks: SINK, limit: 12_000, leaseUntil: NOW + 1_000 };
  const taken = await store.deliveries({ now: NOW, reports: [], take });
  expect(taken).toHaveLength(12_000);
  // The oldest are due last.
  for (let from = 0; from < taken.length; from += 1_000) {
    const reports = taken.slice(from, from + 1_000).map(({ attempt, outcome: { cursor } }) => ({
      ...({ cursor, sink: "webhook", attempt, at: NOW, statusCode: 503, error: "down", result: "retry" } as const),
      nextAt: NOW + 50_000 - cursor,
    }));
    await store.deliveries({ now: NOW, reports, take: null });
  }
  counted.scripts = 0;
  const [first, second] = taken.slice(0, 2).map(({ outcome }) => outcome.cursor);
  const again = await store.deliveries({
    now: NOW + 60_000,
    reports: [],
    take: { sinks: SINK, limit: 2, leaseUntil: NOW + 90_000 },
  });
  expect(again.map(({ outcome }) => outcome.cursor)).toEqual([first, second]);
  expect(counted.scripts).toBe(3);
}, 60_000);

test("2,500 batches are looked at in several calls, each once, also while another is made", async () => {
  const { store, counted } = await countingStore();
  const keys = Array.from({ length: 2_500 }, (_, n) => `batch-${String(n).padStart(4, "0")}`);
  for (let n = 0; n < keys.length; n += 500) {
    await store.enqueue(requests(500, `${n}-`), NOW);
    for (const key of keys.slice(n, n + 500)) await store.seal({ ...sealInput(key, 1), ledger: key });
  }
  await store.batches({ limit: 1 });
  for (const [limit, scripts] of [
    [1, 1],
    [1_500, 2],
    [10_000, 3],
  ] as const) {
    counted.scripts = 0;
    const rows = await store.batches({ account: "a", limit });
    expect(rows.map(({ key }) => key)).toEqual(keys.toReversed().slice(0, limit));
    expect(counted.scripts).toBe(scripts);
  }
  // Another batch of that millisecond is made between the pages.
  let made = 0;
  counted.beforeNext = async (): Promise<void> => {
    counted.beforeNext = async () => {};
    await store.enqueue(requests(1, "late"), NOW);
    made += Number((await store.seal(sealInput("batch-9999", 1))).ok);
  };
  counted.scripts = 0;
  const rows = await store.batches({ states: ["done", "sealed"], limit: 10_000 });
  expect(made).toBe(1);
  expect(rows.map(({ key }) => key)).toEqual(keys.toReversed());
}, 60_000);
