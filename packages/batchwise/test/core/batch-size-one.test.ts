// The tables of docs/why-is-my-batch-size-1.md: each row's cause is created in virtual time, and
// the statistics match the row. Then the advice of docs/tuning.md on waits and slots. Every batch
// takes 20 ms.

import { type BatcherStats, type BatchOptions, createBatcher, type SubmitOptions } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { rowsIn } from "../house/docs/references.ts";
import { textOf } from "../house/repository.ts";

interface Load extends BatchOptions<number, number> {
  /** Between two submits; with `inTurn`, between an answer and the next submit. */
  readonly everyMs: number;
  /** Whether a caller waits for its answer before it submits again. */
  readonly inTurn?: boolean;
  readonly submit?: SubmitOptions;
  /** The caller's call after each submit. */
  readonly calls?: "flush" | "close";
}

/** Statistics after 40 submits; after the first one if the caller closes. */
async function statsOf({ everyMs, inTurn = false, submit = {}, calls, ...options }: Load): Promise<BatcherStats> {
  const clock = virtualClock();
  const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
  const batcher = createBatcher((items: number[]) => sleep(20).then(() => items), { clock, ...options });
  const answers: Promise<unknown>[] = [];
  const submitAll = async (): Promise<void> => {
    for (let item = 0; item < 40; item += 1) {
      const answer = batcher.submit(item, submit);
      answers.push(answer);
      if (calls === "flush") void batcher.flush();
      if (calls === "close") return batcher.close();
      if (inTurn) await answer;
      await sleep(everyMs);
    }
  };
  const all = submitAll();
  await clock.runAll();
  await Promise.all([all, ...answers]);
  return batcher.stats();
}

const page = textOf("docs/why-is-my-batch-size-1.md");
const rows = rowsIn(page);

