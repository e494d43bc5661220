// Behaviour that users of Ray Serve's `@serve.batch` rely on, and its surprises.
// docs/coming-from.md refers to these tests.

import { type BatchEvent, type BatchOptions, batched, batcherOf, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { echoAll, gate, range, reasonOf, rig, thrownBy, watch } from "../support.ts";
import { compiled } from "./compiled.ts";
import type * as Ported from "./fixtures/ported-classes.ts";

describe("the arguments of a handler", () => {
  test("an item may be an object of named arguments, of which some callers omit some", async () => {
    const add = createBatcher(async (calls: { a: number; b?: number }[]) => calls.map(({ a, b = 10 }) => a + b));
    expect(await Promise.all([add.submit({ a: 1 }), add.submit({ a: 2, b: 3 })])).toEqual([11, 5]);
  });

  test("making a batcher starts nothing: no timer and no call before the first submit", async () => {
    const { clock, handler } = rig({ maxWaitMs: 50, timeoutMs: 1_000 });
    await clock.settle();
    expect([clock.timers, handler.calls.length]).toEqual([0, 0]);
  });
});

describe("batches", () => {
  test("batches grow while the slot is busy, even long after each item's wait has ended", async () => {
    const clock = virtualClock();
    const sizes: number[] = [];
    const takes100Ms = (items: number[]): Promise<number[]> => {
      sizes.push(items.length);
      return new Promise((resolve) => clock.setTimeout(() => resolve(items), 100));
    };
    const batcher = createBatcher(takes100Ms, { maxBatchSize: 10, maxWaitMs: 5, clock });
    const answers = range(20).map(
      (item) => new Promise((resolve) => clock.setTimeout(() => resolve(batcher.submit(item)), item * 6)),
    );
    await clock.advance(305);
    expect(await Promise.all(answers)).toEqual(range(20));
    expect(sizes).toEqual([1, 10, 9]);
  });

  test("models that take turns fill batches of their own: none goes half empty", async () => {
    const of = rig<string>({ key: (item) => item[0] as string, maxBatchSize: 4, maxWaitMs: 10 });
    const answers = ["a0", "b0", "a1", "b1", "a2", "b2", "a3", "b3"].map((item) => of.batcher.submit(item));
    await echoAll(of);
    await Promise.all(answers);
    expect(of.handler.batches).toEqual([
      ["a0", "a1", "a2", "a3"],
      ["b0", "b1", "b2", "b3"],
    ]);
  });

  test("batches of all keys together keep to `concurrency`", async () => {
    const of = rig<string>({ key: (item) => item, concurrency: 2 });
    const answers = ["a", "b", "c", "d"].map((item) => of.batcher.submit(item));
    await of.clock.settle();
    expect(of.handler.open.length).toBe(2);
    await echoAll(of);
    expect(await Promise.all(answers)).toEqual(["a", "b", "c", "d"]);
  });

  test("a batch whose callers have all gone while it waited is never run", async () => {
    const of = rig<string>();
    const first = of.batcher.submit("first");
    await of.clock.settle();
    const leave = new AbortController();
    const gone = watch(of.batcher.submitSettled(["a", "b"], { signal: leave.signal }));
    await of.clock.settle();
    leave.abort();
    await echoAll(of);
    expect(of.handler.batches).toEqual([["first"]]);
    expect([await first, gone.state]).toEqual(["first", "fulfilled"]);
  });
});

/** The compiled form of `@batched(options)` on a method with `experimentalDecorators`. */
function decorate(prototype: object, name: string, options: BatchOptions<number, number>): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
  const decorator = batched(options) as unknown as (...args: unknown[]) => PropertyDescriptor | undefined;
  Object.defineProperty(prototype, name, decorator(prototype, name, descriptor) ?? descriptor);
}

interface Model {
  readonly sizes: readonly number[];
  predict(items: number[]): Promise<number[]>;
}

function decoratedClass(): new () => Model {
  class Doubles implements Model {
    readonly sizes: number[] = [];

    async predict(items: number[]): Promise<number[]> {
      this.sizes.push(items.length);
      return items.map((item) => item * 2);
    }
  }
  decorate(Doubles.prototype, "predict", { maxBatchSize: 4 });
  return Doubles;
}

