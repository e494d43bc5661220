// Memory after a long life: batchers that come and go, and errors with ever new codes.

import type { BatchObservableCallback, BatchObservableResult, Meter, Observable } from "@opentelemetry/api";
import { BatchwiseError, createBatcher } from "batchwise";
import { instrument, instrumentDispatcher } from "batchwise/otel";
import { describe, expect, test } from "vitest";
import { reasonOf } from "../support.ts";
import { EVENTS, Teller } from "./support/every-event.ts";
import { metrics } from "./support/telemetry.ts";

const echo = (words: string[]): string[] => words;

/** A meter, and the number of values that it received since the last call. */
function counted(meter: Meter) {
  let told = 0;
  const add = (callback: BatchObservableCallback, observables: Observable[]): void => {
    const counting = (result: BatchObservableResult) => {
      const observe: BatchObservableResult["observe"] = (...given) => {
        told += 1;
        result.observe(...given);
      };
      return callback({ observe });
    };
    meter.addBatchObservableCallback(counting, observables);
  };
  const own: Meter = Object.create(meter, { addBatchObservableCallback: { value: add } });
  const toldSince = (): number => {
    const count = told;
    told = 0;
    return count;
  };
  return { meter: own, toldSince };
}

describe("batchers that are gone", () => {
  test("write no series where none was ever collected", async () => {
    const { meter, samples } = metrics();
    for (let index = 0; index < 50; index += 1) {
      const batcher = createBatcher(echo, { name: `gone ${index}` });
      instrument(batcher, { meter, tracer: null })();
      await batcher.close();
    }
    expect((await samples()).all.filter(({ labels }) => labels.batchwise_batcher_name?.startsWith("gone"))).toEqual([]);
  });

  test("are reported once as 0, and then no longer reported", async () => {
    const { meter: plain, samples } = metrics();
    const { meter, toldSince } = counted(plain);
    const batchers = Array.from({ length: 50 }, (_, index) => createBatcher(echo, { name: `gone ${index}` }));
    for (const batcher of batchers) {
      instrument(batcher, { meter, tracer: null });
      await batcher.submit("a");
    }
    await samples();
    const each = toldSince() / batchers.length;
    expect(each).toBeGreaterThan(5);
    const rest = batchers.splice(1);
    for (const batcher of rest) await batcher.close();
    // A last look at each, then its zeros.
    for (let scrape = 0; scrape < 2; scrape += 1) await samples();
    toldSince();
    const of = await samples();
    expect(toldSince()).toBe(each);
    expect(of.value("batchwise_slots_limit", { batchwise_batcher_name: "gone 0" })).toBe(1);
    expect(of.value("batchwise_slots_limit", { batchwise_batcher_name: "gone 1" })).toBe(0);
  });
});

describe("the label `error.type`", () => {
  /** The types of all failed batches, after one with each of these errors. */
  async function typesOf(errors: readonly unknown[]): Promise<string[]> {
    const { meter, samples } = metrics();
    let next = 0;
    const batcher = createBatcher<string, string>(
      () => {
        throw errors[next++];
      },
      { name: "failing" },
    );
    instrument(batcher, { meter, tracer: null });
    for (const _ of errors) await reasonOf(batcher.submit("a"));
    await batcher.idle();
    const counts = (await samples()).all.filter(({ name }) => name === "batchwise_batch_run_duration_count");
    return counts.map(({ labels }) => labels.error_type ?? "");
  }

  test("has few values, whatever codes and names errors have; ours are always among them", async () => {
    const coded = (index: number) => Object.assign(new TypeError("no"), { code: `req_${index}` });
    const named = (index: number) => Object.assign(new Error("no"), { name: `Name${index}` });
    const all = Array.from({ length: 100 }, (_, index) => index);
    const ours = all.map(
      (index) => new BatchwiseError({ code: `OURS_${index % 30}`, message: "no", retryable: false }),
    );
    const types = await typesOf([...all.map(coded), ...all.map(named), "no error", ...ours]);
    const codes = types.filter((type) => type.startsWith("req_"));
    expect(codes).toEqual(all.slice(0, 20).map((index) => `req_${index}`));
    expect(types).toContain("TypeError");
    expect(types).toContain("_OTHER");
    expect(types.filter((type) => type.startsWith("OURS_")).length).toBe(30);
    expect(types.length).toBeLessThanOrEqual(20 + 20 + 1 + 30);
  });

  test("has few values for providers' codes too", async () => {
    const { meter, samples } = metrics();
    const dispatcher = new Teller();
    instrumentDispatcher(dispatcher, { meter, tracer: null });
    for (let index = 0; index < 300; index += 1) {
      dispatcher.tell("create", { ...EVENTS.create, result: "refused", code: `job ${index} is refused` });
    }
    const creates = (await samples()).all.filter(({ name }) => name === "batchwise_dispatch_creates_total");
    expect(creates.length).toBe(101);
    expect(creates.at(-1)).toMatchObject({ labels: { error_type: "_OTHER" }, value: 200 });
  });
});
