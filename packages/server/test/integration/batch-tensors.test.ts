// Tensors batched for a real model, in this thread: padding and neighbours change no answer.

import { batchTensors, type Tensor as PlainTensor } from "batchwise/tensor";
import { InferenceSession, Tensor, type TypedTensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildEncoder, DEFAULT_ENCODER } from "../../src/models/encoder-model.ts";
import { maxDifference } from "../support/vectors.ts";

const SILENT = 4;
const lengths = Array.from({ length: 40 }, (_, row) => 1 + ((row * 37) % 90));

interface Encoded {
  readonly input_ids: PlainTensor<"int64">;
  readonly attention_mask: PlainTensor<"int64">;
}

/** A text of this many tokens; no two are alike. */
function encoded(length: number): Encoded {
  const ids = BigInt64Array.from({ length }, (_, place) => BigInt(3 + ((length * 7919 + place * 104_729) % 8000)));
  const dims = [1, length];
  return {
    input_ids: new Tensor("int64", ids, dims),
    attention_mask: new Tensor("int64", new BigInt64Array(length).fill(1n), dims),
  };
}

const ported = ({ type, data, dims }: PlainTensor<"int64">): Tensor => new Tensor(type, data, dims);

let pooled: InferenceSession;
let tokens: InferenceSession;

beforeAll(async () => {
  const options = { intraOpNumThreads: 1, logSeverityLevel: SILENT } as const;
  pooled = await InferenceSession.create(buildEncoder(DEFAULT_ENCODER), options);
  tokens = await InferenceSession.create(buildEncoder({ ...DEFAULT_ENCODER, output: "tokens" }), options);
});
afterAll(async () => {
  await Promise.all([pooled.release(), tokens.release()]);
});

async function embeddings({ input_ids, attention_mask }: Encoded): Promise<TypedTensor<"float32">> {
  const feeds = { input_ids: ported(input_ids), attention_mask: ported(attention_mask) };
  return (await pooled.run(feeds)).embedding as TypedTensor<"float32">;
}

describe("an encoder behind batchTensors", () => {
  test.each([{}, { padToMultipleOf: 16 }, { maxBatchCost: 512 }])(
    "gives each text the vector of a batch of one, with %j",
    async (options) => {
      const alone = await Promise.all(lengths.map((length) => embeddings(encoded(length))));
      await using embed = batchTensors(embeddings, options);
      const together = await Promise.all(lengths.map((length) => embed(encoded(length))));
      expect(together.map(({ dims }) => dims)).toEqual(lengths.map(() => [1, DEFAULT_ENCODER.hidden]));
      const differences = together.map(({ data }, index) => maxDifference(data, alone[index]?.data as Float32Array));
      expect(Math.max(...differences)).toBeLessThan(1e-5);
      expect(embed.stats().batches).toBeLessThan(lengths.length);
    },
  );

  test("fails only the caller of a token id that the model does not know", async () => {
    await using embed = batchTensors(embeddings, { isolateFailures: true });
    const poison = encoded(5);
    poison.input_ids.data[2] = 99_999n;
    const settled = await embed.submitSettled([encoded(3), poison, encoded(7), encoded(11)]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  });

  test("gives states of tokens as long as the longest text of the batch, each text's own in front", async () => {
    const states = async (features: Encoded) => {
      const { dims, data } = features.input_ids;
      const types = new Tensor("int64", new BigInt64Array(data.length), dims);
      const feeds = { input_ids: ported(features.input_ids), attention_mask: ported(features.attention_mask) };
      return tokens.run({ ...feeds, token_type_ids: types });
    };
    await using run = batchTensors(states);
    const [short, long] = await Promise.all([run(encoded(4)), run(encoded(9))]);
    const own = (await states(encoded(4))).last_hidden_state as TypedTensor<"float32">;
    const state = short?.last_hidden_state as PlainTensor<"float32">;
    expect([state.dims, long?.last_hidden_state?.dims]).toEqual([
      [1, 9, DEFAULT_ENCODER.hidden],
      [1, 9, DEFAULT_ENCODER.hidden],
    ]);
    expect(maxDifference(state.data.subarray(0, own.data.length), own.data)).toBeLessThan(1e-5);
  });
});
