// Pruning through the dispatcher: the facts that remain, and callers that wait for or read pruned
// outcomes.

import { describe, expect, test } from "vitest";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import type { PruneOptions } from "../../../src/dispatch/contract/types.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, isAtRest, type World, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Place extends World {
  readonly dispatcher: Dispatcher;
  readonly more: (options?: Partial<DispatcherOptions>) => Promise<Dispatcher>;
  /** Requests of these names, ended. */
  readonly ended: (...names: string[]) => Promise<void>;
  readonly pruned: (options: PruneOptions) => ReturnType<Dispatcher["prune"]>;
}

async function place(options: Partial<DispatcherOptions> = {}): Promise<Place> {
  const all = world();
  const provider = new SimProvider({ time: all.time });
  const more = (own: Partial<DispatcherOptions> = {}): Promise<Dispatcher> =>
    all.start({ accounts: [provider.account()], thresholds: { maxRequests: 10, maxAgeMs: MINUTE }, ...own });
  const dispatcher = await more(options);
  return {
    ...all,
    dispatcher,
    more,
    ended: async (...names) => {
      await dispatcher.enqueueMany(names.map((name) => ask(name)));
      await all.until(async () => (await all.store.probe(1, all.time.now())).inBatches > 0);
      await all.until(async () => {
        const { lanes, inBatches } = await all.store.probe(1, all.time.now());
        return lanes.length === 0 && inBatches === 0;
      });
    },
    pruned: async (wanted) => {
      const pruning = dispatcher.prune(wanted);
      await all.time.advance(1_000);
      return pruning;
    },
  };
}

async function idsOf(dispatcher: Dispatcher, after = 0): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of dispatcher.outcomes({ after, untilIdle: true })) ids.push(id);
  return ids;
}

describe("a pruned request", () => {
  test("is still existing to the same enqueue, and its id is taken for another body", async () => {
    const { dispatcher, ended, pruned } = await place();
    await ended("a");
    expect(await pruned({ olderThanMs: 0 })).toEqual({ requests: 1, batches: 0, kept: 0 });
    expect(await dispatcher.enqueue(ask("a"))).toEqual({ id: "a", existing: true });
    const other = ask("a", { body: { model: "m", messages: [{ role: "user", content: "other" }] } });
    await expect(dispatcher.enqueue(other)).rejects.toMatchObject({ code: "DUPLICATE_ID" });
    await expect(dispatcher.result("a")).rejects.toMatchObject({ code: "PRUNED", retryable: false });
    await expect(dispatcher.result("b")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await dispatcher.retry("a")).toBe(0);
    expect(await dispatcher.cancel("a")).toBe("not_found");
    expect((await dispatcher.stats()).outcomes.succeeded).toBe(1);
  });

  test("without an id of the caller's keeps its id taken, whatever the body", async () => {
    const { dispatcher, pruned, until, store, time } = await place();
    const body = { model: "m", messages: [{ role: "user", content: "a" }] };
    const { id } = await dispatcher.enqueue({ body });
    await until(async () => (await store.probe(1, time.now())).outcomes.succeeded === 1);
    await pruned({ olderThanMs: 0 });
    await expect(dispatcher.result(id)).rejects.toMatchObject({ code: "PRUNED" });
    await expect(dispatcher.enqueue({ id, body })).rejects.toMatchObject({ code: "DUPLICATE_ID" });
  });

  test("ends the wait of an earlier caller, when it is pruned before its outcome was read", async () => {
    const { dispatcher, store, time, until, more } = await place();
    await dispatcher.enqueue(ask("a"));
    const waiting = await more();
    // Another process prunes at the moment at which the outcome is there.
    const settle = store.settle.bind(store);
    store.settle = async (input) => {
      const answer = await settle(input);
      await store.prune({
        ...{ before: Infinity, batchesBefore: 0, statuses: ["succeeded"], after: 0, limit: 100, now: input.now },
      });
      return answer;
    };
    let heard: unknown = null;
    waiting.result("a").catch((error: unknown) => {
      heard = error;
    });
    await until(async () => heard !== null, HOUR * 3);
    expect(heard).toMatchObject({ code: "PRUNED" });
    expect((await store.probe(1, time.now())).outcomes.succeeded).toBe(1);
  });
});

