// Requests that share a cached prefix: one is sent ahead, and the others read the cache that it has
// written. With the official client, on the fake, in virtual time.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { describe, expect, test } from "vitest";
import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import type { DispatchRequest, JsonObject, Outcome } from "../../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, SimProcess, seeded, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const RUN_MS = 10 * MINUTE;

interface Rig {
  readonly fake: FakeProvider;
  readonly time: ReturnType<typeof world>["time"];
  readonly store: ReturnType<typeof world>["store"];
  readonly told: string[];
  start(
    options?: Partial<DispatcherOptions> & {
      readonly primeCache?: boolean;
      readonly process?: SimProcess;
      /** false: it only enqueues. */
      readonly isStarted?: boolean;
    },
  ): Promise<Dispatcher>;
  /** Runs until nothing waits, or until the condition holds. */
  rest(isDone?: () => Promise<boolean>): Promise<void>;
  /** The sizes of all batches, in the order of their creates. */
  sizes(): number[];
}

function rig(options: FakeOptions = {}): Rig {
  const { time, store } = world();
  const fake = fakeProvider({ clock: time, plan: { validateMs: 0, runMs: RUN_MS, finalizeMs: 0 }, ...options });
  const client = new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch });
  const told: string[] = [];
  return {
    ...{ fake, time, store, told },
    async start({ primeCache = true, process = new SimProcess(time), isStarted = true, ...more } = {}) {
      const accounts = [process.wrap(anthropicAccount({ client, primeCache }))];
      const thresholds = { maxRequests: 1_000, maxAgeMs: 5 * MINUTE };
      const onError = (error: unknown): void => void told.push(String((error as { code?: string }).code ?? error));
      const dispatcher = createDispatcher({
        ...{ store: process.wrap(store), clock: process.clock, random: seeded(4), accounts, thresholds, onError },
        ...more,
      });
      if (isStarted) await dispatcher.start();
      return dispatcher;
    },
    rest: (isDone = () => isAtRest(store, time.now())) => drive(time, fake, isDone),
    sizes: () => fake.batches().map(({ requests }) => requests),
  };
}

const prefix = (name: string, ttl = "1h"): JsonObject => {
  const text = `${name}: long instructions. `.repeat(50);
  return { role: "system", content: [{ type: "text", text, cache_control: { type: "ephemeral", ttl } }] };
};

function some(count: number, name = "one", more: Partial<DispatchRequest> = {}, ttl = "1h"): DispatchRequest[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `${name}-${n}`,
    body: { model: "m", messages: [prefix(name, ttl), { role: "user", content: `Say ${n}.` }] },
    ...more,
  }));
}

async function outcomesOf(dispatcher: Dispatcher, ids: readonly DispatchRequest[]): Promise<Outcome[]> {
  return Promise.all(ids.map(({ id }) => dispatcher.result(id as string)));
}

/** Outcomes whose answer says that a cached prefix was read. */
function reads(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ usage }) => (usage?.cachedTokens ?? 0) > 0).length;
}

test("of 200 requests with one prefix, one goes first and 199 read its cache", async () => {
  const { start, rest, sizes, fake } = rig();
  const dispatcher = await start();
  const asked = some(200);
  await dispatcher.enqueueMany(asked);
  await rest();
  expect(sizes()).toEqual([1, 199]);
  const outcomes = await outcomesOf(dispatcher, asked);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["succeeded"]));
  expect(reads(outcomes)).toBe(199);
  const [first, second] = fake.batches();
  // The rest follows the poll that sees the end.
  expect((second?.acceptedAt ?? 0) - (first?.acceptedAt ?? 0)).toBeLessThan(RUN_MS + 3 * MINUTE);
  await dispatcher.stop();
});

test("without the option they go at once, and read nothing", async () => {
  const { start, rest, sizes } = rig();
  const dispatcher = await start({ primeCache: false });
  const asked = some(200);
  await dispatcher.enqueueMany(asked);
  await rest();
  expect(sizes()).toEqual([200]);
  expect(reads(await outcomesOf(dispatcher, asked))).toBe(0);
  await dispatcher.stop();
});

