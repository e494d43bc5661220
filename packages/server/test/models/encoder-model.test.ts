import { createHash } from "node:crypto";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { vectorsFrom } from "../../../batchwise/src/onnx/text/pooling.ts";
import { MEAN_READOUT } from "../../../batchwise/src/onnx/text/readout.ts";
import { padTokens, splitRows, type TokenBatch } from "../../../batchwise/src/onnx/text/token-batch.ts";
import { buildEncoder, DEFAULT_ENCODER, SPECIAL_TOKENS } from "../../src/models/encoder-model.ts";
import { hashingTokenizer } from "../../src/models/hashing-tokenizer.ts";
import { cosine, maxDifference } from "../support/vectors.ts";

const tokenizer = hashingTokenizer(DEFAULT_ENCODER.vocabulary);
let session: InferenceSession;

beforeAll(async () => {
  session = await InferenceSession.create(buildEncoder(DEFAULT_ENCODER), { intraOpNumThreads: 1 });
});
afterAll(() => session.release());

async function runBatch(batch: TokenBatch, on: InferenceSession = session): Promise<Float32Array[]> {
  const dims = [batch.rows, batch.columns];
  const feeds: Record<string, Tensor> = {
    input_ids: new Tensor("int64", batch.ids, dims),
    attention_mask: new Tensor("int64", batch.mask, dims),
    token_type_ids: new Tensor("int64", new BigInt64Array(batch.ids.length), dims),
  };
  for (const name of Object.keys(feeds)) if (!on.inputNames.includes(name)) delete feeds[name];
  const outputs = await on.run(feeds);
  const [name] = on.outputNames;
  const output = outputs[name ?? ""];
  if (output === undefined) throw new Error("no output");
  return splitRows(vectorsFrom(output, batch, MEAN_READOUT));
}

async function embed(texts: readonly string[]): Promise<Float32Array[]> {
  return runBatch(padTokens(texts.map(tokenizer.encode), SPECIAL_TOKENS.padding));
}

function lists(count: number): number[][] {
  return Array.from({ length: count }, (_, row) =>
    Array.from({ length: 1 + ((row * 37) % 120) }, (_, column) => 3 + ((row * 7919 + column * 104_729) % 8000)),
  );
}

describe("the generated encoder", () => {
  test("has the same bytes for the same config, on every machine", () => {
    const fingerprint = createHash("sha256").update(buildEncoder(DEFAULT_ENCODER)).digest("hex").slice(0, 16);
    expect(fingerprint).toBe("84b328775c104ff6");
  });

  test("has other bytes for another seed", () => {
    const other = buildEncoder({ ...DEFAULT_ENCODER, seed: 1 });
    expect(Buffer.compare(other, buildEncoder(DEFAULT_ENCODER))).not.toBe(0);
  });

  test("loads with the inputs and the output of a sentence encoder", () => {
    expect(session.inputNames).toEqual(["input_ids", "attention_mask"]);
    expect(session.outputNames).toEqual(["embedding"]);
  });

  test("refuses a width that its heads cannot share", () => {
    expect(() => buildEncoder({ ...DEFAULT_ENCODER, heads: 3 })).toThrow(RangeError);
  });

  test("gives a row of a padded batch the vector of a batch of one", async () => {
    const rows = lists(48);
    const together = await runBatch(padTokens(rows, SPECIAL_TOKENS.padding));
    for (const [row, list] of rows.entries()) {
      const [alone] = await runBatch(padTokens([list], SPECIAL_TOKENS.padding));
      expect(maxDifference(together[row] ?? [], alone ?? [])).toBeLessThan(1e-4);
    }
  });

  test("would show a batch that forgets its mask (the comparison above can fail)", async () => {
    const rows = lists(48);
    const batch = padTokens(rows, SPECIAL_TOKENS.padding);
    batch.mask.fill(1n);
    const together = await runBatch(batch);
    const [alone] = await runBatch(padTokens([rows[1] ?? []], SPECIAL_TOKENS.padding));
    expect(maxDifference(together[1] ?? [], alone ?? [])).toBeGreaterThan(1e-2);
  });

  test("gives vectors of length 1, and a zero vector for a text of padding only", async () => {
    const [vector] = await embed(["a plain sentence"]);
    expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 4);
    const batch = padTokens([[5, 6]], SPECIAL_TOKENS.padding);
    batch.mask.fill(0n);
    const [empty] = await runBatch(batch);
    expect(Math.hypot(...(empty ?? []))).toBe(0);
  });

  test("puts texts that share words nearer to each other than texts that share none", async () => {
    const vectors = await embed([
      "how do I reset my password",
      "I forgot my password, how can I reset it?",
      "the harvest of barley begins under grey skies",
      "grey skies delay the barley harvest",
    ]);
    const [reset, forgot, harvest, delay] = vectors as [Float32Array, Float32Array, Float32Array, Float32Array];
    const near = Math.min(cosine(reset, forgot), cosine(harvest, delay));
    const far = Math.max(cosine(reset, harvest), cosine(reset, delay), cosine(forgot, harvest), cosine(forgot, delay));
    expect(near).toBeGreaterThan(far + 0.3);
  });

  test("can be written as trained models are exported, with token types and one vector a token", async () => {
    const config = { ...DEFAULT_ENCODER, layers: 1, vocabulary: 64, output: "tokens" } as const;
    const exported = await InferenceSession.create(buildEncoder(config), { intraOpNumThreads: 1 });
    expect(exported.inputNames.toSorted()).toEqual(["attention_mask", "input_ids", "token_type_ids"]);
    expect(exported.outputNames).toEqual(["last_hidden_state"]);
    const rows = [
      [3, 4, 5, 6, 7, 8],
      [9, 10],
    ];
    const together = await runBatch(padTokens(rows, 0), exported);
    const [alone] = await runBatch(padTokens([[9, 10]], 0), exported);
    expect(maxDifference(together[1] ?? [], alone ?? [])).toBeLessThan(1e-4);
    await exported.release();
  });
});