test("a reader whose cursor points into the pruned part continues behind it", async () => {
  const { dispatcher, ended, pruned, time } = await place();
  await ended("a", "b");
  await time.advance(HOUR);
  await ended("c");
  const reader = dispatcher.outcomes({ untilIdle: true });
  expect((await reader.next()).value).toMatchObject({ cursor: 1 });
  expect(await pruned({ olderThanMs: HOUR / 2 })).toMatchObject({ requests: 2 });
  // Its page was read before.
  expect((await reader.next()).value).toMatchObject({ cursor: 2 });
  expect((await reader.next()).value).toMatchObject({ cursor: 3, id: "c" });
  expect(await idsOf(dispatcher, 1)).toEqual(["c"]);
  expect(await idsOf(dispatcher)).toEqual(["c"]);
  await pruned({ olderThanMs: 0 });
  expect(await idsOf(dispatcher, 3)).toEqual([]);
});

test("only outcomes with the given statuses go", async () => {
  const { dispatcher, ended, pruned } = await place();
  await ended("a");
  await dispatcher.enqueue(ask("b"));
  expect(await dispatcher.cancel("b")).toBe("cancelled");
  expect(await pruned({ olderThanMs: 0, statuses: ["cancelled", "failed"] })).toMatchObject({ requests: 1 });
  expect(await idsOf(dispatcher)).toEqual(["a"]);
});

test("outcomes that a callback has not taken stay, and are delivered before they go", async () => {
  let isDown = true;
  const heard: string[] = [];
  const onOutcome = ({ id }: { id: string }): void => {
    if (isDown) throw new Error("Down.");
    heard.push(id);
  };
  const { ended, pruned, until, store, time } = await place({ onOutcome });
  await ended("a", "b");
  expect(await pruned({ olderThanMs: 0 })).toMatchObject({ requests: 0, kept: 2 });
  isDown = false;
  await until(() => isAtRest(store, time.now()));
  expect(heard.sort()).toEqual(["a", "b"]);
  expect(await pruned({ olderThanMs: 0 })).toMatchObject({ requests: 2, kept: 0 });
});

test("an ended batch goes with the last of its requests, two days after it ended", async () => {
  const { dispatcher, ended, pruned, time } = await place();
  await ended("a", "b");
  expect(await pruned({ olderThanMs: 0 })).toMatchObject({ requests: 2, batches: 0 });
  expect(await dispatcher.batches()).toHaveLength(1);
  await time.advance(2 * DAY);
  expect(await pruned({ olderThanMs: 0 })).toMatchObject({ requests: 0, batches: 1 });
  expect(await dispatcher.batches()).toEqual([]);
  expect((await dispatcher.stats()).batches.done).toBe(1);
});

