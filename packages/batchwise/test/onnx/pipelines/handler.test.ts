// The handler over pipelines of the test's own, which answer as versions 3 and 4 of the real
// package do.

import { expect, test } from "vitest";
import { batch } from "../../../src/index.ts";
import { pipelineKey } from "../../../src/onnx/pipelines/call.ts";
import { pipelineCost } from "../../../src/onnx/pipelines/cost.ts";
import { pipelineHandler } from "../../../src/onnx/pipelines/handler.ts";
import type { CallOptions, PipelineCall, PipelineParts, QuestionCall } from "../../../src/onnx/pipelines/types.ts";

type Call = readonly [inputs: unknown, ...rest: unknown[]];

/** A pipeline that answers with `answer` of its arguments, and records them. */
function pipelineOf(
  task: string,
  answer: (...args: never[]) => unknown,
  parts: PipelineParts = {},
): ((inputs: never, ...rest: never[]) => Promise<unknown>) & PipelineParts & { readonly calls: Call[] } {
  const calls: Call[] = [];
  const pipeline = async (...args: never[]): Promise<unknown> => {
    calls.push(args as unknown as Call);
    return answer(...args);
  };
  return Object.assign(pipeline, { task, calls, ...parts });
}

const upper = (texts: string[]): { label: string }[] => texts.map((text) => ({ label: text.toUpperCase() }));

test("all inputs go in one call, with the options of the handler", async () => {
  const pipeline = pipelineOf("summarization", upper);
  const run = batch(pipelineHandler<unknown>(pipeline, { callOptions: { max_new_tokens: 9 } }));
  expect(await run.submitMany(["a", "b"])).toEqual([{ label: "A" }, { label: "B" }]);
  expect(pipeline.calls).toEqual([[["a", "b"], { max_new_tokens: 9 }]]);
});

test("a pipeline that writes into its options does not change the next call's", async () => {
  const pipeline = pipelineOf("summarization", (texts: string[], options: Record<string, unknown>) => {
    const seen = { ...options };
    options.max_new_tokens = 1;
    return texts.map(() => seen);
  });
  const run = batch(pipelineHandler<unknown>(pipeline, { callOptions: { max_new_tokens: 9 } }));
  expect([await run("a"), await run("b")]).toEqual([{ max_new_tokens: 9 }, { max_new_tokens: 9 }]);
});

test.each<[task: string, callOptions: CallOptions, item: unknown, answer: unknown, result: unknown]>([
  ["image-to-image", {}, "a.png", { image: 1 }, { image: 1 }],
  ["token-classification", {}, "a", [{ word: "a" }], [{ word: "a" }]],
  ["token-classification", {}, "a", [], []],
  ["token-classification", {}, "a", [[]], []],
  ["token-classification", {}, "a", [[{ word: "a" }]], [{ word: "a" }]],
  ["object-detection", {}, "a.png", [{ box: 1 }, { box: 2 }], [{ box: 1 }, { box: 2 }]],
  ["text-generation", {}, "a", [[{ generated_text: "ab" }]], [{ generated_text: "ab" }]],
  ["question-answering", {}, { question: "q", context: "c" }, { answer: "c" }, { answer: "c" }],
  [
    "question-answering",
    { top_k: 2 },
    { question: "q", context: "c" },
    [{ answer: 1 }, { answer: 2 }],
    [{ answer: 1 }, { answer: 2 }],
  ],
  ["text-classification", { top_k: null }, "a", [[{ label: 1 }, { label: 2 }]], [{ label: 1 }, { label: 2 }]],
  ["", {}, "a", [[1, 2]], [1, 2]],
])("one input of %s gets its result, in an array or not (%#)", async (task, callOptions, item, answer, result) => {
  const run = batch(
    pipelineHandler<unknown, unknown>(
      pipelineOf(task, () => answer),
      { callOptions },
    ),
  );
  expect(await run(item)).toEqual(result);
});

