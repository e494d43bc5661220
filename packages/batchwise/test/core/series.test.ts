// The statistics of Flyte's `BatchStats` and Ray's `serve_batch_*` series, each with its
// counterpart here and its value for one run. Ray's histograms are per batch, like the fields of
// the batch event.

import { type BatchEvent, type BatcherStats, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { range, rig } from "../support.ts";

interface Run {
  readonly stats: BatcherStats;
  readonly events: readonly BatchEvent[];
  /** While the first batch ran: 8 items in the batch, 5 waiting. */
  readonly during: BatcherStats;
}

const maxBatchSize = 8;

/**
 * 13 items of cost 2 at 100 ms after the batcher was made, batches of 8, a handler of 30 ms that
 * fails one item. One more item is cancelled while it waits. Then 40 ms idle.
 */
async function run(): Promise<Run> {
  const clock = virtualClock();
  const handler = async (items: number[]): Promise<(number | Error)[]> => {
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, 30));
    return items.map((item) => (item === 3 ? new Error("bad") : item));
  };
  const batcher = createBatcher<number, number>(handler, { clock, maxBatchSize, cost: () => 2 });
  const events: BatchEvent[] = [];
  batcher.on("batch", (event) => void events.push(event));
  await clock.advance(100);
  const leave = new AbortController();
  void batcher.submitSettled(range(13));
  batcher.submit(99, { signal: leave.signal }).catch(() => {});
  leave.abort();
  await clock.advance(10);
  const during = batcher.stats();
  await clock.advance(50);
  await clock.advance(40);
  return { stats: batcher.stats(), events, during };
}

type Series = [name: string, ours: (run: Run) => unknown, value: unknown];

const flyte: Series[] = [
  ["total_submitted", ({ stats }) => stats.submitted, 14],
  // Flyte counts failed and cancelled records as completed; here each outcome has its own count.
  ["total_completed", ({ stats: { completed, failed, cancelled } }) => [completed, failed, cancelled], [12, 1, 1]],
  ["total_batches", ({ stats }) => stats.batches, 2],
  ["total_batch_cost", ({ stats }) => stats.averageBatchCost * stats.batches, 26],
  ["avg_batch_size", ({ stats }) => [stats.averageBatchSize, stats.batchSize.mean], [6.5, 6.5]],
  ["avg_batch_cost", ({ stats }) => [stats.averageBatchCost, stats.batchCost.mean], [13, 13]],
  ["busy_time_s", ({ stats }) => stats.busyMs / 1_000, 0.06],
  ["idle_time_s", ({ stats }) => stats.idleMs / 1_000, 0.04],
  ["utilization = busy / (busy + idle)", ({ stats }) => stats.utilization, 0.6],
];

const ray: Series[] = [
  ["serve_batch_wait_time_ms", ({ events }) => events.map(({ waitMs }) => waitMs), [0, 30]],
  ["serve_batch_wait_time_ms, by item", ({ stats: { waitMs } }) => [waitMs.max, waitMs.mean], [30, (5 * 30) / 13]],
  ["serve_batch_execution_time_ms", ({ events }) => events.map(({ runMs }) => runMs), [30, 30]],
  ["serve_batch_execution_time_ms, all", ({ stats: { runMs } }) => [runMs.mean, runMs.max], [30, 30]],
  ["serve_batch_queue_length", ({ during }) => during.waiting, 5],
  [
    "serve_batch_utilization_percent",
    ({ events }) => events.map(({ size }) => (100 * size) / maxBatchSize),
    [100, 62.5],
  ],
  ["serve_actual_batch_size", ({ events }) => events.map(({ size }) => size), [8, 5]],
  ["serve_actual_batch_size, all", ({ stats: { batchSize } }) => [batchSize.mean, batchSize.max], [6.5, 8]],
  ["serve_actual_batch_size with batch_size_fn", ({ events }) => events.map(({ cost }) => cost), [16, 10]],
  ["serve_actual_batch_size with batch_size_fn, all", ({ stats: { batchCost } }) => batchCost.max, 16],
  ["serve_batches_processed", ({ stats }) => stats.batches, 2],
  // Requested there, and missing there.
  ["dispatch reason", ({ events }) => events.map(({ reason }) => reason), ["size", "idle"]],
  ["jobs queued at release", ({ during }) => [during.running, during.waiting, during.blocked], [8, 5, 0]],
  ["oldest request delay", ({ during }) => during.oldestWaitMs, 10],
];