describe("a retention", () => {
  test("lets everything go so long after it was recorded, by one process at a time", async () => {
    const { dispatcher, ended, more, store, time } = await place({ retentionMs: DAY });
    await more({ retentionMs: DAY, owner: "other" });
    await ended("a", "b");
    let prunes = 0;
    const prune = store.prune.bind(store);
    store.prune = async (input) => {
      prunes += 1;
      return prune(input);
    };
    await time.advance(DAY - HOUR);
    expect(await idsOf(dispatcher)).toEqual(["a", "b"]);
    // Two processes, every ten minutes: one run each time.
    expect(prunes).toBeLessThanOrEqual(23 * 6 + 1);
    await time.advance(HOUR + 20 * MINUTE);
    expect(await idsOf(dispatcher)).toEqual([]);
    await time.advance(2 * DAY);
    expect(await dispatcher.batches()).toEqual([]);
  });

  test("that a stop cuts off is no error", async () => {
    const told: unknown[] = [];
    const { dispatcher, ended, store, time } = await place({ retentionMs: DAY, onError: (error) => told.push(error) });
    await ended("a", "b");
    let stopping: Promise<void> | null = null;
    let steps = 0;
    const prune = store.prune.bind(store);
    store.prune = async (input) => {
      const step = await prune({ ...input, limit: 1 });
      if (step.requests === 0) return step;
      steps += 1;
      stopping ??= dispatcher.stop();
      return step;
    };
    await time.advance(2 * DAY);
    await stopping;
    expect(steps).toBe(1);
    expect(told).toEqual([]);
  });

  test("continues when the process that had the duty is gone", async () => {
    const { dispatcher, ended, more, time } = await place({ retentionMs: DAY });
    const other = await more({ retentionMs: DAY, owner: "other" });
    await ended("a");
    const stopping = dispatcher.stop();
    await time.advance(MINUTE);
    await stopping;
    await time.advance(DAY + HOUR);
    expect(await idsOf(other)).toEqual([]);
  });

  test("forgets an id so long after its request was pruned: it is new, and runs again", async () => {
    const options = { retentionMs: DAY, tombstoneRetentionMs: 2 * DAY };
    const { dispatcher, ended, time } = await place(options);
    await ended("a");
    await time.advance(2 * DAY);
    expect(await dispatcher.enqueue(ask("a"))).toEqual({ id: "a", existing: true });
    await time.advance(DAY + 3 * HOUR);
    expect(await dispatcher.enqueue(ask("a"))).toEqual({ id: "a", existing: false });
    await time.advance(3 * HOUR);
    expect(await idsOf(dispatcher)).toEqual(["a"]);
  });

  test("forgets by hand, and by a retention of only tombstones", async () => {
    const { dispatcher, ended, pruned, more, time } = await place();
    await ended("a", "b");
    await pruned({ olderThanMs: 0 });
    await time.advance(HOUR);
    await pruned({ olderThanMs: 0, tombstoneRetentionMs: 2 * HOUR });
    expect(await dispatcher.enqueue(ask("a"))).toMatchObject({ existing: true });
    await pruned({ olderThanMs: 0, tombstoneRetentionMs: HOUR });
    expect(await dispatcher.enqueue(ask("a"))).toMatchObject({ existing: false });
    await ended("c");
    await pruned({ olderThanMs: 0 });
    await more({ tombstoneRetentionMs: HOUR });
    await time.advance(2 * HOUR);
    expect(await dispatcher.enqueue(ask("c"))).toMatchObject({ existing: false });
  });
});

describe("options", () => {
  test.each([
    ["no options", undefined, "Expected `olderThanMs` to be a finite number >= 0"],
    ["no age", {}, "Expected `olderThanMs` to be a finite number >= 0"],
    ["an age below 0", { olderThanMs: -1 }, "Expected `olderThanMs` to be a finite number >= 0"],
    ["an endless age", { olderThanMs: Infinity }, "Expected `olderThanMs` to be a finite number >= 0"],
    ["an unknown status", { olderThanMs: 0, statuses: ["done"] }, "Expected `statuses` to be"],
    ["one status that is no list", { olderThanMs: 0, statuses: "failed" }, "Expected `statuses` to be an array"],
    ["tombstones kept for no time", { olderThanMs: 0, tombstoneRetentionMs: 0 }, "Expected `tombstoneRetentionMs`"],
    ["another name", { olderThan: 5 }, "olderThan"],
  ])("with %s: refused", async (_name, options, words) => {
    const { dispatcher } = await place();
    await expect(dispatcher.prune(options as PruneOptions)).rejects.toThrow(words);
  });

  test("a retention of 0 is refused", async () => {
    await expect(place({ retentionMs: 0 })).rejects.toThrow("Expected `retentionMs` to be a number > 0");
  });

  test("a dispatcher that stops ends a prune with CLOSED", async () => {
    const { dispatcher, ended } = await place();
    await ended("a");
    const stopping = dispatcher.stop();
    await expect(dispatcher.prune({ olderThanMs: 0 })).rejects.toMatchObject({ code: "CLOSED" });
    await stopping;
  });
});