test.each<[name: string, task: string, answer: unknown, items: number, message: string]>([
  ["too few", "translation", ["A"], 2, "Expected the pipeline to return 2 results, one for each input, got 1"],
  [
    "too many for one",
    "translation",
    ["A", "B"],
    1,
    "Expected the pipeline to return 1 result, one for each input, got 2",
  ],
  ["nothing", "translation", undefined, 1, "got `undefined`"],
  ["one answer for all questions, as version 3 gives", "", { answer: "a" }, 2, "got an object (Object)"],
  [
    "a flat list",
    "fill-mask",
    [{ token: 1 }, { token: 2 }],
    2,
    "of which number 1 is not an array: an object (Object)",
  ],
  ["rows of another count", "feature-extraction", tensor([3, 1]), 2, "got a tensor with dims [3, 1]"],
  ["a tensor without rows", "feature-extraction", tensor([]), 1, "got a tensor with dims []"],
])("an answer of the wrong count fails the batch: %s", async (_, task, answer, items, message) => {
  const run = batch(pipelineHandler<unknown>(pipelineOf(task, () => answer)));
  const outcomes = await run.submitSettled(Array.from({ length: items }, (_unused, index) => `text ${index}`));
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ reason: { code: "BATCH_RESULT", message: expect.stringContaining(message) } });
  }
});

function tensor(dims: number[]): { type: string; data: Float32Array; dims: number[] } {
  const data = Float32Array.from({ length: dims.reduce((size, dim) => size * dim, 1) }, (_, index) => index);
  return { type: "float32", data, dims };
}

test("rows of a tensor have memory of their own; a single row is not copied", async () => {
  const answers = [tensor([2, 3]), tensor([1, 3])];
  const given = [...answers];
  const run = batch(pipelineHandler<ReturnType<typeof tensor>>(pipelineOf("feature-extraction", () => given.shift())));
  const [first, second] = await run.submitMany(["a", "b"]);
  expect([first, second]).toEqual([
    { type: "float32", data: Float32Array.of(0, 1, 2), dims: [1, 3] },
    { type: "float32", data: Float32Array.of(3, 4, 5), dims: [1, 3] },
  ]);
  expect(first?.data.buffer.byteLength).toBe(12);
  expect((await run("c")).data).toBe(answers[1]?.data);
});

test("vectors of tokens are refused where no mask separates tokens from padding", async () => {
  const run = batch(pipelineHandler<unknown>(pipelineOf("feature-extraction", () => tensor([2, 3, 1]))));
  const [outcome] = await run.submitSettled(["a", "b"]);
  expect(outcome).toMatchObject({
    reason: {
      message: expect.stringContaining(
        "whose attention mask has dims [2, 3], to tell tokens from padding, got no attention mask",
      ),
    },
  });
});

test("vectors of tokens are refused where the model gives another number of tokens than the tokenizer", async () => {
  const tokenizer = (): unknown => ({ attention_mask: { type: "int64", data: new BigInt64Array(4), dims: [2, 2] } });
  const run = batch(pipelineHandler<unknown>(pipelineOf("feature-extraction", () => tensor([2, 3, 1]), { tokenizer })));
  const [outcome] = await run.submitSettled(["a", "b"]);
  expect(outcome).toMatchObject({ reason: { message: expect.stringContaining("got a mask with dims [2, 2]") } });
});

test.each(["document-question-answering", "image-segmentation", "background-removal", "text-to-speech"])(
  "%s cannot be batched, and the handler says so when it is made",
  (task) => {
    expect(() => pipelineHandler(pipelineOf(task, upper))).toThrow("Expected a pipeline that answers several inputs");
  },
);

test.each<[name: string, make: () => unknown, message: string]>([
  ["no function", () => pipelineHandler({} as never), "Expected `pipeline` to be a function, got an object (Object)"],
  ["a promise of a pipeline", () => pipelineHandler(Promise.resolve(upper) as never), "got an object (Promise)"],
  ["an unknown option", () => pipelineHandler(upper as never, { top_k: 3 } as never), "Unknown option `top_k`"],
  [
    "a misspelt option",
    () => pipelineHandler(upper as never, { callOption: {} } as never),
    "did you mean `callOptions`?",
  ],
  [
    "options that are none",
    () => pipelineHandler(upper as never, { callOptions: 3 } as never),
    "`callOptions` to be an object",
  ],
])("wrong arguments are refused when the handler is made: %s", (_, make, message) => {
  expect(make).toThrow(message);
  expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});

