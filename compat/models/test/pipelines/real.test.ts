// The handler over the real package, with real models of the four forms of output. Batched results
// equal those of each input alone, because the models keep padding out by the attention mask.

import { pipeline } from "@huggingface/transformers";
import { expect, test } from "vitest";
import { batch } from "../../../../packages/batchwise/src/index.ts";
import { pipelineKey } from "../../../../packages/batchwise/src/onnx/pipelines/call.ts";
import { pipelineCost } from "../../../../packages/batchwise/src/onnx/pipelines/cost.ts";
import { pipelineHandler } from "../../../../packages/batchwise/src/onnx/pipelines/handler.ts";
import type { PipelineCall, QuestionCall } from "../../../../packages/batchwise/src/onnx/pipelines/types.ts";
import type { Tensor } from "../../../../packages/batchwise/src/tensor/types.ts";
import { localModel, type ModelOptions, WIDTH } from "./models.ts";

const TEXTS = [
  "rain",
  "play the grey piano, the rain played!",
  "the piano",
  "rain!",
  "the the the the the the the the",
];
const TOKENS = [3, 12, 4, 4, 10];

interface Label {
  readonly label: string;
  readonly score: number;
}

async function extractor(options?: ModelOptions): ReturnType<typeof pipeline<"feature-extraction">> {
  return pipeline("feature-extraction", await localModel("tokens", options), { dtype: "fp32" });
}

async function classifier(): ReturnType<typeof pipeline<"text-classification">> {
  return pipeline("text-classification", await localModel("text-logits"), { dtype: "fp32" });
}

function expectClose(tensor: Tensor, alone: { readonly data: unknown; readonly dims: readonly number[] }): void {
  expect(tensor.dims).toEqual(alone.dims);
  const values = [...(tensor.data as Float32Array)];
  const others = [...(alone.data as Float32Array)];
  expect(values.length).toBe(others.length);
  for (const [index, value] of values.entries()) expect(value).toBeCloseTo(others[index] as number, 5);
}

test("pooled vectors in a batch of mixed lengths equal those of single texts, from one call", async () => {
  const extract = await extractor();
  const callOptions = { pooling: "mean", normalize: true } as const;
  const embed = batch(pipelineHandler(extract, { callOptions }));
  const vectors = await embed.submitMany(TEXTS);
  expect(embed.stats().batches).toBe(1);
  for (const [index, text] of TEXTS.entries()) {
    expect(vectors[index]?.dims).toEqual([1, WIDTH]);
    expectClose(vectors[index] as Tensor, await extract(text, callOptions));
  }
});

test("vectors of tokens are each text's own, without the padding that its batch put behind them", async () => {
  const extract = await extractor();
  const embed = batch(pipelineHandler(extract));
  const states = await embed.submitMany(TEXTS);
  expect(states.map(({ dims }) => dims)).toEqual(TOKENS.map((tokens) => [1, tokens, WIDTH]));
  for (const [index, text] of TEXTS.entries()) expectClose(states[index] as Tensor, await extract(text));
});

test("vectors of tokens are cut on the left where the tokenizer pads there", async () => {
  const extract = await extractor({ paddingSide: "left" });
  const embed = batch(pipelineHandler(extract));
  const states = await embed.submitMany(TEXTS);
  for (const [index, text] of TEXTS.entries()) expectClose(states[index] as Tensor, await extract(text));
});

test("the last token's vector is refused with padding on the right, and right with padding on the left", async () => {
  const callOptions = { pooling: "last_token" } as const;
  const right = await extractor();
  expect(() => pipelineHandler(right, { callOptions })).toThrow(
    'Expected a tokenizer with `padding_side` "left" for pooling "last_token", got "right"',
  );
  const left = await extractor({ paddingSide: "left" });
  const vectors = await batch(pipelineHandler(left, { callOptions })).submitMany(TEXTS);
  for (const [index, text] of TEXTS.entries()) expectClose(vectors[index] as Tensor, await left(text, callOptions));
});

test("the pipeline's own output for the last token of a batch is wrong with padding on the right", async () => {
  const right = await extractor();
  const callOptions = { pooling: "last_token" } as const;
  const together = (await right(TEXTS, callOptions)).tolist() as number[][];
  const alone = (await right(TEXTS[0] as string, callOptions)).tolist() as number[][];
  expect(together[0]?.[0]).not.toBeCloseTo(alone[0]?.[0] as number, 3);
});

test("a dynamically quantised model gives a text another vector beside others", async () => {
  const extract = await extractor({ quantised: true });
  const callOptions = { pooling: "mean" } as const;
  const [vector] = await batch(pipelineHandler(extract, { callOptions })).submitMany(TEXTS);
  const alone = await extract(TEXTS[0] as string, callOptions);
  const differences = [...(vector as Tensor<"float32">).data].map((x, i) => Math.abs(x - (alone.data[i] as number)));
  expect(Math.max(...differences)).toBeGreaterThan(1e-3);
});

