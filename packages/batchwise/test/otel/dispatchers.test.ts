// Several dispatchers that share a meter, and those that have been detached.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { instrumentDispatcher } from "batchwise/otel";
import { describe, expect, test } from "vitest";
import type { LanesEvent } from "../../src/dispatch/contract/events.ts";
import { EVENTS, Teller } from "./support/every-event.ts";
import { metrics } from "./support/telemetry.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const PREFIX = "batchwise_dispatch_";

function laneOf(waiting: number, oldestMs: number): LanesEvent {
  return { lanes: EVENTS.lanes.lanes.map((lane) => ({ ...lane, waiting, oldestMs })) };
}

describe("dispatchers that share a meter", () => {
  test("share series: the largest value is shown, in any order of reports", async () => {
    const { meter, samples } = metrics();
    const [first, second] = [new Teller(), new Teller()];
    for (const dispatcher of [first, second]) instrumentDispatcher(dispatcher, { meter, tracer: null });
    first.tell("lanes", laneOf(5, 1_000));
    second.tell("lanes", laneOf(3, 2_000));
    expect((await samples()).value(`${PREFIX}lane_requests`)).toBe(5);
    expect((await samples()).value(`${PREFIX}lane_age`)).toBeGreaterThanOrEqual(2);
    first.tell("lanes", laneOf(1, 1_000));
    expect((await samples()).value(`${PREFIX}lane_requests`)).toBe(3);
  });

  test("are distinguished by `attributes`, in any order", async () => {
    const { meter, samples } = metrics();
    const given = [
      { store: "a", region: "eu" },
      { region: "eu", store: "a" },
      { store: "b", region: "eu" },
    ];
    for (const [index, attributes] of given.entries()) {
      const dispatcher = new Teller();
      instrumentDispatcher(dispatcher, { meter, tracer: null, attributes });
      dispatcher.tell("lanes", laneOf(index + 1, 0));
    }
    const of = await samples();
    expect(of.value(`${PREFIX}lane_requests`, { store: "a" })).toBe(2);
    expect(of.value(`${PREFIX}lane_requests`, { store: "b" })).toBe(3);
  });

  test("keep their gauges when another of them is detached", async () => {
    const { meter, samples } = metrics();
    const [first, second] = [new Teller(), new Teller()];
    instrumentDispatcher(first, { meter, tracer: null });
    const detach = instrumentDispatcher(second, { meter, tracer: null });
    first.tell("lanes", laneOf(3, 0));
    second.tell("lanes", laneOf(5, 0));
    expect((await samples()).value(`${PREFIX}lane_requests`)).toBe(5);
    detach();
    for (let scrape = 0; scrape < 3; scrape += 1) {
      expect((await samples()).value(`${PREFIX}lane_requests`)).toBe(3);
    }
  });
});

describe("a dispatcher that stops", () => {
  test("writes 0, and its gauges stay so", async () => {
    const { meter, samples } = metrics();
    const dispatcher = new Teller();
    instrumentDispatcher(dispatcher, { meter, tracer: null });
    expect((await samples()).value(`${PREFIX}running`)).toBe(0);
    dispatcher.tellAll();
    await null;
    expect((await samples()).value(`${PREFIX}running`)).toBe(1);
    dispatcher.tell("loops", { running: false });
    for (const name of ["running", "lane_requests", "lane_age", "batch_age", "account_tokens", "deliveries_waiting"]) {
      expect((await samples()).value(PREFIX + name)).toBe(0);
    }
  });

  test("is counted no more beside one that continues", async () => {
    const { meter, samples } = metrics();
    const [first, second] = [new Teller(), new Teller()];
    for (const dispatcher of [first, second]) {
      instrumentDispatcher(dispatcher, { meter, tracer: null });
      dispatcher.tell("loops", { running: true });
      dispatcher.tell("lanes", laneOf(4, 0));
    }
    expect((await samples()).value(`${PREFIX}running`)).toBe(2);
    first.tell("loops", { running: false });
    const of = await samples();
    expect([of.value(`${PREFIX}running`), of.value(`${PREFIX}lane_requests`)]).toEqual([1, 4]);
  });

  test("runs, if it was started before it was instrumented, as soon as it reports its lanes", async () => {
    const { meter, samples } = metrics();
    const dispatcher = new Teller();
    instrumentDispatcher(dispatcher, { meter, tracer: null });
    dispatcher.tell("lanes", { lanes: [] });
    expect((await samples()).value(`${PREFIX}running`)).toBe(1);
  });
});

describe("a dispatcher that is detached", () => {
  test("writes 0, and a dispatcher instrumented later writes the same series", async () => {
    const { meter, samples } = metrics();
    const dispatcher = new Teller();
    const detach = instrumentDispatcher(dispatcher, { meter, tracer: null });
    dispatcher.tellAll();
    await null;
    expect((await samples()).value(`${PREFIX}deliveries_waiting`)).toBe(11);
    detach();
    for (const name of ["lane_requests", "lane_age", "batches_open", "account_tokens", "deliveries_waiting"]) {
      expect((await samples()).value(PREFIX + name)).toBe(0);
    }
    instrumentDispatcher(dispatcher, { meter, tracer: null });
    dispatcher.tellAll();
    await null;
    expect((await samples()).value(`${PREFIX}deliveries_waiting`)).toBe(11);
  });

  test("keeps 0 when earlier requested statistics arrive afterwards", async () => {
    const { meter, samples } = metrics();
    const dispatcher = new Teller();
    const detach = instrumentDispatcher(dispatcher, { meter, tracer: null });
    dispatcher.tellAll();
    detach();
    await null;
    expect((await samples()).value(`${PREFIX}deliveries_waiting`)).toBe(undefined);
  });

  test("is garbage, though its meter lives", async () => {
    const { meter, samples } = metrics();
    const detached = (): WeakRef<Teller> => {
      const dispatcher = new Teller();
      const detach = instrumentDispatcher(dispatcher, { meter, tracer: null });
      dispatcher.tell("lanes", laneOf(1, 0));
      detach();
      return new WeakRef(dispatcher);
    };
    const dispatcher = detached();
    await samples();
    await new Promise((resolve) => setTimeout(resolve));
    collectGarbage();
    expect(dispatcher.deref()).toBe(undefined);
  });
});