test.each<[task: string, item: unknown, message: string]>([
  [
    "translation_en_to_fr",
    5,
    "Expected an item of translation to be a string, or { input } with one, got `5` (number)",
  ],
  ["question-answering", "q", "Expected an item of question-answering to be { question, context } with two strings"],
  ["question-answering", { question: "q" }, "with two strings, got `undefined`"],
  [
    "zero-shot-classification",
    "a",
    "Expected an item of zero-shot-classification to have `labels`, an array of strings",
  ],
  ["zero-shot-classification", { input: "a", labels: [] }, "to have `labels`"],
  ["text-classification", { input: "a", labels: ["b"] }, "to have no `labels`"],
  ["text-generation", [], "to be a string or an array of messages { role, content }"],
  ["text-generation", ["a"], "to be a string or an array of messages { role, content }"],
  ["image-classification", null, "to be an input of the pipeline, got `null`"],
  [
    "fill-mask",
    { input: "a", options: { streamer: upper } },
    "Expected `options.streamer` of a call to be what JSON can hold, got a function",
  ],
])("an item that %s cannot take fails by itself (%#)", async (task, item, message) => {
  const run = batch(pipelineHandler<unknown, unknown>(pipelineOf(task, upper)));
  await expect(run(item)).rejects.toThrow(message);
  await expect(run(item)).rejects.toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});

test("a call whose own pooling reads padding fails by itself", async () => {
  const tokenizer = { padding_side: "right" };
  const run = batch(
    pipelineHandler<unknown, string | PipelineCall>(
      pipelineOf("feature-extraction", () => tensor([1, 3]), { tokenizer }),
    ),
  );
  await expect(run({ input: "a", options: { pooling: "eos" } })).rejects.toThrow(
    '`padding_side` "left" for pooling "eos"',
  );
  await expect(run({ input: "a", options: { pooling: "cls" } })).resolves.toMatchObject({ dims: [1, 3] });
});

test("without a key, calls of other options are not made as one either, and fail by themselves", async () => {
  const pipeline = pipelineOf("text-classification", (texts: string[], { top_k: topK }: { top_k?: number }) => {
    if (topK === 2) throw new Error("no second label");
    return texts.map((text) => (topK === undefined ? { label: text } : [{ label: text }]));
  });
  const run = batch(pipelineHandler<unknown, string | PipelineCall>(pipeline));
  const outcomes = await run.submitSettled([
    "a",
    { input: "b", options: { top_k: 3 } },
    "c",
    { input: "d", options: { top_k: 2 } },
    { input: "e", options: { top_k: 3 } },
  ]);
  expect(outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome.reason.message))).toEqual([
    { label: "a" },
    [{ label: "b" }],
    { label: "c" },
    "no second label",
    [{ label: "e" }],
  ]);
  expect(pipeline.calls.map(([inputs]) => inputs)).toEqual([["a", "c"], ["b", "e"], ["d"]]);
  expect(run.stats().batches).toBe(1);
});

test("strings and conversations of text generation are not mixed in a call", async () => {
  const pipeline = pipelineOf("text-generation", (inputs: unknown[]) =>
    inputs.map((input) => [{ generated_text: input }]),
  );
  const chat = [{ role: "user", content: "hello" }];
  const run = batch(pipelineHandler<unknown, unknown>(pipeline), { key: pipelineKey });
  expect(await run.submitMany(["a", chat, "b"])).toEqual(["a", chat, "b"].map((input) => [{ generated_text: input }]));
  expect(pipeline.calls.map(([inputs]) => inputs)).toEqual([["a", "b"], [chat]]);
});

