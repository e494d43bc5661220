import { batch, batchStream, createBatcher, createTokenBatcher } from "batchwise";
import { onnxHandler, pipelineHandler } from "batchwise/onnx";
import { batchTensors, type Tensor } from "batchwise/tensor";
import { describe, expect, test } from "vitest";
import { reasonOf, rig } from "../support.ts";

const name = "embed";
const row: Tensor<"float32"> = { type: "float32", data: Float32Array.of(1), dims: [1, 1] };

async function drain(stream: AsyncIterable<unknown>): Promise<unknown> {
  const read = [];
  for await (const chunk of stream) read.push(chunk);
  return read;
}

/** A way to get each error of the package, by its message. */
const ways: Record<string, () => Promise<unknown>> = {
  "The queue is full": () => {
    const { batcher } = rig<number>({ name, maxQueueSize: 1, onFull: "reject" });
    void batcher.submit(1);
    return batcher.submit(2);
  },
  "A call of 3 items": () => rig<number>({ name, maxQueueSize: 1, onFull: "reject" }).batcher.submitMany([1, 2, 3]),
  "Dropped for a newer item": () => {
    const { batcher } = rig<number>({ name, maxQueueSize: 1, onFull: "drop-oldest" });
    const dropped = batcher.submit(1);
    void batcher.submit(2);
    return dropped;
  },
  "The item costs 2": () => rig<number>({ name, maxBatchCost: 1 }).batcher.submit(1, { cost: 2 }),
  "The item has 2 tokens": () =>
    createTokenBatcher((texts: string[]) => texts, { name, maxBatchTokens: 1 }).submit("a", { tokens: 2 }),
  "The item was not answered": () => rig<number>({ name }).batcher.submit(1, { timeoutMs: 0 }),
  "The batcher is closed": () => {
    const { batcher } = rig<number>({ name });
    void batcher.close();
    return batcher.submit(1);
  },
  "The batcher is closed.": () => {
    const { batcher } = rig<number>({ name });
    const waiting = batcher.submit(1);
    void batcher.close({ drain: false });
    return waiting;
  },
  "The handler did not answer": () => {
    const { batcher, clock } = rig<number>({ name, handlerTimeoutMs: 1 });
    const result = batcher.submit(1);
    void clock.advance(1);
    return result;
  },
  "Expected the handler to return 1 result": () => createBatcher((): number[] => [], { name }).submit(1),
  "Expected the handler to return an array": () => createBatcher((): never => 5 as never, { name }).submit(1),
  "none at index 0": () => createBatcher((): number[] => new Array(1), { name }).submit(1),
  "Expected `cost` to be a finite number": () => createBatcher((): number[] => [], { name, cost: () => -1 }).submit(1),
  "Expected `key` to be a function": () => createBatcher((): number[] => [], { name, key: () => 5 as never }).submit(1),
  "Expected `batchCost` to be a function": () => {
    const handler = { prepareItem: async (item: number) => item, run: (items: number[]) => items };
    return createBatcher(handler, { name, maxBatchCost: 1, batchCost: () => Number.NaN }).submit(1);
  },
  "Unknown option `priorty`": () => createBatcher((): number[] => [], { name }).submit(1, { priorty: 1 } as never),
  "Expected the handler to return an async iterable": () => drain(batchStream(() => 5 as never, { name })("item")),
  "Expected the handler to yield 1 place": () =>
    drain(
      batchStream(
        function* () {
          yield [];
        },
        { name },
      )("item"),
    ),
  "The handler's answer is not what a batch of 1 row": () =>
    batchTensors(() => ({ ...row, data: new Float32Array(2), dims: [2, 1] }), { name })({ row }),
  "The rows of this call travelled in several batches": () => {
    const names = ["one", "other"];
    const handler = ({ x }: { x: Tensor }): Record<string, Tensor> => ({ [names.pop() ?? ""]: x });
    const x: Tensor<"float32"> = { type: "float32", data: Float32Array.of(1, 2), dims: [2, 1] };
    return batchTensors(handler, { name, maxBatchSize: 1 })({ x });
  },
  "Expected `features` to be a record of tensors": () => batchTensors(() => row, { name })(5 as never),
  "The model's input `x` is missing": () => {
    const session = { inputNames: ["x"], outputNames: ["y"], run: async () => ({}) };
    return batchTensors(onnxHandler(session), { name })({ row });
  },
  "Expected the pipeline to return 1 result": () =>
    batch(
      pipelineHandler(async (_texts: string[]) => [], { task: "text-classification" }),
      { name },
    )("text"),
};

describe("an error of a batcher with a name", () => {
  test.each(Object.keys(ways))("begins with that name, in its stack too: %s", async (text) => {
    const error = (await reasonOf((ways[text] as () => Promise<unknown>)())) as Error;
    expect(error.message).toContain(text);
    expect(error.message.startsWith("Batcher `embed`: ")).toBe(true);
    expect(error.message.indexOf("Batcher `", 1)).toBe(-1);
    expect(error.stack).toContain("Batcher `embed`: ");
  });
});

describe("the name of a batcher", () => {
  test("is not put to errors of the handler, of other batchers, and of callers", async () => {
    const own = new RangeError("mine");
    const failing = createBatcher(() => Promise.reject(own), { name });
    expect(await reasonOf(failing.submit(1))).toBe(own);
    expect(own.message).toBe("mine");

    const inner = createBatcher((): number[] => [], { name: "inner" });
    const outer = createBatcher((items: number[]) => items.map((item) => inner.submit(item)), { name });
    expect(await reasonOf(outer.submit(1))).toMatchObject({ message: expect.stringMatching(/^Batcher `inner`: Exp/) });

    const nameless = createBatcher((): number[] => []);
    const around = createBatcher((items: number[]) => nameless.submitMany(items), { name });
    expect(await reasonOf(around.submit(1))).toMatchObject({ message: expect.stringMatching(/^Expected the handler/) });

    const reason = new Error("gone");
    expect(await reasonOf(rig<number>({ name }).batcher.submit(1, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(reason.message).toBe("gone");
  });

  test("is in no message where the option is not given", async () => {
    const error = (await reasonOf(createBatcher((): number[] => []).submit(1))) as Error;
    expect(error.message).toBe("Expected the handler to return 1 result, one per item, got 0.");
  });
});
