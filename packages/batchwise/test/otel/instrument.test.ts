// The series of a batcher, through OpenTelemetry's SDK and the text of its Prometheus exporter.

import { type Batcher, batch, batchStream, createBatcher, createTokenBatcher, DONE } from "batchwise";
import { instrument } from "batchwise/otel";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { rig, thrownBy } from "../support.ts";
import { metrics } from "./support/telemetry.ts";

const NAME = { batchwise_batcher_name: "words" };

/** Submits an item after a delay. */
function later(clock: VirtualClock, delayMs: number, batcher: Batcher<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    clock.setTimeout(() => batcher.submit("word").then(resolve, reject), delayMs);
  });
}

describe("the metrics of a batcher", () => {
  test("have each item's wait and latency, and each batch's wait, run, size, cost and fill", async () => {
    const { meter, samples } = metrics();
    const cost = (word: string): number => word.length;
    const { clock, handler, batcher } = rig({ name: "words", maxBatchSize: 4, maxBatchCost: 20, cost, maxWaitMs: 300 });
    instrument(batcher, { meter, tracer: null });
    const first = batcher.submit("one");
    await clock.advance(200);
    const second = batcher.submit("three");
    await clock.advance(100);
    await clock.advance(50);
    handler.calls[0]?.answer((word) => word);
    await Promise.all([first, second]);
    await clock.settle();

    const of = await samples();
    const sums = (name: string) => [of.value(`${name}_count`, NAME), of.value(`${name}_sum`, NAME)];
    expect(sums("batchwise_item_wait_duration")).toEqual([2, expect.closeTo(0.4)]);
    expect(sums("batchwise_item_duration")).toEqual([2, expect.closeTo(0.5)]);
    expect(sums("batchwise_batch_wait_duration")).toEqual([1, expect.closeTo(0.3)]);
    expect(sums("batchwise_batch_run_duration")).toEqual([1, expect.closeTo(0.05)]);
    expect(sums("batchwise_batch_size")).toEqual([1, 2]);
    expect(sums("batchwise_batch_cost")).toEqual([1, 8]);
    expect(sums("batchwise_batch_fill")).toEqual([1, 0.5]);
    expect(of.value("batchwise_batch_size_bucket", { ...NAME, le: "1" })).toBe(0);
    expect(of.value("batchwise_batch_size_bucket", { ...NAME, le: "2" })).toBe(1);
  });

  test("count items by outcome, batches by reason, and calls of the handler", async () => {
    const { meter, samples } = metrics();
    const clock = virtualClock();
    const answer = (words: string[]) => words.map((word) => (word === "bad" ? new Error("bad") : word));
    const batcher = createBatcher(answer, { clock, name: "words", maxBatchSize: 2, maxQueueSize: 3, onFull: "reject" });
    instrument(batcher, { meter, tracer: null });
    const signal = AbortSignal.abort();
    const given = [["a"], ["bad"], ["late", { timeoutMs: 0 }], ["gone", { signal }], ["b"], ["c"], ["d"]] as const;
    const all = Promise.allSettled(given.map(([word, options]) => batcher.submit(word, options)));
    await clock.settle();
    await all;

    const of = await samples();
    const items = (outcome: string) =>
      of.value("batchwise_items_settled_total", { ...NAME, batchwise_item_outcome: outcome });
    expect(["completed", "failed", "cancelled", "expired", "rejected"].map(items)).toEqual([2, 1, 1, 1, 2]);
    const batches = (reason: string) =>
      of.value("batchwise_batches_started_total", { ...NAME, batchwise_batch_reason: reason });
    expect([batches("size"), batches("idle")]).toEqual([1, 1]);
    expect(of.value("batchwise_handler_calls_total", NAME)).toBe(2);
  });

  test("name the code of a refusal, and compare runs with the prediction of a latency target", async () => {
    const { meter, samples } = metrics();
    const clock = virtualClock();
    const handler = async (words: string[]): Promise<string[]> => {
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 10 + words.length));
      return words;
    };
    const batcher = createBatcher(handler, { clock, name: "words", maxBatchSize: 8, targetLatencyMs: 50 });
    instrument(batcher, { meter, tracer: null });
    expect((await samples()).value("batchwise_capacity", NAME)).toBe(0);
    const all = Promise.allSettled(Array.from({ length: 12 }, (_, batch) => later(clock, 40 * batch, batcher)));
    for (let step = 0; step < 200; step += 1) await clock.advance(5);
    await all;
    const refused = Promise.allSettled(Array.from({ length: 500 }, () => batcher.submit("word")));
    for (let step = 0; step < 40; step += 1) await clock.advance(5);
    await refused;

    const of = await samples();
    const rejected = { ...NAME, batchwise_item_outcome: "rejected", error_type: "OVERLOADED" };
    expect(of.value("batchwise_items_settled_total", rejected)).toBe(batcher.stats().rejected);
    expect(batcher.stats().rejected).toBeGreaterThan(100);
    expect(of.value("batchwise_capacity", NAME)).toBe(batcher.stats().learned?.target?.capacityPerSecond);
    const [count = 0, sum = 0] = ["count", "sum"].map((end) =>
      of.value(`batchwise_batch_run_prediction_ratio_${end}`, NAME),
    );
    expect(count).toBeGreaterThan(5);
    expect(sum / count).toBeGreaterThan(0.6);
    expect(sum / count).toBeLessThan(1.5);
  });

  test("compare the run of each batch with its own prediction, where the handler works in steps", async () => {
    const { meter, samples } = metrics();
    const clock = virtualClock();
    const handler = async (words: string[]): Promise<string[]> => {
      await new Promise<void>((resolve) => clock.setTimeout(resolve, Math.max(15, 1.2 * words.length)));
      return words;
    };
    const batcher = createBatcher(handler, { clock, name: "words", targetLatencyMs: 200 });
    instrument(batcher, { meter, tracer: null });
    const batches = Array.from({ length: 60 }, (_, batch) => [1, 16, 48][batch % 3] ?? 1);
    for (const size of batches) {
      const all = batcher.submitMany(Array(size).fill("word"));
      await clock.advance(500);
      await all;
    }
    const of = await samples();
    const ratio = (end: string, le = {}) =>
      of.value(`batchwise_batch_run_prediction_ratio_${end}`, { ...NAME, ...le }) ?? 0;
    expect(ratio("count")).toBeGreaterThan(50);
    expect(ratio("sum") / ratio("count")).toBeCloseTo(1, 1);
    expect(ratio("bucket", { le: "2" })).toBe(ratio("count"));
  });

  test("show the waiting and running items, its limits, and how busy the handler is", async () => {
    const { meter, samples } = metrics();
    const { clock, handler, batcher } = rig({
      name: "words",
      maxBatchSize: 2,
      maxBatchCost: 100,
      maxQueueSize: 2,
      concurrency: 1,
    });
    instrument(batcher, { meter, tracer: null });
    const all = ["a", "b", "c", "d", "e"].map((word) => batcher.submit(word));
    await clock.settle();
    await clock.advance(3_000);
    const of = await samples();
    const gauges = Object.fromEntries(
      of.all
        .filter(({ name, labels }) => labels.batchwise_batcher_name === "words" && !/_(bucket|sum|count)$/.test(name))
        .map(({ name, value }) => [name.replace("batchwise_", ""), value]),
    );
    expect(gauges).toEqual({
      items_waiting: 2,
      items_blocked: 1,
      items_running: 2,
      batches_running: 1,
      queue_limit: 2,
      slots_limit: 1,
      batch_cost_limit: 100,
      queue_oldest_wait: 3,
      utilization: 1,
      batches_started_total: 1,
      handler_calls_total: 1,
    });
    for (let call = 0; call < 3; call += 1) {
      handler.calls[call]?.answer((word) => word);
      await clock.settle();
    }
    await Promise.all(all);
    expect((await samples()).value("batchwise_items_waiting", NAME)).toBe(0);
  });

  test("distinguish failed batches by the type of their error", async () => {
    const { meter, samples } = metrics();
    const { clock, handler, batcher } = rig({ name: "words" });
    instrument(batcher, { meter, tracer: null });
    const failing = Promise.allSettled([batcher.submit("a")]);
    await clock.settle();
    handler.calls[0]?.reject(Object.assign(new Error("no"), { code: "ECONNRESET" }));
    await failing;
    await clock.settle();
    expect((await samples()).value("batchwise_batch_run_duration_count", { ...NAME, error_type: "ECONNRESET" })).toBe(
      1,
    );
  });

  test("have the key of a batch as a label on request only", async () => {
    const { meter, samples } = metrics();
    const keyed = (name: string) => createBatcher((words: string[]) => words, { name, key: (word) => word });
    const [plain, labelled] = [keyed("plain"), keyed("labelled")];
    instrument(plain, { meter, tracer: null });
    instrument(labelled, { meter, tracer: null, keyLabel: true });
    await Promise.all([plain.submit("a"), labelled.submit("a"), labelled.submit("b")]);
    const keys = (await samples()).all
      .filter(({ name }) => name === "batchwise_batch_size_count")
      .map(({ labels }) => [labels.batchwise_batcher_name, labels.batchwise_batch_key]);
    expect(keys.sort()).toEqual([
      ["labelled", "a"],
      ["labelled", "b"],
      ["plain", undefined],
    ]);
  });

  test("add up batchers of one name, and keep the counts of closed ones", async () => {
    const { meter, samples } = metrics();
    const make = () => createBatcher((words: string[]) => words, { name: "words", dedupe: (word) => word });
    for (const batcher of [make(), make()]) {
      const detach = instrument(batcher, { meter, tracer: null });
      await batcher.submitMany(["a", "a", "b"]);
      detach();
    }
    const third = make();
    instrument(third, { meter, tracer: null });
    await third.submitMany(["a", "a"]);
    await third.close();
    expect((await samples()).value("batchwise_items_deduped_total", NAME)).toBe(3);
    const of = await samples();
    expect(of.value("batchwise_items_deduped_total", NAME)).toBe(3);
    expect(of.value("batchwise_items_settled_total", NAME)).toBe(8);
    expect(of.value("batchwise_slots_limit", NAME)).toBe(0);
  });

  test("count the answers of the cache", async () => {
    const { meter, samples } = metrics();
    const dedupe = (word: string): string => word;
    const batcher = createBatcher((words: string[]) => words, { name: "words", dedupe, cache: new Map() });
    instrument(batcher, { meter, tracer: null });
    await batcher.submit("a");
    await batcher.submit("a");
    expect((await samples()).value("batchwise_items_cached_total", NAME)).toBe(1);
  });

  test("carry the attributes given", async () => {
    const { meter, samples } = metrics();
    const double = batch((numbers: number[]) => numbers.map((value) => value * 2), { name: "double" });
    instrument(double, { meter, tracer: null, attributes: { region: "eu" } });
    await double(1);
    const labels = { batchwise_batcher_name: "double", region: "eu" };
    expect((await samples()).value("batchwise_batches_started_total", labels)).toBe(1);
  });

  test("are those of streams and of token batchers too", async () => {
    const { meter, samples } = metrics();
    const stream = batchStream(
      async function* (words: string[]) {
        yield words;
        yield words.map((): typeof DONE => DONE);
      },
      { name: "stream" },
    );
    const tokens = createTokenBatcher((texts: string[]) => texts, { name: "tokens", maxBatchTokens: 100 });
    instrument(stream, { meter, tracer: null });
    instrument(tokens, { meter, tracer: null });
    for await (const word of stream("a")) expect(word).toBe("a");
    await tokens.submit("a text", { tokens: 25 });
    const of = await samples();
    expect(of.value("batchwise_items_settled_total", { batchwise_batcher_name: "stream" })).toBe(1);
    expect(of.value("batchwise_batch_cost_sum", { batchwise_batcher_name: "tokens" })).toBe(25);
    expect(of.value("batchwise_batch_fill_sum", { batchwise_batcher_name: "tokens" })).toBe(0.25);
  });
});

