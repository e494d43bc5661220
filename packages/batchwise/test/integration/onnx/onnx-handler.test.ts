import { batch } from "batchwise";
import { onnxHandler } from "batchwise/onnx";
import { batchTensors, type TensorLike } from "batchwise/tensor";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Embedding, type Encoded, encoded, encoder, floats, identity, maxDifference, twoOutputs } from "./kit.ts";

async function sessionOf(bytes: Uint8Array): Promise<InferenceSession> {
  const session = await InferenceSession.create(bytes, { intraOpNumThreads: 1, logSeverityLevel: 4 });
  onTestFinished(() => session.release());
  return session;
}

const own = ({ type, data, dims }: TensorLike) => new Tensor(type as "int64", data as BigInt64Array, dims);

describe("a handler over a session", () => {
  test("gives each text the vector of session.run in a batch of one", async () => {
    const session = await sessionOf(encoder());
    await using embed = batchTensors(onnxHandler<Encoded, Embedding>(session));
    const texts = Array.from({ length: 40 }, (_, row) => encoded(1 + ((row * 37) % 90), row));
    const together = await Promise.all(texts.map((text) => embed(text)));
    expect(embed.stats().batches).toBeLessThan(5);
    for (const [index, { input_ids, attention_mask }] of texts.entries()) {
      const alone = await session.run({ input_ids: own(input_ids), attention_mask: own(attention_mask) });
      const { type, dims, data } = together[index]?.embedding ?? {};
      expect({ type, dims }).toEqual({ type: "float32", dims: [1, 32] });
      expect(maxDifference(data as Float32Array, alone.embedding?.data as Float32Array)).toBeLessThan(1e-5);
    }
  });

  test.each([
    { type: "float32", data: Float32Array.of(1.5, -2) },
    { type: "float64", data: Float64Array.of(0.1, 1e300) },
    { type: "int64", data: BigInt64Array.of(2n ** 62n, -1n) },
    { type: "int32", data: Int32Array.of(1, -7) },
    { type: "uint8", data: Uint8Array.of(0, 255) },
    { type: "bool", data: Uint8Array.of(1, 0) },
    { type: "float16", data: Uint16Array.of(0x3c00, 0xc000) },
    { type: "string", data: ["a", "bc"] },
  ] as const)("takes and gives $type exactly, plain and as the runtime's own class", async ({ type, data }) => {
    const session = await sessionOf(identity(type));
    const features = { x: { type, data, dims: [1, 2] } };
    expect(await onnxHandler(session)(features as never)).toEqual({ y: { type, data, dims: [1, 2] } });
    // On a platform with Float16Array the class makes one, which the runtime then refuses.
    if (type === "float16") return;
    expect(await onnxHandler(session, { Tensor })(features as never)).toEqual({ y: { type, data, dims: [1, 2] } });
  });

  test("takes a Float16Array where there is one, and a view into a larger buffer", async () => {
    const Float16 = (globalThis as unknown as { Float16Array?: new (of: readonly number[]) => Uint16Array })
      .Float16Array;
    const halves = await sessionOf(identity("float16"));
    if (Float16 !== undefined) {
      const x = { type: "float16", data: new Float16([1, -2]), dims: [1, 2] } as const;
      expect((await onnxHandler(halves)({ x })).y?.data).toEqual(Uint16Array.of(0x3c00, 0xc000));
    }
    const session = await sessionOf(identity("float32"));
    const data = Float32Array.of(9, 9, 1, 2, 9).subarray(2, 4);
    const { y } = await onnxHandler(session)({ x: { type: "float32", data, dims: [1, 2] } });
    expect(y?.data).toEqual(Float32Array.of(1, 2));
  });

  test("gives the chosen outputs, and refuses one that the model has not", async () => {
    const session = await sessionOf(twoOutputs());
    expect(Object.keys(await onnxHandler(session)(floats(1, 2)))).toEqual(["once", "twice"]);
    const { twice, once } = await onnxHandler(session, { outputs: ["twice"] })(floats(1, 2));
    expect([twice?.data, once]).toEqual([Float32Array.of(2, 4), undefined]);
    const make = () => onnxHandler(session, { outputs: ["logits"] });
    expect(make).toThrow("The model has no output `logits`. It has once, twice");
    expect(() => onnxHandler(session, { outputs: [] })).toThrow("Expected `outputs` to be a list of names of outputs");
    expect(() => onnxHandler(session, { output: "twice" } as never)).toThrow("did you mean `outputs`?");
    expect(() => onnxHandler({ run: () => {} } as never)).toThrow("Expected `session` to be an InferenceSession");
  });

  test("refuses a call that lacks an input before the user's `key` reads that input", async () => {
    const handler = onnxHandler<Encoded, Embedding>(await sessionOf(encoder()));
    const embed = batchTensors(handler, { key: ({ attention_mask }) => `${attention_mask.dims[1]}` });
    const { input_ids } = encoded(3);
    const message = expect.stringContaining("input `attention_mask` is missing");
    await expect(embed({ input_ids } as Encoded)).rejects.toMatchObject({ code: "MODEL_INPUT", message });
    expect((await embed(encoded(3))).embedding.dims).toEqual([1, 32]);
  });

  test("says where it belongs when it is given to `batch`", async () => {
    const run = batch(onnxHandler(await sessionOf(identity("float32"))) as never);
    await expect(run({ x: { type: "float32", data: [1], dims: [1] } })).rejects.toMatchObject({
      code: "MODEL_INPUT",
      message: "A model takes a record of padded tensors, got a list. Give it to `batchTensors`, not to `batch`",
    });
  });

  test("says which input is missing, unknown or of another type, with the expected and the actual one", async () => {
    const run = batchTensors(onnxHandler(await sessionOf(encoder())));
    const { input_ids, attention_mask } = encoded(3);
    const takes = "It takes input_ids (int64 [batch, sequence]), attention_mask (int64 [batch, sequence])";
    await expect(run({ input_ids })).rejects.toMatchObject({
      code: "MODEL_INPUT",
      retryable: false,
      message: `The model's input \`attention_mask\` is missing. ${takes}; got input_ids`,
    });
    await expect(run({ input_ids, attention_mask, token_type_ids: input_ids })).rejects.toThrow(
      `The model has no input \`token_type_ids\`. ${takes}; got input_ids, attention_mask, token_type_ids`,
    );
    const ints = { type: "int32", data: Int32Array.of(1, 2, 3), dims: [1, 3] } as const;
    await expect(run({ input_ids: ints, attention_mask })).rejects.toThrow(
      "Expected `input_ids` to be of type int64, as the model has it, got int32",
    );
    const flat = { ...input_ids, dims: [1, 3, 1] };
    await expect(run({ input_ids: flat, attention_mask })).rejects.toThrow(
      "Expected `input_ids` to have dims [batch, sequence], as the model has them, got [1, 3, 1]",
    );
  });

  test("names the way out for a model that was exported for one row", async () => {
    const run = batchTensors(onnxHandler(await sessionOf(identity("float32", [1, 2]))));
    expect((await run(floats(1, 2))).y?.data).toEqual(Float32Array.of(1, 2));
    await expect(Promise.all([run(floats(1, 2)), run(floats(3, 4))])).rejects.toThrow(
      /batches of exactly 1: export it with a dynamic first axis, or set `maxBatchSize: 1`/,
    );
  });

  test("rejects with the runtime's error as the cause where a run fails, only its own caller with isolation", async () => {
    const run = batchTensors(onnxHandler<Encoded, Embedding>(await sessionOf(encoder())), { isolateFailures: true });
    const poison = encoded(5);
    poison.input_ids.data[2] = 99_999n;
    const settled = await run.submitSettled([encoded(3), poison, encoded(7)]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(settled[1]).toMatchObject({ reason: { code: "MODEL_FAILED", cause: expect.any(Error) } });
  });

  test("refuses a call without rows", async () => {
    const run = batchTensors(onnxHandler(await sessionOf(identity("float32"))));
    const x = { type: "float32", data: new Float32Array(0), dims: [0, 2] } as const;
    await expect(run({ x })).rejects.toThrow("at least one row, got 0");
  });
});

describe("a tensor for a session of another runtime", () => {
  /** Applies the rules of one runtime, and answers as it would. */
  function sessionLike(read: (feed: Record<string, unknown>) => unknown, y: unknown) {
    const given: unknown[] = [];
    const run = async (feeds: Readonly<Record<string, never>>) => {
      given.push(...Object.values(feeds).map((feed) => read(feed)));
      return { y };
    };
    return { given, session: { inputNames: ["x"], outputNames: ["y"], run } };
  }
  const data = Float32Array.of(9, 1, 2, 9).subarray(1, 3);
  const features = { x: { type: "float32", data, dims: [1, 2] } } as const;

  test("says where it lies, as onnxruntime-web requires", async () => {
    const y = { type: "float32", data: Float32Array.of(1), dims: [1, 1] };
    const { given, session } = sessionLike(({ location, data: of }) => [location, of], y);
    await onnxHandler(session)(features);
    expect(given).toEqual([["cpu", Float32Array.of(1, 2)]]);
  });

  test("lies at the start of a buffer of its own, as onnxruntime-react-native reads it", async () => {
    const y = { type: "bool", data: Int8Array.of(1, 0), dims: [1, 2] };
    const read = ({ cpuData }: Record<string, unknown>) => new Float32Array((cpuData as Float32Array).buffer);
    const { given, session } = sessionLike(read, y);
    expect((await onnxHandler(session)(features)).y).toEqual({ type: "bool", data: Uint8Array.of(1, 0), dims: [1, 2] });
    expect(given).toEqual([Float32Array.of(1, 2)]);
  });

  test("and an answer that lies on a GPU is brought over", async () => {
    const y = { type: "float32", dims: [1, 1], location: "gpu-buffer", getData: async () => Float32Array.of(5) };
    const { session } = sessionLike(() => undefined, y);
    expect((await onnxHandler(session)(features)).y?.data).toEqual(Float32Array.of(5));
  });
});