describe("a decorated method", () => {
  test("has its setters, statistics and close() through `batcherOf`", async () => {
    const model = new (decoratedClass())();
    const batcher = batcherOf(model, "predict");
    batcher.configure({ maxBatchSize: 2, concurrency: 2 });
    const answers = await Promise.all(range(4).map((item) => model.predict([item])));
    expect(answers).toEqual([[0], [2], [4], [6]]);
    expect(model.sizes).toEqual([2, 2]);
    expect(batcher.stats()).toMatchObject({ completed: 4, batches: 2 });
    await batcher.close();
    expect(batcher.closed).toBe(true);
  });
});

describe("limits", () => {
  test("1.0 is the integer 1, and 1.5 is refused", () => {
    expect(createBatcher((items: number[]) => items, { maxBatchSize: 1.0 }).options.maxBatchSize).toBe(1);
    expect(() => createBatcher((items: number[]) => items, { maxBatchSize: 1.5 })).toThrow(RangeError);
  });

  test("a size of one's own is `batchCost`: both it and `maxBatchSize` hold", async () => {
    const nodes = (graphs: readonly number[]): number => graphs.reduce((total, graph) => total + graph, 0);
    const of = rig<number>({ batchCost: nodes, maxBatchCost: 10, maxBatchSize: 3 });
    const answers = of.batcher.submitMany([6, 4, 1, 1, 1, 1]);
    await echoAll(of);
    await answers;
    expect(of.handler.batches).toEqual([[6, 4], [1, 1, 1], [1]]);
  });
});

describe("statistics", () => {
  test("the six metrics are in stats(), and one by one in the batch event", async () => {
    const of = rig<string>({ maxWaitMs: 10, maxBatchSize: 4, concurrency: 1 });
    const events: BatchEvent[] = [];
    of.batcher.on("batch", (event) => events.push(event));
    const answers = of.batcher.submitMany(["a", "b", "c"]);
    await of.clock.advance(10);
    const later = of.batcher.submit("d");
    await of.clock.advance(20);
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, running: 3, batches: 1 });
    await echoAll(of);
    await Promise.all([answers, later]);
    const { batches, averageBatchSize, waitMs, runMs } = of.batcher.stats();
    expect({ batches, averageBatchSize }).toEqual({ batches: 2, averageBatchSize: 2 });
    expect([waitMs.max, runMs.max]).toEqual([20, 20]);
    expect(events.map(({ size, waitMs, runMs }) => [size, waitMs, runMs])).toEqual([
      [3, 10, 20],
      [1, 20, 0],
    ]);
  });
});

describe.each(["standard", "legacy"] as const)("a class with `@serve.batch`, ported with a %s decorator", (form) => {
  let Model: typeof Ported.Model;
  beforeAll(async () => {
    ({ Model } = await compiled<typeof Ported>("ported-classes", form));
  });

  test("takes one request a call, and knows the request context of each in the batch", async () => {
    const model = new Model();
    const answers = range(8).map((request) => model.handle(request, `user ${request}`));
    expect(await Promise.all(answers)).toEqual(range(8).map((request) => `${request} for user ${request}`));
    expect(model.sizes).toEqual([8]);
  });

  test("has the setters and getters of `reconfigure(user_config)`, and refuses a size of 0", async () => {
    const model = new Model();
    expect(model.limits()).toEqual([8, 10]);
    model.reconfigure({ max_batch_size: 4, batch_wait_timeout_s: 0, max_concurrent_batches: 2 });
    expect(model.limits()).toEqual([4, 0]);
    const second = gate();
    const running: number[][] = [];
    model.onBatch = () => {
      if (running.push(model.running()) === 2) second.open();
      return second.promise;
    };
    await Promise.all(range(8).map((request) => model.handle(request, "u")));
    expect([model.sizes, running[1]]).toEqual([
      [4, 4],
      [4, 4],
    ]);
    const config = { max_batch_size: 0, batch_wait_timeout_s: 0, max_concurrent_batches: 1 };
    expect(thrownBy(() => model.reconfigure(config))).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("keeps the limits of two replicas apart", () => {
    const [one, two] = [new Model(), new Model()];
    one.reconfigure({ max_batch_size: 2, batch_wait_timeout_s: 1, max_concurrent_batches: 1 });
    expect([one.limits(), two.limits()]).toEqual([
      [2, 1_000],
      [8, 10],
    ]);
  });

  test("can be shut down, which answers the waiting items", async () => {
    const model = new Model();
    const answer = model.handle(1, "u");
    await model.close();
    expect(await answer).toBe("1 for u");
    expect(await reasonOf(model.handle(2, "u"))).toMatchObject({ code: "CLOSED" });
  });
});
