import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { availableCores, type OnnxModel, type OnnxModelOptions, onnxModel } from "batchwise/onnx";
import {
  batchTensors,
  type FeaturesOf,
  type ResultOf,
  type Tensor,
  type TensorBatcher,
  type TensorBatchOptions,
} from "batchwise/tensor";
import { InferenceSession, Tensor as RuntimeTensor } from "onnxruntime-node";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Embedding,
  type Encoded,
  encoded,
  encoder,
  fileOf,
  floats,
  identity,
  maxDifference,
  slow,
  twoOutputs,
} from "./kit.ts";

interface Floats {
  readonly x: Tensor<"float32">;
}
interface Answer {
  readonly y: Tensor<"float32">;
}

type Records = Readonly<Record<string, Tensor>>;

function opened<Inputs extends FeaturesOf<Inputs> = Records, Output extends FeaturesOf<Output> = Records>(
  options: OnnxModelOptions,
  of: TensorBatchOptions<Inputs, ResultOf<Output>> = {},
): { readonly model: OnnxModel<Inputs, Output>; readonly run: TensorBatcher<Inputs, Output> } {
  const model = onnxModel<Inputs, Output>({ workers: 1, ...options });
  const run = batchTensors(model, of);
  onTestFinished(() => run.close({ drain: false }));
  return { model, run };
}

/** What is learned begins with one row. */
const TOGETHER = { maxBatchCost: 1_000 };

const embedder = (options: Partial<OnnxModelOptions> = {}, of: TensorBatchOptions<Encoded, ResultOf<Embedding>> = {}) =>
  opened<Encoded, Embedding>({ path: fileOf(encoder()), ...options }, of);

/** A model whose thread dies in its next run after `die()`. */
function mortal(bytes: Uint8Array, of: TensorBatchOptions<Floats, ResultOf<Answer>> = {}) {
  const path = fileOf(bytes);
  const env = { ...process.env, DIE_FILE: `${path}.die` };
  const execArgv = ["--import", new URL("./fixtures/dies-when-told.mjs", import.meta.url).href];
  return {
    ...opened<Floats, Answer>({ path, workerOptions: { env, execArgv } }, of),
    die: () => writeFileSync(env.DIE_FILE, ""),
  };
}

test("methods of a model work when they are taken off it", async () => {
  const { open, close } = onnxModel({ path: fileOf(identity("float32")) });
  await open();
  await close();
});