test("seven go at once, and so do requests without a cached prefix", async () => {
  const { start, rest, sizes } = rig();
  const dispatcher = await start();
  const plain = Array.from({ length: 9 }, (_, n) => ({
    id: `plain-${n}`,
    body: { model: "m", messages: [{ role: "user", content: `Say ${n}.` }] },
  }));
  await dispatcher.enqueueMany([...some(7), ...plain]);
  await rest();
  expect(sizes()).toEqual([16]);
  await dispatcher.stop();
});

test("many prefixes share the batch of first requests, and the batch of the rest", async () => {
  const { start, rest, sizes } = rig();
  const dispatcher = await start();
  const asked = Array.from({ length: 10 }, (_, n) => some(20, `p${n}`)).flat();
  await dispatcher.enqueueMany([...asked, ...some(3, "few")]);
  await rest();
  expect(sizes().toSorted((a, b) => a - b)).toEqual([3, 10, 190]);
  expect(reads(await outcomesOf(dispatcher, asked))).toBe(190);
  await dispatcher.stop();
});

test("requests that are enqueued one by one share their prefix, too", async () => {
  const { start, rest, sizes } = rig();
  const dispatcher = await start();
  const asked = some(40);
  for (const request of asked) await dispatcher.enqueue(request);
  await rest();
  // The first seven went as ordinary requests, before anything said that they would be many.
  expect(sizes().toSorted((a, b) => a - b)).toEqual([1, 7, 32]);
  expect(reads(await outcomesOf(dispatcher, asked))).toBe(32);
  await dispatcher.stop();
});

describe("a first request that fails", () => {
  const refuseSome = (refused: readonly string[]): FakeOptions => ({
    answer: ({ body }) => {
      const text = JSON.stringify(body);
      const isRefused = refused.some((one) => text.includes(`"Say ${one}."`));
      if (isRefused) return { status: 400, body: { error: { type: "invalid_request_error", message: "No." } } };
      const usage = { input_tokens: 10, output_tokens: 1 };
      const content = [{ type: "text", text: "Yes." }];
      return {
        status: 200,
        body: { id: "msg", type: "message", role: "assistant", content, stop_reason: "end_turn", usage },
      };
    },
  });

  test("gives its place to the next", async () => {
    const { start, rest, sizes } = rig(refuseSome(["0"]));
    const dispatcher = await start();
    const asked = some(50);
    await dispatcher.enqueueMany(asked);
    await rest();
    expect(sizes()).toEqual([1, 1, 48]);
    expect(reads(await outcomesOf(dispatcher, asked))).toBe(48);
    await dispatcher.stop();
  });

  test("does so once: when both fail, all go", async () => {
    const { start, rest, sizes } = rig(refuseSome(["0", "1"]));
    const dispatcher = await start();
    const asked = some(50);
    await dispatcher.enqueueMany(asked);
    await rest();
    expect(sizes()).toEqual([1, 1, 48]);
    const outcomes = await outcomesOf(dispatcher, asked);
    expect([reads(outcomes), outcomes.filter(({ status }) => status === "failed").length]).toEqual([0, 2]);
    await dispatcher.stop();
  });
});

test("the rest waits an hour at most", async () => {
  const { start, rest, sizes, fake } = rig({ plan: { validateMs: 0, runMs: 5 * HOUR, finalizeMs: 0 } });
  const dispatcher = await start();
  await dispatcher.enqueueMany(some(20));
  await rest();
  expect(sizes()).toEqual([1, 19]);
  const times = fake.batches().map(({ acceptedAt }) => acceptedAt);
  expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(HOUR + MINUTE);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(HOUR - MINUTE);
  await dispatcher.stop();
});

