import { createBatcher, createTokenBatcher } from "batchwise";
import { batchTensors, type Tensor } from "batchwise/tensor";
import { connectBatcher, shareBatcher } from "batchwise/threads";
import { describe, expect, test } from "vitest";
import { gate, reasonOf, thrownBy } from "../../support.ts";
import { CallingThread } from "./calling-thread.ts";

const double = async (items: number[]): Promise<number[]> => items.map((item) => item * 2);

const callers = (count: number, shared: ReturnType<typeof shareBatcher>): CallingThread[] =>
  Array.from({ length: count }, () => new CallingThread(shared));

describe("a batcher shared with worker threads", () => {
  test("answers a blocking submit, a promised one, and many of each", async () => {
    const [caller] = callers(1, shareBatcher(createBatcher(double))) as [CallingThread];
    expect(await caller.ask("submitSync", 4)).toBe(8);
    expect(await caller.ask("submit", 5)).toBe(10);
    expect(await caller.ask("submitManySync", [1, 2, 3])).toEqual([2, 4, 6]);
    expect(await caller.ask("submitMany", [1, 2])).toEqual([2, 4]);
    expect(await caller.ask("submitManySync", [])).toEqual([]);
  });

  test.each([
    ["synchronous", (items: number[]) => items.map((item) => item * 2)],
    ["asynchronous", double],
  ] as const)(
    "never crosses answers: four threads block 5,000 times each, with a handler that is %s",
    async (_, handler) => {
      const batcher = createBatcher(handler);
      const threads = callers(4, shareBatcher(batcher));
      const wrong = await Promise.all(threads.map((caller, index) => caller.ask("loop", index * 1_000_000, 5_000)));
      expect(wrong).toEqual([0, 0, 0, 0]);
      expect(batcher.stats()).toMatchObject({ submitted: 20_000, completed: 20_000 });
    },
  );

  test("never crosses answers either where a thread blocks while other submits of its own wait", async () => {
    const batcher = createBatcher(double, { maxBatchSize: 7 });
    const threads = callers(3, shareBatcher(batcher));
    const wrong = await Promise.all(threads.map((caller, index) => caller.ask("mixed", index * 1_000_000, 3_000)));
    expect(wrong).toEqual([0, 0, 0]);
    expect(batcher.stats()).toMatchObject({ submitted: 12_000, completed: 12_000 });
  });

  test("puts the items of several blocked threads, and its own, into common batches", async () => {
    const sizes: number[] = [];
    const batcher = createBatcher(
      async (items: number[]) => {
        sizes.push(items.length);
        return double(items);
      },
      { maxWaitMs: 5_000, maxBatchSize: 4 },
    );
    const threads = callers(3, shareBatcher(batcher));
    const answers = await Promise.all([
      batcher.submit(9),
      ...threads.map((caller, at) => caller.ask("submitSync", at)),
    ]);
    expect(answers).toEqual([18, 0, 2, 4]);
    expect(sizes).toEqual([4]);
  });

  test("has the answer to an earlier submit kept while the thread is blocked", async () => {
    const [caller] = callers(1, shareBatcher(createBatcher(double, { maxBatchSize: 1 }))) as [CallingThread];
    expect(await caller.ask("submitThenBlock", [1, 2])).toEqual([2, 4]);
  });

  test("is reached in its own thread only by promises: blocking there throws SAME_THREAD", async () => {
    const { port } = shareBatcher(createBatcher(double));
    const remote = connectBatcher<number, number>(port());
    expect(await remote.submit(3)).toBe(6);
    expect(thrownBy(() => remote.submitSync(3))).toMatchObject({ code: "SAME_THREAD", retryable: false });
    remote.close();
  });
});

