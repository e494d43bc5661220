// The size of store calls is bounded by count and by bytes, for reads and writes.

import { describe, expect, test } from "vitest";
import { batchInput } from "../../../../src/dispatch/batches/submit/batch-input.ts";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { SettleInput } from "../../../../src/dispatch/contract/store/calls.ts";
import type { NewRequest, RequestQuery } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { chunks } from "../../../../src/dispatch/requests/enqueue/chunks.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { redisStore } from "../../../../src/dispatch/stores/redis/index.ts";
import { batchRow } from "../../support/rows.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, world } from "../../support/world.ts";

const MB = 1_000_000;

function row(id: string, bytes: number, metadata: string | null = null): NewRequest {
  const fields = { id, digest: id, lane: "/v1/embeddings  m", priority: 0, tenant: "", job: "", deadlineAt: null };
  return { ...fields, bytes, tokens: 1, metadata, body: "{}" };
}

function parted(rows: readonly NewRequest[]): string[] {
  return [...chunks(rows)].map((some) => some.map(({ id }) => id).join(""));
}

test("rows are parted by count and by bytes, in order, and none is left out", () => {
  expect(parted([])).toEqual([]);
  expect(parted([row("a", 8 * MB), row("b", 8 * MB), row("c", 1), row("d", 20 * MB), row("e", 1)])).toEqual([
    "ab",
    "c",
    "d",
    "e",
  ]);
  expect(parted([row("a", 1, "x".repeat(9 * MB)), row("b", 8 * MB)])).toEqual(["a", "b"]);
  const many = [...chunks(Array.from({ length: 2_001 }, () => row("a", 1)))];
  expect(many.map(({ length }) => length)).toEqual([1_000, 1_000, 1]);
});

describe("requests with bodies of 600 KB", () => {
  const image = "A".repeat(600_000);
  const requests = Array.from({ length: 60 }, (_, n) =>
    ask(`r${n}`, { body: { model: "m", messages: [{ role: "user", content: image }] } }),
  );

  test.each([
    ["enqueueMany", (dispatcher: ReturnType<typeof createDispatcher>) => dispatcher.enqueueMany(requests)],
    [
      "single enqueues",
      (dispatcher: ReturnType<typeof createDispatcher>) => Promise.all(requests.map((one) => dispatcher.enqueue(one))),
    ],
  ])("reach the store by %s in calls of at most 16 MB", async (_name, enqueue) => {
    const here = world();
    const inner = memoryStore();
    const sizes: number[] = [];
    const store: Store = Object.assign(Object.create(inner) as Store, {
      enqueue: async (rows: readonly NewRequest[]) => {
        sizes.push(rows.reduce((sum, { body }) => sum + body.length, 0));
        return rows.map(() => "stored" as const);
      },
    });
    const accounts = [new SimProvider({ time: here.time }).account()];
    const dispatcher = createDispatcher({ store, accounts, clock: new SimProcess(here.time).clock });
    await expect(enqueue(dispatcher)).resolves.toHaveLength(60);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(16 * MB);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(36 * MB);
    await dispatcher.stop();
  });
});

test.each([
  [600_000, 1],
  [2_000, 64],
  [100, 500],
])("requests of %i bytes are read for their upload %i at a time", async (bytes, atOnce) => {
  const limits: number[] = [];
  const members = Array.from({ length: 1_000 }, (_, ord) => ({ ord, body: "{}", turns: null }));
  const store = {
    requests: async (query: RequestQuery) => {
      const { fromOrd, limit } = query as Extract<RequestQuery, { batchKey: string }>;
      limits.push(limit);
      return members.slice(fromOrd, fromOrd + limit);
    },
  } as unknown as Store;
  const account = new SimProvider({ time: world().time }).account();
  const input = batchInput(store, account, batchRow({ requests: 1_000, bytes: 1_000 * bytes }));
  let lines = 0;
  for await (const _ of input.lines()) lines += 1;
  expect(lines).toBe(1_000);
  expect(new Set(limits)).toEqual(new Set([atOnce]));
});

test.each([
  ["1,000 lines", "", [1_000, 1_000, 400]],
  ["a million characters", "A".repeat(9_000), [...Array.from({ length: 21 }, () => 110), 90]],
])("results are settled in chunks of %s", async (_name, text, chunks) => {
  const here = world();
  const plain = new SimProvider({ time: here.time }).account();
  const account: Account = {
    ...plain,
    async *results(batch, call, name) {
      for await (const line of plain.results(batch, call, name)) {
        yield { ...line, response: { statusCode: 200, body: { text } } };
      }
    },
  };
  const sizes: number[] = [];
  const store = new SimProcess(here.time).wrap(here.store, (name, call, [input]) => {
    if (name === "settle") sizes.push((input as SettleInput).items.length);
    return call();
  });
  const dispatcher = await here.start({ accounts: [account], store, thresholds: { maxRequests: 2_400 } });
  await dispatcher.enqueueMany(Array.from({ length: 2_400 }, (_, n) => ask(`r${n}`)));
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(sizes).toEqual(chunks);
});

test("a call that no text can hold is refused by the Redis store with a DispatchError", async () => {
  const store = redisStore({ client: { call: async () => "hash" } });
  const endless = {
    ...row("a", 1),
    toJSON: () => {
      throw new RangeError("Invalid string length");
    },
  };
  await expect(store.enqueue([endless], 1)).rejects.toMatchObject({ name: "DispatchError", code: "REQUEST_TOO_LARGE" });
});