test("a request with a deadline waits half of its time, and the others keep waiting", async () => {
  const { start, rest, sizes, time } = rig({ plan: { validateMs: 0, runMs: 50 * MINUTE, finalizeMs: 0 } });
  const dispatcher = await start();
  const asked = some(20);
  const near = asked.slice(10, 15).map((request) => ({ ...request, deadlineAt: time.now() + 65 * MINUTE }));
  const all = [...asked.slice(0, 10), ...near, ...asked.slice(15)];
  await dispatcher.enqueueMany(all);
  await rest();
  expect(sizes()).toEqual([1, 5, 14]);
  const outcomes = await outcomesOf(dispatcher, all);
  expect(reads(outcomes)).toBe(14);
  await dispatcher.stop();
});

test("five-minute blocks are not waited for, and reported once", async () => {
  const { start, rest, sizes, told } = rig();
  const dispatcher = await start();
  await dispatcher.enqueueMany(some(20, "short", {}, "5m"));
  await dispatcher.enqueueMany(some(20, "short too", {}, "5m"));
  await rest();
  expect(sizes()).toEqual([40]);
  expect(told).toEqual(["CACHE_TOO_SHORT"]);
  await dispatcher.stop();
});

test("bodies of Anthropic's own endpoint share prefixes of tools, system and messages", async () => {
  const { start, rest, sizes } = rig();
  const dispatcher = await start();
  const mark = { cache_control: { type: "ephemeral", ttl: "1h" } };
  const bodies: ((n: number) => JsonObject)[] = [
    () => ({ tools: [{ name: "t", input_schema: { type: "object" }, ...mark }] }),
    () => ({ system: [{ type: "text", text: "Long.".repeat(99), ...mark }] }),
  ];
  const asked = bodies.flatMap((own, kind) =>
    Array.from({ length: 10 }, (_, n) => ({
      id: `${kind}-${n}`,
      endpoint: "/v1/messages" as const,
      body: { model: "m", max_tokens: 9, messages: [{ role: "user", content: `${n}` }], ...own(n) },
    })),
  );
  const turn = (n: number): DispatchRequest => ({
    id: `turn-${n}`,
    endpoint: "/v1/messages",
    body: {
      ...{ model: "m", max_tokens: 9 },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Book.".repeat(99), ...mark },
            { type: "text", text: `${n}` },
          ],
        },
      ],
    },
  });
  const all = [...asked, ...Array.from({ length: 10 }, (_, n) => turn(n))];
  await dispatcher.enqueueMany(all);
  await rest();
  expect(sizes().toSorted((a, b) => a - b)).toEqual([3, 27]);
  expect(reads(await outcomesOf(dispatcher, all))).toBe(27);
  await dispatcher.stop();
});

test("requests that come while the first one runs wait for their own first one", async () => {
  const { start, rest, sizes, fake } = rig({ plan: { validateMs: 0, runMs: 40 * MINUTE, finalizeMs: 0 } });
  const dispatcher = await start();
  await dispatcher.enqueueMany(some(20, "one"));
  await rest(async () => fake.batches().length === 1);
  const later = some(20, "two");
  await dispatcher.enqueueMany(later);
  await rest();
  expect(sizes().toSorted((a, b) => a - b)).toEqual([1, 1, 19, 19]);
  expect(reads(await outcomesOf(dispatcher, later))).toBe(19);
  await dispatcher.stop();
});

test("many groups run at a time, and each reads the cache of its own first one", async () => {
  const { start, rest, sizes, fake } = rig({ plan: { validateMs: 0, runMs: 50 * MINUTE, finalizeMs: 0 } });
  const dispatcher = await start();
  const groups = Array.from({ length: 9 }, (_, n) => some(20, `g${n}`));
  for (const [index, group] of groups.entries()) {
    await dispatcher.enqueueMany(group);
    await rest(async () => fake.batches().length === index + 1);
  }
  await rest();
  // No slot is left for the last one.
  expect(sizes().toSorted((a, b) => a - b)).toEqual([...Array(8).fill(1), ...Array(8).fill(19), 20]);
  expect(reads(await outcomesOf(dispatcher, groups.flat()))).toBe(8 * 19);
  await dispatcher.stop();
});

