// Faulty listeners: none of them disturbs the dispatcher or another listener.

import { expect, test, vi } from "vitest";
import type { DispatcherEventName } from "../../../src/dispatch/contract/events.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { Events } from "../../../src/dispatch/runtime/events.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { unreadable } from "../../abuse/objects.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "../support/world.ts";

const step = (steppedMs: number) => () => ({ steppedMs, believed: true });

function told() {
  const errors: unknown[] = [];
  return { errors, events: new Events((error) => errors.push(error)) };
}

test("events without a listener are not made", () => {
  const { events } = told();
  events.emit("clockStep", () => {
    throw new Error("made");
  });
  const off = events.on("clockStep", () => {});
  off();
  events.emit("clockStep", () => {
    throw new Error("made");
  });
  expect(events.hears("clockStep")).toBe(false);
});

test("listeners are called after the code that emits has continued, in order", async () => {
  const { events } = told();
  const heard: string[] = [];
  events.on("clockStep", ({ steppedMs }) => heard.push(`first ${steppedMs}`));
  events.on("clockStep", ({ steppedMs }) => heard.push(`second ${steppedMs}`));
  events.emit("clockStep", step(1));
  events.emit("clockStep", step(2));
  heard.push("told");
  await null;
  expect(heard).toEqual(["told", "first 1", "second 1", "first 2", "second 2"]);
});

test("one that throws, rejects or gives a promise that cannot be read is reported, and the others are called all the same", async () => {
  const { events, errors } = told();
  const heard: number[] = [];
  events.on("clockStep", () => {
    throw new Error("thrown");
  });
  events.on("clockStep", async () => {
    throw new Error("rejected");
  });
  events.on("clockStep", (() => unreadable()) as () => void);
  events.on("clockStep", () => {
    // A value without any words.
    throw Object.create(null) as unknown;
  });
  events.on("clockStep", ({ steppedMs }) => heard.push(steppedMs));
  events.emit("clockStep", step(1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toEqual([1]);
  expect(errors).toHaveLength(4);
  for (const error of errors) expect((error as Error).message).toBe('A listener of "clockStep" threw.');
  expect(errors.map((error) => ((error as Error).cause as Error).message)).toEqual(
    expect.arrayContaining(["thrown", "rejected", "read"]),
  );
});

test("one that is removed during an event is not called; one that is added gets the next event", async () => {
  const { events } = told();
  const heard: string[] = [];
  let offSecond = (): void => {};
  events.on("clockStep", () => {
    offSecond();
    events.on("clockStep", () => heard.push("added"));
  });
  offSecond = events.on("clockStep", () => heard.push("second"));
  events.emit("clockStep", step(1));
  await null;
  expect(heard).toEqual([]);
  events.emit("clockStep", step(2));
  await null;
  expect(heard).toEqual(["added"]);
});

test("the same listener twice is called twice, and is taken off once at a time, however often that is called", async () => {
  const { events } = told();
  let count = 0;
  const listener = (): void => {
    count += 1;
  };
  const off = events.on("clockStep", listener);
  events.on("clockStep", listener);
  off();
  off();
  events.emit("clockStep", step(1));
  await null;
  expect(count).toBe(1);
});

test("an event that a listener causes is emitted after the current one, not inside it", async () => {
  const { events } = told();
  const heard: number[] = [];
  events.on("clockStep", ({ steppedMs }) => {
    if (steppedMs < 3) events.emit("clockStep", step(steppedMs + 1));
    heard.push(steppedMs);
  });
  events.emit("clockStep", step(1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toEqual([1, 2, 3]);
});

test("a name that is no event's is refused with the list of events; so is a value that is no function", () => {
  const { time } = world();
  const dispatcher = createDispatcher({ store: memoryStore(), accounts: [new SimProvider({ time }).account()] });
  const on = dispatcher.on.bind(dispatcher) as (name: unknown, listener?: unknown) => void;
  for (const name of ["completed", "error", "toString", "", undefined, 1]) {
    expect(() => on(name, () => {})).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(/lanes, batches, .*got/) }),
    );
  }
  for (const listener of [undefined, null, {}, "log"]) {
    expect(() => on("poll", listener)).toThrow(/Expected `listener` to be a function/);
  }
});

const every: readonly DispatcherEventName[] = ["lanes", "batches", "enqueue", "seal", "create", "poll", "collect"];

test("listeners that throw at each event, change it, and call the dispatcher cost no request anything", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({ time });
  const operations = new Set<string>();
  const onError = (_error: unknown, { operation }: { readonly operation: string }): unknown =>
    operations.add(operation);
  const dispatcher = await start({ accounts: [sim.account()], thresholds: { maxRequests: 2 }, onError });
  let calls = 0;
  for (const name of [...every, "usage", "batch", "sweep"] as const) {
    dispatcher.on(name, (event) => {
      calls += 1;
      for (const field of Object.keys(event)) Reflect.set(event, field, null);
      dispatcher.flush();
      void dispatcher.stats();
      void dispatcher.cancelBatch("nobody").catch(() => {});
      if (name !== "enqueue") void dispatcher.enqueue(ask("c"));
      throw new Error("No.");
    });
  }
  await dispatcher.enqueueMany([ask("a"), ask("b")]);
  await until(async () => (await isAtRest(store, time.now())) && (await store.outcomes({ ids: ["c"] })).length > 0);
  for (const id of ["a", "b", "c"]) expect((await dispatcher.result(id)).status).toBe("succeeded");
  expect([...sim.successes().values()]).toEqual([1, 1, 1]);
  expect(calls).toBeGreaterThan(10);
  expect([...operations]).toEqual(["event"]);
  await dispatcher.stop();
});