describe("a model in threads", () => {
  test("gives each of many texts the vector of session.run in a batch of one", async () => {
    const path = fileOf(encoder());
    const { run } = embedder({ path, workers: 2 });
    const texts = Array.from({ length: 120 }, (_, row) => encoded(1 + ((row * 37) % 120), row));
    const together = await Promise.all(texts.map((text) => run(text)));
    expect(run.stats().batches).toBeLessThan(texts.length);
    const session = await InferenceSession.create(path, { intraOpNumThreads: 1 });
    onTestFinished(() => session.release());
    const own = ({ type, data, dims }: Tensor<"int64">) => new RuntimeTensor(type, data, dims);
    for (const [index, { input_ids, attention_mask }] of texts.entries()) {
      const alone = await session.run({ input_ids: own(input_ids), attention_mask: own(attention_mask) });
      const difference = maxDifference(together[index]?.embedding.data ?? [], alone.embedding?.data as Float32Array);
      expect(difference).toBeLessThan(1e-5);
    }
  });

  test("does not take callers' tensors, nor the event loop's time", async () => {
    const { run } = opened<Floats, Answer>({ path: fileOf(slow(400, 1024)) });
    const features = floats(...new Array<number>(1024).fill(1));
    await run.open();
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 1);
    const startedAt = performance.now();
    const { y } = await run(features);
    const took = performance.now() - startedAt;
    clearInterval(timer);
    expect(maxDifference(y.data, features.x.data)).toBeLessThan(1e-3);
    expect(took).toBeGreaterThan(20);
    expect(ticks).toBeGreaterThan(took / 10);
  });

  test("is given its input without a copy: the memory is gone from here", async () => {
    const { model } = opened<Floats, Answer>({ path: fileOf(identity("float32")) });
    const { x } = floats(1, 2);
    const { y } = await model.run({ x });
    expect([x.data.length, y.data]).toEqual([0, Float32Array.of(1, 2)]);
    await model.close();
  });

  test("has as many batches at once as it has workers, of rows of like length, as large as pays, by itself", async () => {
    const { run } = embedder({ workers: 3 });
    expect(run.options).toMatchObject({ concurrency: 3, maxBatchCost: "learn", order: "length", batchCost: "padded" });
    const path = fileOf(encoder());
    const cores = batchTensors(onnxModel({ path }));
    expect(cores.options.concurrency).toBe(availableCores());
    const mine = embedder({ workers: 3 }, { concurrency: 2, maxBatchCost: 64, order: "fifo" });
    expect(mine.run.options).toMatchObject({ concurrency: 2, maxBatchCost: 64, order: "fifo" });
    const measured = embedder({}, { batchCost: "sum" });
    expect(measured.run.options).toMatchObject({ order: "fifo", batchCost: "sum" });
  });

  test.each([
    { type: "float32", data: Float32Array.of(1.5, -2) },
    { type: "int64", data: BigInt64Array.of(2n ** 62n, -1n) },
    { type: "float16", data: Uint16Array.of(0x3c00, 0xc000) },
    { type: "bool", data: Uint8Array.of(1, 0) },
    { type: "string", data: ["a", "bc"] },
  ] as const)("keeps $type exactly on the way there and back", async ({ type, data }) => {
    const { run } = opened({ path: fileOf(identity(type)) }, TOGETHER);
    const x = { type, data, dims: [1, 2] } as Tensor;
    const answers = await Promise.all([run({ x }), run({ x })]);
    expect(answers).toEqual([{ y: x }, { y: x }]);
    expect(run.stats().batches).toBe(1);
  });

  test("lists its inputs and outputs once it is open, and gives the chosen outputs", async () => {
    const { model, run } = opened({ path: pathToFileURL(fileOf(twoOutputs())), outputs: ["twice"] });
    expect([model.inputNames, model.outputNames, model.ready]).toEqual([[], [], false]);
    await run.open();
    expect([model.inputNames, model.outputNames, model.ready]).toEqual([["x"], ["twice"], true]);
    expect(await run(floats(1, 2))).toEqual({ twice: { type: "float32", data: Float32Array.of(2, 4), dims: [1, 2] } });
    await run.close();
    expect(model.ready).toBe(false);
  });

  test("serves beside another model", async () => {
    const one = opened<Floats, Answer>({ path: fileOf(identity("float32")), workers: 2 });
    const other = embedder({ workers: 2 });
    const [same, { embedding }] = await Promise.all([one.run(floats(3)), other.run(encoded(4))]);
    expect([same.y.data, embedding.dims]).toEqual([Float32Array.of(3), [1, 32]]);
  });

  test("is loaded once, however often it is opened", async () => {
    const { model, run } = embedder();
    await Promise.all([run.open(), model.open(), run.open()]);
    await model.open();
    expect((await run(encoded(3))).embedding.dims).toEqual([1, 32]);
    expect(model.restarts).toBe(0);
  });
});