describe("the options of a submit from a thread", () => {
  test("travel: priority, cost, key, context and timeoutMs", async () => {
    const seen: unknown[] = [];
    const batcher = createBatcher(async (items: string[], context) => {
      seen.push(...context.requests.map(({ context: own, priority }) => [context.key, own, priority, context.cost]));
      return items;
    });
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    const options = { priority: 3, cost: 7, key: "k", context: { user: "u" }, timeoutMs: 5_000 };
    expect(await caller.ask("submitSync", "a", options)).toBe("a");
    expect(await caller.ask("submitMany", ["b"], options)).toEqual(["b"]);
    expect(seen).toEqual([
      ["k", { user: "u" }, 3, 7],
      ["k", { user: "u" }, 3, 7],
    ]);
  });

  test("may be functions of the item, which run in the thread", async () => {
    const order: string[] = [];
    const batcher = createBatcher(
      async (items: string[]) => {
        order.push(...items);
        return items;
      },
      { maxBatchSize: 1 },
    );
    batcher.pause();
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    const answer = caller.ask("byLength", ["a", "ccc", "bb"]);
    while (batcher.stats().waiting < 3) await new Promise(setImmediate);
    batcher.resume();
    expect(await answer).toEqual(["a", "ccc", "bb"]);
    expect(order).toEqual(["ccc", "bb", "a"]);
  });

  test("of a token batcher name `tokens`", async () => {
    const batcher = createTokenBatcher(async (items: string[], { cost }) => items.map(() => cost));
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    expect(await caller.ask("submitSync", "a", { tokens: 12 })).toBe(12);
  });

  test("are checked by the batcher: a misspelt one is a TypeError with its hint", async () => {
    const [caller] = callers(1, shareBatcher(createBatcher(double))) as [CallingThread];
    const error = await caller.errorOf("submitSync", 1, { priorty: 3 });
    expect(error).toMatchObject({ isTypeError: true, code: "INVALID_OPTION" });
    expect(error).toMatchObject({ message: expect.stringContaining("did you mean `priority`?") });
  });

  test("have a deadline that ends a blocked submit, as DEADLINE_EXCEEDED", async () => {
    const batcher = createBatcher(() => new Promise<number[]>(() => {}));
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    const error = await caller.errorOf("submitSync", 1, { timeoutMs: 30 });
    expect(error).toMatchObject({ isBatchwise: true, code: "DEADLINE_EXCEEDED", retryable: true });
    expect(batcher.stats()).toMatchObject({ expired: 1 });
  });

  test("have a deadline also where the batcher's thread does not answer at all", async () => {
    const batcher = createBatcher(double);
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    await caller.ask("submitSync", 1);
    const failing = caller.errorOf("submitSync", 1, { timeoutMs: 30 });
    const until = performance.now() + 400;
    await new Promise(setImmediate);
    while (performance.now() < until);
    expect(await failing).toMatchObject({ code: "DEADLINE_EXCEEDED" });
  });

  test("have a signal that cancels the item, and its own reason", async () => {
    const handed: unknown[] = [];
    const batcher = createBatcher(double, { maxWaitMs: 10_000 });
    batcher.on("batch", (event) => handed.push(event));
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    expect(await caller.errorOf("abortedLater", 1, 30)).toMatchObject({ name: "RangeError", message: "enough" });
    while (batcher.stats().cancelled === 0) await new Promise(setImmediate);
    expect(handed).toEqual([]);
  });

  test("have no signal where the submit blocks: nothing could abort it", async () => {
    const [caller] = callers(1, shareBatcher(createBatcher(double))) as [CallingThread];
    const error = await caller.errorOf("signalSync");
    expect(error).toMatchObject({ isTypeError: true, message: expect.stringContaining("use `timeoutMs`") });
  });
});