describe("instrument", () => {
  test("ends its work when the function that it returned is called, or by `using`", async () => {
    const { meter, samples } = metrics();
    const batcher = createBatcher((words: string[]) => words, { name: "words" });
    {
      using _detach = instrument(batcher, { meter, tracer: null });
      await batcher.submit("a");
      expect((await samples()).value("batchwise_slots_limit", NAME)).toBe(1);
    }
    await batcher.submit("b");
    const of = await samples();
    expect(of.value("batchwise_items_settled_total", NAME)).toBe(1);
    expect(of.value("batchwise_slots_limit", NAME)).toBe(0);
  });

  test("refuses other objects, unknown options and wrong ones", () => {
    const batcher = createBatcher((words: string[]) => words);
    const message = (given: () => unknown) => thrownBy(given) as Error;
    expect(message(() => instrument({} as never))).toMatchObject({
      code: "INVALID_OPTION",
      message: "Expected `batcher` to be a batcher of this thread, made by this package",
    });
    expect(message(() => instrument(undefined as never))).toMatchObject({ code: "INVALID_OPTION" });
    expect(message(() => instrument(batcher, { metre: null } as never)).message).toBe(
      "Unknown option `metre`, did you mean `meter`?",
    );
    expect(message(() => instrument(batcher, { meter: 1 } as never))).toMatchObject({ code: "INVALID_OPTION" });
    expect(message(() => instrument(batcher, { tracer: {} } as never))).toMatchObject({ code: "INVALID_OPTION" });
    expect(message(() => instrument(batcher, { keyLabel: "yes" } as never))).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("reports a meter that throws as a warning, and the batch continues", async () => {
    const { meter } = metrics();
    const { clock, handler, batcher } = rig({ name: "words" });
    const warnings: string[] = [];
    batcher.on("warning", ({ code }) => warnings.push(code));
    const broken = Object.create(meter, {
      createHistogram: {
        value: () => ({
          record: () => {
            throw new Error("broken");
          },
        }),
      },
    });
    instrument(batcher, { meter: broken, tracer: null });
    const answer = batcher.submit("a");
    await clock.settle();
    handler.calls[0]?.answer((word) => word);
    expect(await answer).toBe("a");
    expect(new Set(warnings)).toEqual(new Set(["OBSERVER_FAILED"]));
  });

  test("does nothing, and costs little, where no SDK is set up", async () => {
    const batcher = createBatcher((words: string[]) => words);
    const detach = instrument(batcher);
    expect(await batcher.submit("a")).toBe("a");
    detach();
  });
});