test("questions and contexts go as two arrays, labels as one", async () => {
  const answer = pipelineOf("question-answering", (questions: string[], contexts: string[]) =>
    questions.map((question, index) => ({ answer: question + contexts[index] })),
  );
  const ask = batch(pipelineHandler<unknown, QuestionCall>(answer));
  const questions = [
    { question: "a", context: "1" },
    { question: "b", context: "2" },
  ];
  expect(await ask.submitMany(questions)).toEqual([{ answer: "a1" }, { answer: "b2" }]);
  expect(answer.calls).toEqual([[["a", "b"], ["1", "2"], {}]]);

  const sort = pipelineOf("zero-shot-image-classification", (images: string[]) => images.map((image) => [image]));
  const run = batch(
    pipelineHandler<unknown>(sort, { labels: ["cat", "dog"], callOptions: { hypothesis_template: "{}" } }),
  );
  expect(await run.submitMany(["1.png", "2.png"])).toEqual([["1.png"], ["2.png"]]);
  expect(sort.calls).toEqual([[["1.png", "2.png"], ["cat", "dog"], { hypothesis_template: "{}" }]]);
});

test("a key depends on the values of options, not on the order of their names", () => {
  const keyOf = (options: CallOptions): string => pipelineKey({ input: "a", options });
  expect(keyOf({ top_k: 2, normalize: true })).toBe(keyOf({ normalize: true, top_k: 2 }));
  expect(keyOf({ top_k: undefined })).toBe(pipelineKey("a"));
  const keys = [
    {},
    { top_k: null },
    { top_k: Infinity },
    { top_k: "1" },
    { top_k: 1 },
    { top_k: [1] },
    { a: { b: 1 } },
  ];
  expect(new Set(keys.map(keyOf)).size).toBe(keys.length);
  expect(pipelineKey({ input: "a", labels: ["x"] })).not.toBe(pipelineKey({ input: "a", labels: ["y"] }));
  expect(pipelineKey({ question: "q", context: "c", options: { top_k: 2 } })).toBe(keyOf({ top_k: 2 }));
});

test("an option that a call gives as undefined keeps the handler's", async () => {
  const pipeline = pipelineOf("text-classification", upper);
  const run = batch(pipelineHandler<unknown, PipelineCall>(pipeline, { callOptions: { top_k: 1 } }));
  await run({ input: "a", options: { top_k: undefined } });
  expect(pipeline.calls[0]?.[1]).toEqual({ top_k: 1 });
});

test("the cost of an item is its length, in tokens where there is a tokenizer", () => {
  const characters = pipelineCost();
  expect(["", "abc", { input: "abcd" }, { question: "ab", context: "abc" }].map(characters)).toEqual([1, 3, 4, 5]);
  expect([new Float32Array(16_000), new URL("file:///a.png"), 5].map(characters)).toEqual([16_000, 1, 1]);
  expect(characters([{ role: "user", content: "abc" }])).toBe(3);
  const encode = (text: string, { text_pair: pair }: { text_pair: string | null }): number[] =>
    [...text, ...(pair ?? "")].map(() => 1);
  const tokens = pipelineCost({ tokenizer: { encode, model_max_length: 4 } });
  expect(["abc", "abcdefgh", { question: "a", context: "bc" }].map(tokens)).toEqual([3, 4, 3]);
});

test("the end of a batcher disposes of the pipeline where that is wanted", async () => {
  let disposed = 0;
  const parts = {
    async dispose() {
      disposed += 1;
    },
  };
  for (const dispose of [false, true]) {
    const run = batch(pipelineHandler<unknown>(pipelineOf("translation", upper, parts), { dispose }));
    await run("a");
    await run.close();
    expect(disposed).toBe(dispose ? 1 : 0);
  }
});

test("a function around a pipeline is a pipeline, typed by its result", async () => {
  const embed = batch(pipelineHandler(async (texts: string[]) => tensor([texts.length, 2])));
  expect((await embed.submitMany(["a", "b"]))[1]?.data).toEqual(Float32Array.of(2, 3));
});