describe("stages of successive batches", () => {
  /** What the stages do, in order, with the main thread's part of each. */
  async function stages(workers: number, prefetch: number): Promise<string[]> {
    const model = onnxModel<Floats, Answer>({ path: fileOf(slow(2_000)), workers });
    const log: string[] = [];
    let batch = 0;
    const run = batchTensors<Floats, Answer, { of: Floats; id: number }, { of: Answer; id: number }>(
      {
        copyInputs: model.copyInputs,
        defaults: model.defaults,
        open: () => model.open(),
        close: () => model.close(),
        prepare: (of) => {
          batch += 1;
          log.push(`prepared ${batch}`);
          return { of, id: batch };
        },
        run: async ({ of, id }, context) => {
          log.push(`runs ${id}`);
          const answer = await model.run(of, context);
          log.push(`ran ${id}`);
          return { of: answer, id };
        },
        finish: async ({ of, id }) => {
          await new Promise((resolve) => setImmediate(resolve));
          log.push(`finished ${id}`);
          return of;
        },
      },
      { maxBatchSize: 2, maxBatchCost: Number.POSITIVE_INFINITY, prefetch },
    );
    await run.open();
    const features = floats(...new Array<number>(256).fill(1));
    await Promise.all(Array.from({ length: 8 }, () => run(features)));
    await run.close();
    return log;
  }

  test("overlap: while one batch runs in the only thread, the next is prepared and the one before finished", async () => {
    const log = await stages(1, 1);
    const at = (event: string) => log.indexOf(event);
    for (const id of [1, 2, 3]) {
      expect(at(`prepared ${id + 1}`)).toBeLessThan(at(`ran ${id}`));
      expect(at(`runs ${id + 1}`)).toBeGreaterThan(at(`ran ${id}`));
    }
    expect(at("runs 2")).toBeLessThan(at("finished 1"));
  });

  test("overlap with two threads without `prefetch`: a batch is prepared while another runs", async () => {
    const log = await stages(2, 0);
    const at = (event: string): number => log.indexOf(event);
    // A busy machine may hold back this thread for as long as one batch runs, but hardly each time.
    const isAhead = [1, 2, 3].map((id) => at(`prepared ${id + 1}`) < at(`ran ${id}`));
    expect(isAhead).toContain(true);
  });
});