describe("the counterpart of", () => {
  let seen: Run;
  beforeAll(async () => {
    seen = await run();
  });

  test.each(flyte)("Flyte's %s gives its figure", (_, ours, value) => {
    expect(ours(seen)).toEqual(value);
  });

  test.each(ray)("Ray's %s gives its figure", (_, ours, value) => {
    expect(ours(seen)).toEqual(value);
  });
});

describe("a series without data", () => {
  test("utilization is 0 before the first submit, and does not count the time until then", async () => {
    const of = rig<number>();
    await of.clock.advance(10_000);
    expect(of.batcher.stats()).toMatchObject({ utilization: 0, busyMs: 0, idleMs: 0 });
    void of.batcher.submit(1);
    await of.clock.advance(30);
    expect(of.batcher.stats()).toMatchObject({ utilization: 1, busyMs: 30, idleMs: 0 });
  });

  test("no average is ever NaN: all are 0 while there was no batch", () => {
    const { learned, ...figures } = rig().batcher.stats();
    expect(learned).toBe(null);
    const numbers = Object.values(figures).flatMap((value) =>
      typeof value === "number" ? [value] : Object.values(value),
    );
    expect(numbers.every((value) => value === 0)).toBe(true);
  });

  test.each([true, false])("busy and idle time stand still after close({ drain: %s })", async (drain) => {
    const of = rig<number>();
    of.batcher.submit(1).catch(() => {});
    await of.clock.advance(30);
    if (drain) of.handler.open[0]?.answer((item) => item);
    await of.clock.advance(10);
    await of.batcher.close({ drain });
    const atClose = of.batcher.stats();
    expect(atClose).toMatchObject({ busyMs: drain ? 30 : 40, idleMs: drain ? 10 : 0 });
    await of.clock.advance(10_000);
    of.handler.open[0]?.answer((item) => item);
    await of.clock.settle();
    expect(of.batcher.stats()).toEqual(atClose);
  });

  test("time in which several batches run at once counts once", async () => {
    const of = rig<number>({ maxBatchSize: 1, concurrency: 3 });
    void of.batcher.submitMany(range(3));
    await of.clock.advance(20);
    of.handler.open[0]?.answer((item) => item);
    await of.clock.advance(20);
    for (const call of of.handler.open) call.answer((item) => item);
    await of.clock.advance(60);
    expect(of.batcher.stats()).toMatchObject({ busyMs: 40, idleMs: 60, utilization: 0.4 });
  });
});

describe("submits outside a full queue", () => {
  test("are counted as blocked, not as waiting, until their callers cancel", async () => {
    const of = rig<number>({ maxQueueSize: 2, maxBatchSize: 1 });
    of.batcher.pause();
    const leave = new AbortController();
    void of.batcher.submitMany(range(4));
    of.batcher.submit(4, { signal: leave.signal }).catch(() => {});
    of.batcher.submit(5, { timeoutMs: 10 }).catch(() => {});
    expect(of.batcher.stats()).toMatchObject({ submitted: 6, waiting: 2, blocked: 4 });
    leave.abort();
    await of.clock.advance(10);
    expect(of.batcher.stats()).toMatchObject({ waiting: 2, blocked: 2, cancelled: 1, expired: 1 });
    of.batcher.resume();
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ running: 1, runningBatches: 1, waiting: 2, blocked: 1 });
  });
});