describe("single items go because of", () => {
  /** The cause of each reason, and the page's advice. */
  const reasons: Readonly<Record<string, { readonly cause: Load; readonly advice: Load }>> = {
    idle: { cause: { everyMs: 30 }, advice: { everyMs: 30, maxWaitMs: 100 } },
    wait: { cause: { everyMs: 30, maxWaitMs: 20 }, advice: { everyMs: 30, maxWaitMs: 100 } },
    size: { cause: { everyMs: 5, maxBatchSize: 1 }, advice: { everyMs: 5, maxBatchSize: 8 } },
    cost: {
      cause: { everyMs: 5, cost: () => 60, maxBatchCost: 100 },
      advice: { everyMs: 5, cost: () => 60, maxBatchCost: 1_000 },
    },
    deadline: {
      cause: { everyMs: 30, maxWaitMs: 200, submit: { timeoutMs: 40 } },
      advice: { everyMs: 30, maxWaitMs: 200, submit: { timeoutMs: 400 } },
    },
    preferred: {
      cause: { everyMs: 30, maxWaitMs: 200, preferredBatchSize: 1 },
      advice: { everyMs: 30, maxWaitMs: 200, preferredBatchSize: 4 },
    },
    flush: { cause: { everyMs: 30, maxWaitMs: 200, calls: "flush" }, advice: { everyMs: 30, maxWaitMs: 200 } },
    drain: { cause: { everyMs: 30, maxWaitMs: 200, calls: "close" }, advice: { everyMs: 30, maxWaitMs: 200 } },
  };

  test("each reason that the page has", () => {
    const named = rows.flatMap(([first = ""]) => [...first.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(named.filter((name) => name !== undefined && name in reasons)).toEqual(Object.keys(reasons));
  });

  test.each(Object.entries(reasons))("%s, and larger batches once the page's advice is taken", async (reason, load) => {
    const { batches, batchesByReason, averageBatchSize } = await statsOf(load.cause);
    expect(averageBatchSize).toBeLessThan(1.1);
    expect(batchesByReason[reason as keyof typeof batchesByReason]).toBeGreaterThan(0.9 * batches);
    expect((await statsOf(load.advice)).averageBatchSize).toBeGreaterThan(2);
  });
});

describe("of single items that go because a slot is idle", () => {
  const ownKeys = { key: String };
  /** Causes of the page's second table, by its links, in all forms of a row. */
  const causes: readonly [links: string, load: Load][] = [
    ["callers-that-wait-for-one-another", { everyMs: 0, inTurn: true }],
    ["callers-that-wait-for-one-another", { everyMs: 0, inTurn: true, concurrency: 8 }],
    ["callers-that-wait-for-one-another too-little-traffic a-batcher-for-each-caller", { everyMs: 60, inTurn: true }],
    ["callers-that-wait-for-one-another too-little-traffic a-batcher-for-each-caller", { everyMs: 60 }],
    ["callers-that-wait-for-one-another too-little-traffic a-batcher-for-each-caller", { everyMs: 60, concurrency: 8 }],
    ["too-many-slots keys", { everyMs: 2, concurrency: 16 }],
    ["too-many-slots keys", { everyMs: 2, concurrency: 16, ...ownKeys }],
    ["keys", { everyMs: 2, ...ownKeys }],
    ["keys", { everyMs: 2, concurrency: 4, ...ownKeys }],
  ];
  const linksOf = (cell: string): string => [...cell.matchAll(/\(#([\w-]+)\)/g)].map(([, link]) => link).join(" ");
  const table = rows.filter(([first = ""]) => /^(near 0|as long as calls take)$/.test(first));

  /** Whether the statistics match a cell. */
  const says: Readonly<Record<string, (stats: BatcherStats, atOnce: number, slots: number) => boolean>> = {
    "near 0": ({ waitMs, runMs }) => waitMs.p99 < runMs.p50 / 4,
    "as long as calls take": ({ waitMs, runMs }) => waitMs.p99 > 0.9 * runMs.p50,
    "about 1": (_, atOnce) => atOnce < 1.1,
    "more than 1": (_, atOnce) => atOnce > 1.5,
    "all slots": (_, atOnce, slots) => atOnce > 0.9 * slots,
    "near 1": ({ utilization }) => utilization > 0.9,
    "well below 1": ({ utilization }) => utilization < 0.5,
    any: () => true,
  };

  test.each(causes)("the row of %s, and no other, describes %j", async (links, load) => {
    const stats = await statsOf(load);
    const atOnce = (stats.batches * stats.runMs.mean) / stats.busyMs;
    expect(stats.averageBatchSize).toBe(1);
    expect(stats.batchesByReason.idle).toBe(40);
    const fitting = table.filter((cells) =>
      cells.slice(0, 3).every((cell) => says[cell]?.(stats, atOnce, load.concurrency ?? 1)),
    );
    expect(fitting.map((cells) => linksOf(cells[3] ?? ""))).toEqual([links]);
  });

  test("every row is described", () => {
    expect(table.map((cells) => linksOf(cells[3] ?? ""))).toEqual([...new Set(causes.map(([links]) => links))]);
  });
});

describe("with `maxWaitMs`, where most batches go because they waited", () => {
  const slotsInUse = ({ batches, runMs, busyMs, idleMs }: BatcherStats): number =>
    (batches * runMs.mean) / (busyMs + idleMs);

  test.each([1, 4])("and few of %d slots are in use, the wait is latency", async (concurrency) => {
    const waiting = await statsOf({ everyMs: 60, concurrency, maxWaitMs: 15 });
    const { latencyMs } = await statsOf({ everyMs: 60, concurrency });
    expect(waiting.batchesByReason.wait).toBe(waiting.batches);
    expect(slotsInUse(waiting)).toBeLessThan(concurrency / 2);
    expect(waiting.latencyMs.mean - latencyMs.mean).toBeCloseTo(15);
  });

  test.each([1, 2])("and all of %d slots are in use, the wait changes nothing", async (concurrency) => {
    const waiting = await statsOf({ everyMs: 2, concurrency, maxWaitMs: 8 });
    const { latencyMs } = await statsOf({ everyMs: 2, concurrency });
    expect(waiting.batchesByReason.wait).toBeGreaterThan(waiting.batches / 2);
    expect(slotsInUse(waiting)).toBeGreaterThan(0.7 * concurrency);
    expect(waiting.latencyMs.mean / latencyMs.mean).toBeLessThan(1.1);
  });
});