test("each caller gets its own label, the same as for its text in a batch of one", async () => {
  const classify = await classifier();
  const batched = batch(pipelineHandler<Label>(classify));
  const labels = await Promise.all(TEXTS.map((text) => batched(text)));
  expect(batched.stats().batches).toBe(1);
  for (const [index, text] of TEXTS.entries()) {
    const [alone] = (await classify(text)) as Label[];
    expect(labels[index]?.label).toBe(alone?.label);
    expect(labels[index]?.score).toBeCloseTo(alone?.score as number, 5);
  }
});

test("a single caller gets the same form as in a batch", async () => {
  const classify = await classifier();
  const batched = batch(pipelineHandler<Label>(classify));
  expect(await batched("rain")).toEqual({ label: expect.any(String), score: expect.any(Number) });
  const best = batch(pipelineHandler<Label[]>(classify, { callOptions: { top_k: 2 } }));
  expect(await best("rain")).toHaveLength(2);
  expect((await best.submitMany(TEXTS)).map((labels) => labels.length)).toEqual([2, 2, 2, 2, 2]);
});

test("calls with other options go in a batch of their own", async () => {
  const classify = await classifier();
  const handler = pipelineHandler<Label | Label[], string | PipelineCall>(classify);
  const batched = batch(handler, { key: pipelineKey });
  const [one, three, all] = await Promise.all([
    batched("rain"),
    batched({ input: "the piano", options: { top_k: 3 } }),
    batched({ input: "rain", options: { top_k: 3 } }),
  ]);
  expect(one).toEqual({ label: expect.any(String), score: expect.any(Number) });
  expect(three).toHaveLength(3);
  expect(all).toHaveLength(3);
  expect(batched.stats().batches).toBe(2);
});

test("texts of like length go together, by the tokens that the tokenizer counts", async () => {
  const extract = await extractor();
  const cost = pipelineCost(extract);
  expect(TEXTS.map(cost)).toEqual(TOKENS);
  const embed = batch(pipelineHandler(extract, { callOptions: { pooling: "mean" } }), {
    cost,
    batchCost: "padded",
    order: "length",
    maxBatchCost: "learn",
  });
  const vectors = await embed.submitMany(Array.from({ length: 20 }, () => TEXTS).flat());
  expect(vectors.every(({ dims }) => dims[0] === 1 && dims[1] === WIDTH)).toBe(true);
  expect(embed.stats().completed).toBe(100);
});

test("tokens are labelled as in a batch of one, none of them padding", async () => {
  const name = await localModel("token-logits");
  const tag = await pipeline("token-classification", name, { dtype: "fp32" });
  const batched = batch(pipelineHandler<unknown[]>(tag, { callOptions: { ignore_labels: [] } }));
  const found = await batched.submitMany(TEXTS);
  for (const [index, text] of TEXTS.entries()) {
    const alone = (await tag(text, { ignore_labels: [] })) as { readonly word: string; readonly entity: string }[];
    const together = found[index] as typeof alone;
    expect(together.map(({ word, entity }) => [word, entity])).toEqual(alone.map(({ word, entity }) => [word, entity]));
  }
});

test("each question is answered from its own context, as in a batch of one", async () => {
  const name = await localModel("spans");
  const answer = await pipeline("question-answering", name, { dtype: "fp32" });
  const batched = batch(pipelineHandler<{ answer: string; score: number }, QuestionCall>(answer));
  const questions = [
    { question: "play", context: "the grey rain" },
    { question: "rain, rain!", context: "the piano played the grey piano" },
    { question: "the piano", context: "rain" },
  ];
  const answers = await batched.submitMany(questions);
  for (const [index, { question, context }] of questions.entries()) {
    const alone = await answer(question, context);
    expect(answers[index]?.answer).toBe((alone as { answer: string }).answer);
    expect(answers[index]?.score).toBeCloseTo((alone as { score: number }).score, 5);
  }
});

test("zero-shot classification takes its labels from the handler or from a call", async () => {
  const name = await localModel("text-logits");
  const sort = await pipeline("zero-shot-classification", name, { dtype: "fp32" });
  const labels = ["piano", "rain"];
  const batched = batch(
    pipelineHandler<{ sequence: string; labels: string[] }, string | PipelineCall>(sort, { labels }),
    { key: pipelineKey },
  );
  const [first, second] = await Promise.all([
    batched("the rain"),
    batched({ input: "play", labels: ["grey", "play", "rain"] }),
  ]);
  expect(first?.sequence).toBe("the rain");
  expect([...(first?.labels ?? [])].sort()).toEqual(labels);
  expect(second?.labels).toHaveLength(3);
});

test("a value that is no text rejects its own caller, and the others are answered", async () => {
  const classify = await classifier();
  const batched = batch(pipelineHandler<Label, unknown>(classify));
  const [good, bad] = await batched.submitSettled(["rain", undefined]);
  expect(good).toMatchObject({ status: "fulfilled", value: { label: expect.any(String) } });
  expect(bad).toMatchObject({
    status: "rejected",
    reason: {
      message: "Expected an item of text-classification to be a string, or { input } with one, got `undefined`",
    },
  });
});
