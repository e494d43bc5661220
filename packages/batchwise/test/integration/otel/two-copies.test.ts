// An application may load the package by `import` and by `require`: two copies that instrument on
// the same meter.

import { createRequire } from "node:module";
import { createBatcher } from "batchwise";
import { beforeAll, expect, test } from "vitest";
import { built } from "../../house/repository.ts";
import { EVENTS, Teller } from "../../otel/support/every-event.ts";
import { metrics, spans } from "../../otel/support/telemetry.ts";

type Copy = typeof import("batchwise/otel");

let one: Copy;
let two: Copy;

beforeAll(async () => {
  one = (await import(/* @vite-ignore */ built("otel/index.js"))) as Copy;
  two = createRequire(import.meta.url)(built("otel/index.cjs")) as Copy;
});

const echo = (words: string[]): string[] => words;
const NAME = { batchwise_batcher_name: "words" };

test("the copies are two", () => {
  expect(one.instrument).not.toBe(two.instrument);
});

test("a batcher that both instrument is observed by both, until each of them is detached", async () => {
  const { meter, samples } = metrics();
  const { tracer, ended } = spans();
  const batcher = createBatcher(echo, { name: "words" });
  const detach = one.instrument(batcher, { meter, tracer: null });
  two.instrument(batcher, { meter: null, tracer });
  await batcher.submit("a");
  const started = async () => (await samples()).value("batchwise_batches_started_total", NAME);
  expect([await started(), ended().length]).toEqual([1, 1]);
  detach();
  await batcher.submit("b");
  expect([await started(), ended().length]).toEqual([1, 2]);
});

test("batchers of one name add up, whichever copy instruments them", async () => {
  const { meter, samples } = metrics();
  for (const [copy, count] of [[one, 3] as const, [two, 5] as const]) {
    const batcher = createBatcher(echo, { name: "words" });
    batcher.pause();
    for (let index = 0; index < count; index += 1) void batcher.submit(`${index}`);
    copy.instrument(batcher, { meter, tracer: null });
  }
  expect((await samples()).value("batchwise_items_waiting", NAME)).toBe(8);
});

test("dispatchers share gauges, whichever copy instruments them", async () => {
  const { meter, samples } = metrics();
  const lanes = (waiting: number) => ({ lanes: EVENTS.lanes.lanes.map((lane) => ({ ...lane, waiting })) });
  const [first, second] = [new Teller(), new Teller()];
  one.instrumentDispatcher(first, { meter, tracer: null });
  const detach = two.instrumentDispatcher(second, { meter, tracer: null });
  first.tell("lanes", lanes(5));
  second.tell("lanes", lanes(3));
  expect((await samples()).value("batchwise_dispatch_lane_requests")).toBe(5);
  detach();
  expect((await samples()).value("batchwise_dispatch_lane_requests")).toBe(5);
});

test("a batcher that both instrument with the same meter counts once", async () => {
  const { meter, samples } = metrics();
  const batcher = createBatcher(echo, { name: "words" });
  const detach = one.instrument(batcher, { meter, tracer: null });
  two.instrument(batcher, { meter, tracer: null });
  await batcher.submit("a");
  expect((await samples()).value("batchwise_items_settled_total", NAME)).toBe(1);
  detach();
  await batcher.submit("b");
  expect((await samples()).value("batchwise_items_settled_total", NAME)).toBe(2);
});