describe("memory sent to and from a shared batcher", () => {
  test("is handed over by `transfer`, and gone in the thread", async () => {
    const batcher = createBatcher(async (items: { data: Float32Array }[]) =>
      items.map(({ data }) => ({ sum: data.reduce((sum, value) => sum + value, 0) })),
    );
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    expect(await caller.ask("transferred")).toEqual({ sum: 24, left: 0 });
  });

  test("is the same memory where it is a SharedArrayBuffer", async () => {
    const batcher = createBatcher(async (items: { data: Int32Array }[]) =>
      items.map(({ data }) => data.fill(7).length),
    );
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    expect(await caller.ask("shared", new Int32Array(new SharedArrayBuffer(12)))).toEqual([7, 7, 7]);
  });

  test("is only a view's own bytes, not the block that it is a view into", async () => {
    const batcher = createBatcher(async (items: { data: Float32Array }[]) =>
      items.map(({ data }) => [data.length, data.buffer.byteLength, data[0]]),
    );
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    expect(await caller.ask("view")).toEqual([4, 16, 2]);
  });

  test("comes back as a row by itself, of a block that the handler cuts", async () => {
    const batcher = createBatcher(async (items: number[]) => {
      const block = new Float32Array(100_000 * items.length).map((_, at) => at);
      return items.map((_, at) => ({ data: block.subarray(at * 100_000 + 1, (at + 1) * 100_000) }));
    });
    const [caller] = callers(1, shareBatcher(batcher)) as [CallingThread];
    expect(await caller.ask("bytesOf", 1)).toEqual({ length: 99_999, bufferBytes: 399_996, first: 1 });
  });

  test("is kept by the handler, unless `transferResults` gives it away", async () => {
    for (const transferResults of [false, true]) {
      const made: Float32Array[] = [];
      const batcher = createBatcher(async (items: number[]) =>
        items.map((item) => {
          const data = new Float32Array(4).fill(item);
          made.push(data);
          return { data };
        }),
      );
      const [caller] = callers(1, shareBatcher(batcher, { transferResults })) as [CallingThread];
      expect(await caller.ask("bytesOf", 5)).toEqual({ length: 4, bufferBytes: 16, first: 5 });
      expect(made[0]?.length).toBe(transferResults ? 0 : 4);
    }
  });

  test("is not given away by a batcher with `dedupe`, whose results go to many", () => {
    const batcher = createBatcher(double, { dedupe: String });
    expect(thrownBy(() => shareBatcher(batcher, { transferResults: true }))).toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("a batcher of tensors shared with worker threads", () => {
  type Input = { readonly x: Tensor<"float32"> };
  const doubled = ({ x }: Input): Tensor<"float32"> => ({ ...x, data: x.data.map((value) => value * 2) });
  const tensorOf = (...values: number[]): Input => ({
    x: { type: "float32", data: Float32Array.from(values), dims: [1, values.length] },
  });

  test("stacks the rows of several threads, and answers each with its own, in memory of its own", async () => {
    const batcher = batchTensors(doubled, { maxWaitMs: 5_000, maxBatchSize: 3 });
    const threads = callers(3, shareBatcher(batcher));
    const inputs = [tensorOf(1), tensorOf(2, 3), tensorOf(4, 5, 6)];
    const answers = await Promise.all(threads.map((caller, at) => caller.ask("submitSync", inputs[at])));
    expect(answers).toMatchObject([{ dims: [1, 3] }, { dims: [1, 3] }, { dims: [1, 3] }]);
    const data = answers.map((answer) => (answer as Tensor<"float32">).data);
    expect(data.map((values) => Array.from(values))).toEqual([
      [2, 0, 0],
      [4, 6, 0],
      [8, 10, 12],
    ]);
    for (const values of data) expect(values.buffer.byteLength).toBe(12);
    expect(batcher.stats()).toMatchObject({ batches: 1, completed: 3 });
  });

  test("takes no functions of its rows from there", async () => {
    const [caller] = callers(1, shareBatcher(batchTensors(doubled))) as [CallingThread];
    expect(await caller.errorOf("byRows", [tensorOf(1)])).toMatchObject({ isTypeError: true, code: "INVALID_OPTION" });
  });
});

describe("mistakes with ports", () => {
  test("name the expected value: a port of shareBatcher, new", async () => {
    const shared = shareBatcher(createBatcher(double));
    const port = shared.port();
    const remote = connectBatcher(port);
    const message =
      "Expected `port` to be a new port of shareBatcher(…).port(), got one that is connected, or another port";
    expect(thrownBy(() => connectBatcher(port))).toMatchObject({ code: "INVALID_OPTION", message });
    for (const other of [null, {}, new MessageChannel().port1]) {
      expect(thrownBy(() => connectBatcher(other as never))).toMatchObject({ code: "INVALID_OPTION" });
    }
    remote.close();
    const [caller] = callers(1, shared) as [CallingThread];
    expect(await caller.errorOf("connectAgain")).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("list the objects that can be shared", () => {
    const message = "Expected `batcher` to be a batcher, got a function";
    expect(thrownBy(() => shareBatcher((() => {}) as never))).toMatchObject({ code: "INVALID_OPTION", message });
    expect(thrownBy(() => shareBatcher(createBatcher(double), { transfer: true } as never))).toMatchObject({
      message: "Unknown option `transfer`. Expected one of transferResults",
    });
  });

  test("a connection that its owner closes rejects waiting calls, with CLOSED, and the item is cancelled", async () => {
    const { promise, open } = gate();
    const batcher = createBatcher(async (items: number[]) => {
      await promise;
      return items;
    });
    const remote = connectBatcher<number, number>(shareBatcher(batcher).port());
    const waiting = remote.submit(1);
    while (batcher.stats().running < 1) await new Promise(setImmediate);
    remote.close();
    expect(await reasonOf(waiting)).toMatchObject({ code: "CLOSED" });
    expect(await reasonOf(remote.submit(2))).toMatchObject({ code: "CLOSED" });
    expect(remote.closed).toBe(true);
    while (batcher.stats().cancelled < 1) await new Promise(setImmediate);
    open();
  });
});