describe("failures of a model in threads", () => {
  test("a row that the model fails on costs its own caller, with isolation", async () => {
    const { model, run } = embedder({}, { isolateFailures: true });
    const poison = encoded(5);
    poison.input_ids.data[2] = 99_999n;
    const settled = await run.submitSettled([encoded(3), poison, encoded(7), encoded(11)]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    const reason = { code: "MODEL_FAILED", retryable: false, message: expect.stringMatching(/indices|bounds/) };
    expect(settled[1]).toMatchObject({ reason });
    expect(model.restarts).toBe(0);
  });

  test("tensors that are not its inputs are refused by name, also while other callers are served", async () => {
    const { run } = embedder();
    const { input_ids, attention_mask } = encoded(3);
    const [good, bad] = await Promise.allSettled([
      run({ input_ids, attention_mask }),
      run({ input_ids, mask: attention_mask } as never),
    ]);
    expect(good.status).toBe("fulfilled");
    expect(bad).toMatchObject({
      reason: { code: "MODEL_INPUT", message: expect.stringContaining("input `attention_mask` is missing") },
    });
    const none = { type: "int64", data: new BigInt64Array(0), dims: [0, 3] } as const;
    await expect(run({ input_ids: none, attention_mask: none })).rejects.toThrow("at least one row, got 0");
  });

  test("a file that is no model rejects `open` with its path and the reason, and `open` may be tried again", async () => {
    const path = fileOf("this is no model");
    const { model, run } = opened<Floats, Answer>({ path, workers: 2 });
    const message = expect.stringMatching(/^Cannot load .*model\.onnx: .*(protobuf|INVALID)/i);
    const failure = { name: "BatchwiseError", code: "MODEL_LOAD", retryable: false, message };
    await expect(run.open()).rejects.toMatchObject(failure);
    await expect(run(floats(1))).rejects.toMatchObject(failure);
    expect(model.ready).toBe(false);
    writeFileSync(path, identity("float32"));
    expect((await run(floats(1))).y.data).toEqual(Float32Array.of(1));
    const missing = opened({ path: `${path}.not` });
    await expect(missing.run.open()).rejects.toMatchObject({
      code: "MODEL_LOAD",
      message: expect.stringMatching(/\.not/),
    });
    const other = opened({ path, outputs: ["logits"] });
    await expect(other.run.open()).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: "The model has no output `logits`. It has y",
    });
  });

  test("a thread that dies fails only its batch, and another takes its place", async () => {
    const { model, run, die } = mortal(identity("float32"), {
      maxBatchSize: 1,
      maxBatchCost: Number.POSITIVE_INFINITY,
    });
    expect((await run(floats(1))).y.data).toEqual(Float32Array.of(1));
    die();
    const [lost, next] = await Promise.allSettled([run(floats(2)), run(floats(3))]);
    expect(lost).toMatchObject({
      reason: { code: "THREAD_ENDED", retryable: true, message: expect.stringMatching(/exit code 1 .*out of luck/) },
    });
    expect(next).toMatchObject({ value: { y: { data: Float32Array.of(3) } } });
    expect([model.restarts, model.ready]).toEqual([1, true]);
  });

  test("a batch whose thread died may run again: its rows are stacked again", async () => {
    const { model, run, die } = mortal(identity("float32"), { ...TOGETHER, retry: { attempts: 2 } });
    await run.open();
    die();
    const answers = await Promise.all([run(floats(1, 2, 3)), run(floats(4, 5))]);
    expect(answers.map(({ y }) => y.data)).toEqual([Float32Array.of(1, 2, 3), Float32Array.of(4, 5, 0)]);
    expect(model.restarts).toBe(1);
  });

  test("`close` waits for running batches, and later calls are refused", async () => {
    const { model, run } = opened<Floats, Answer>({ path: fileOf(slow(2_000)), workers: 2 });
    await run.open();
    const features = floats(...new Array<number>(256).fill(1));
    const running = Promise.all([run(features), run(features), run(features)]);
    const closed = run.close();
    await expect(run(features)).rejects.toMatchObject({ code: "CLOSED" });
    expect((await running).map(({ y }) => y.dims)).toEqual([256, 256, 256].map((width) => [1, width]));
    await closed;
    await expect(model.run(features)).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("`close` without drain answers callers at once, and lets the native run end before its thread", async () => {
    const { model, run } = opened<Floats, Answer>({ path: fileOf(slow(8_000)) });
    await run.open();
    const lost = run(floats(...new Array<number>(256).fill(1)));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const startedAt = performance.now();
    const closed = run.close({ drain: false });
    await expect(lost).rejects.toMatchObject({ code: "CLOSED" });
    const answeredMs = performance.now() - startedAt;
    await closed;
    expect(answeredMs).toBeLessThan(performance.now() - startedAt);
    expect(model.ready).toBe(false);
  });

  test("only a call that does not have the model's fixed dimensions fails, and is not padded until it fits", async () => {
    const { run } = opened<Floats, Answer>({ path: fileOf(identity("float32", ["batch", 3])), workers: 1 }, TOGETHER);
    await run.open();
    const answers = await Promise.allSettled([run(floats(1, 2, 3)), run(floats(1, 2)), run(floats(1, 2, 3, 4))]);
    const refused = (dims: string): object => ({
      reason: {
        code: "MODEL_INPUT",
        message: expect.stringContaining(`[batch, 3], as the model has them, got ${dims}`),
      },
    });
    expect(answers[0]).toMatchObject({ value: { y: { dims: [1, 3], data: Float32Array.of(1, 2, 3) } } });
    expect(answers.slice(1)).toMatchObject([refused("[1, 2]"), refused("[1, 4]")]);
  });

  test("a fixed dimension that `padToMultipleOf` reaches is no mistake", async () => {
    const { run } = opened<Floats, Answer>(
      { path: fileOf(identity("float32", ["batch", 4])), workers: 1 },
      { ...TOGETHER, padToMultipleOf: 4 },
    );
    const answers = await Promise.all([run(floats(1, 2, 3)), run(floats(1))]);
    expect(answers.map(({ y }) => y.dims)).toEqual([4, 4].map((width) => [1, width]));
  });

  test("options that make no sense are refused by name", () => {
    const path = "model.onnx";
    expect(() => onnxModel(undefined as never)).toThrow("Expected `options` to be an object, got");
    expect(() => onnxModel({} as never)).toThrow("Expected `path` to be the path of an .onnx file");
    expect(() => onnxModel({ path, workers: 0 })).toThrow("Expected `workers` to be an integer >= 1, got `0`");
    expect(() => onnxModel({ path, concurrency: 2 } as never)).toThrow("threads are `workers`");
    expect(() => onnxModel({ path, intraOpNumThreads: 2 } as never)).toThrow("it is `intraOpThreads`");
  });
});

test("an open model keeps no process alive", () => {
  const file = new URL("./fixtures/forgets-to-close.ts", import.meta.url).pathname;
  const args = [file, fileOf(identity("float32"))];
  const run = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
  expect(run).toMatchObject({ status: 0, stdout: "x\n", stderr: "" });
});