test("a process that only enqueues gives each later group its own first one", async () => {
  const { start, rest, sizes, fake } = rig({ plan: { validateMs: 0, runMs: 40 * MINUTE, finalizeMs: 0 } });
  const dispatcher = await start();
  const enqueuer = await start({ isStarted: false });
  const groups = ["one", "two", "three"].map((name) => some(20, name));
  for (const [index, group] of groups.entries()) {
    await enqueuer.enqueueMany(group);
    await rest(async () => fake.batches().length === index + 1);
  }
  await rest();
  expect(sizes().toSorted((a, b) => a - b)).toEqual([1, 1, 1, 19, 19, 19]);
  expect(reads(await outcomesOf(dispatcher, groups.flat()))).toBe(57);
  await Promise.all([dispatcher.stop(), enqueuer.stop()]);
});

test("when the account of the first request is paused, the others go to another one", async () => {
  const { start, rest, sizes, fake } = rig();
  const client = new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch });
  const accounts = ["one", "other"].map((name) => anthropicAccount({ client, name, primeCache: true }));
  const dispatcher = await start({ accounts });
  await dispatcher.enqueueMany(some(20));
  await rest(async () => fake.batches().length === 1);
  const [first] = await dispatcher.batches();
  await dispatcher.pauseAccount(first?.account as string);
  await rest(async () => fake.batches().length === 2);
  const times = fake.batches().map(({ acceptedAt }) => acceptedAt);
  expect(Math.max(...times) - Math.min(...times)).toBeLessThan(RUN_MS + 3 * MINUTE);
  await dispatcher.resumeAccount(first?.account as string);
  await rest();
  expect(sizes()).toEqual([1, 19]);
  await dispatcher.stop();
});

test("a first request that is canceled before it is sent passes its place to the next", async () => {
  const { start, rest, sizes } = rig();
  const dispatcher = await start();
  const asked = some(20);
  await dispatcher.enqueueMany(asked);
  await dispatcher.cancel(asked[0]?.id as string);
  await rest();
  expect(sizes()).toEqual([1, 18]);
  expect(reads(await outcomesOf(dispatcher, asked.slice(1)))).toBe(18);
  await dispatcher.stop();
});

test("a process that dies between the first request and the rest passes the rest to another one", async () => {
  const { start, rest, sizes, fake, time } = rig();
  const process = new SimProcess(time);
  const dying = await start({ process });
  const asked = some(60);
  await dying.enqueueMany(asked);
  await rest(async () => fake.batches().length === 1);
  process.kill();
  const dispatcher = await start();
  await rest();
  expect(sizes()).toEqual([1, 59]);
  expect(reads(await outcomesOf(dispatcher, asked))).toBe(59);
  expect([...fake.runs().values()].every((runs) => runs === 1)).toBe(true);
  await dispatcher.stop();
});

test("a process that dies after it has announced the first batch, and before it is sealed, holds no request back", async () => {
  const { start, rest, sizes, time, store } = rig();
  const process = new SimProcess(time);
  const dying = await start({ process, store: killedBy(process, store, "seal") });
  const asked = some(60);
  await dying.enqueueMany(asked);
  await rest(async () => process.isDead);
  const dispatcher = await start();
  await rest();
  expect(sizes()).toEqual([1, 59]);
  expect(reads(await outcomesOf(dispatcher, asked))).toBe(59);
  await dispatcher.stop();
});

test("two processes send one first request for both, and the rest once", async () => {
  const { start, rest, sizes, fake } = rig();
  const [one, other] = [await start(), await start()];
  const asked = some(60);
  await one.enqueueMany(asked);
  await rest();
  expect(sizes()).toEqual([1, 59]);
  expect([...fake.runs().values()].every((runs) => runs === 1)).toBe(true);
  await Promise.all([one.stop(), other.stop()]);
});

/** The store, for a process that dies when it calls this method. */
function killedBy(process: SimProcess, store: Store, method: string): Store {
  return process.wrap(store, async (name, call) => {
    if (name === method) process.kill();
    return process.isDead ? new Promise(() => {}) : call();
  });
}
