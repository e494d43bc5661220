// The same batcher or dispatcher instrumented more than once.

import { trace } from "@opentelemetry/api";
import { batch, createBatcher } from "batchwise";
import { instrument, instrumentDispatcher } from "batchwise/otel";
import { describe, expect, onTestFinished, test } from "vitest";
import { Teller } from "./support/every-event.ts";
import { metrics, spans } from "./support/telemetry.ts";

const NAME = { batchwise_batcher_name: "words" };
const echo = (words: string[]): string[] => words;

describe("a batcher that is instrumented twice", () => {
  test("with the same meter counts once, until the last of the two is detached", async () => {
    const { meter, samples } = metrics();
    const batcher = createBatcher(echo, { name: "words", maxQueueSize: 10 });
    const first = instrument(batcher, { meter, tracer: null });
    const second = instrument(batcher, { meter, tracer: null });
    await batcher.submit("a");
    let of = await samples();
    expect(of.value("batchwise_items_settled_total", NAME)).toBe(1);
    expect(of.value("batchwise_batch_size_count", NAME)).toBe(1);
    expect(of.value("batchwise_queue_limit", NAME)).toBe(10);
    first();
    first();
    await batcher.submit("b");
    of = await samples();
    expect(of.value("batchwise_items_settled_total", NAME)).toBe(2);
    expect(of.value("batchwise_queue_limit", NAME)).toBe(10);
    second();
    await batcher.submit("c");
    of = await samples();
    expect(of.value("batchwise_items_settled_total", NAME)).toBe(2);
    expect(of.value("batchwise_queue_limit", NAME)).toBe(0);
    instrument(batcher, { meter, tracer: null });
    await batcher.submit("d");
    expect((await samples()).value("batchwise_items_settled_total", NAME)).toBe(3);
  });

  test("with the same tracer has one span a batch", async () => {
    const { tracer, ended } = spans();
    const batcher = createBatcher(echo, { name: "words" });
    const detach = instrument(batcher, { meter: null, tracer });
    instrument(batcher, { meter: metrics().meter, tracer });
    await batcher.submit("a");
    expect(ended().length).toBe(1);
    detach();
    await batcher.submit("b");
    expect(ended().length).toBe(2);
  });

  test("with the global meter and tracer, which make another one at each call, is observed once", async () => {
    const { tracer, ended } = spans();
    const provider = { getTracer: () => Object.create(tracer) };
    trace.setGlobalTracerProvider(provider);
    onTestFinished(() => trace.disable());
    const batcher = createBatcher(echo, { name: "words" });
    instrument(batcher);
    instrument(batcher);
    await batcher.submit("a");
    expect(ended().length).toBe(1);
  });

  test("for metrics and for spans has both", async () => {
    const { meter, samples } = metrics();
    const { tracer, ended } = spans();
    const double = batch((numbers: number[]) => numbers.map((value) => value * 2), { name: "words" });
    const detach = instrument(double, { meter, tracer: null });
    instrument(double, { meter: null, tracer });
    await double(1);
    expect((await samples()).value("batchwise_batches_started_total", NAME)).toBe(1);
    expect(ended().length).toBe(1);
    detach();
    await double(1);
    expect(ended().length).toBe(2);
  });

  test("with other labels has series of both", async () => {
    const { meter, samples } = metrics();
    const batcher = createBatcher(echo, { name: "words" });
    for (const region of ["eu", "us"]) instrument(batcher, { meter, tracer: null, attributes: { region } });
    await batcher.submit("a");
    const of = await samples();
    expect(of.value("batchwise_items_settled_total", { ...NAME, region: "eu" })).toBe(1);
    expect(of.value("batchwise_items_settled_total", { ...NAME, region: "us" })).toBe(1);
  });

  test("keeps the `keyLabel` that it had", async () => {
    const { meter, samples } = metrics();
    const batcher = createBatcher(echo, { name: "words", key: (word) => word });
    instrument(batcher, { meter, tracer: null, keyLabel: true });
    instrument(batcher, { meter, tracer: null });
    await batcher.submit("a");
    const of = await samples();
    expect(of.value("batchwise_batch_size_count", NAME)).toBe(1);
    expect(of.value("batchwise_batch_size_count", { ...NAME, batchwise_batch_key: "a" })).toBe(1);
  });
});

test("a dispatcher that is instrumented twice counts once, until the last of the two is detached", async () => {
  const { meter, samples } = metrics();
  const { tracer, ended } = spans();
  const dispatcher = new Teller();
  const detach = instrumentDispatcher(dispatcher, { meter, tracer });
  const last = instrumentDispatcher(dispatcher, { meter, tracer });
  const uploads = async () => (await samples()).value("batchwise_dispatch_uploads_total");
  dispatcher.tellAll();
  expect([await uploads(), ended().length]).toEqual([1, 1]);
  detach();
  dispatcher.tellAll();
  expect([await uploads(), ended().length]).toEqual([2, 2]);
  last();
  expect(dispatcher.listened).toEqual([]);
});