test("a listener may stop the dispatcher: work in progress is finished as by any stop", async () => {
  const { time, start, until, store } = world();
  const sim = new SimProvider({ time });
  const options = { accounts: [sim.account()], thresholds: { maxRequests: 2 } };
  const first = await start(options);
  let stopped: Promise<void> | null = null;
  first.on("create", () => {
    stopped = first.stop();
  });
  await first.enqueueMany([ask("a"), ask("b")]);
  await until(async () => stopped !== null);
  await stopped;
  const second = await start(options);
  await until(() => isAtRest(store, time.now()));
  expect([...sim.successes().values()]).toEqual([1, 1]);
  await second.stop();
});

test("a read for an event that fails costs that event, and no request", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({ time });
  let failures = 0;
  const failing = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const method = value as (...given: unknown[]) => unknown;
      return (...given: unknown[]) => {
        if (failures > 0 || name !== "requests" || sim.batches[0]?.state !== "done") return method.apply(target, given);
        failures += 1;
        return Promise.reject(new Error("away"));
      };
    },
  });
  const errors: unknown[] = [];
  const onError = (_error: unknown, context: unknown): unknown => errors.push(context);
  const options = { store: failing, accounts: [sim.account()], thresholds: { maxRequests: 2 }, onError };
  const dispatcher = await start(options);
  let ended = 0;
  dispatcher.on("usage", () => {
    ended += 1;
  });
  await dispatcher.enqueueMany([ask("a"), ask("b")]);
  await until(() => isAtRest(store, time.now()));
  expect([ended, failures, errors]).toEqual([0, 1, [{ operation: "event" }]]);
  expect([...sim.successes().values()]).toEqual([1, 1]);
  await dispatcher.stop();
});

test("an onError that is async and rejects ends no process", async () => {
  const { time, start } = world();
  const rejecting = Promise.reject(new Error("No."));
  const followed = vi.spyOn(rejecting, "then");
  const dispatcher = await start({ accounts: [new SimProvider({ time }).account()], onError: () => rejecting });
  dispatcher.on("enqueue", () => {
    throw new Error("A reason to be told.");
  });
  await dispatcher.enqueue(ask("a"));
  await dispatcher.stop();
  expect(followed).toHaveBeenCalled();
});
