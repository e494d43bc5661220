// Images and generated text through the real package.

import { pipeline, RawImage } from "@huggingface/transformers";
import { expect, test } from "vitest";
import { batch } from "../../../../packages/batchwise/src/index.ts";
import { pipelineKey } from "../../../../packages/batchwise/src/onnx/pipelines/call.ts";
import { pipelineHandler } from "../../../../packages/batchwise/src/onnx/pipelines/handler.ts";
import { localModel } from "./models.ts";
import { colourGraph, nextWordGraph } from "./other-models.ts";

interface Label {
  readonly label: string;
  readonly score: number;
}

test("images of different sizes are classified in one call, each for its own caller", async () => {
  const name = await localModel("text-logits", {
    graph: colourGraph(),
    files: {
      "config.json": { model_type: "vit", id2label: { 0: "red", 1: "green", 2: "blue" } },
      "preprocessor_config.json": {
        ...{ image_processor_type: "ViTImageProcessor", do_resize: true, size: { width: 4, height: 4 } },
        ...{ do_normalize: false, do_rescale: true, rescale_factor: 1 / 255, resample: 2 },
      },
    },
  });
  const look = await pipeline("image-classification", name, { dtype: "fp32" });
  const classify = batch(pipelineHandler<Label[], RawImage>(look, { callOptions: { top_k: 1 } }));
  const imageOf = (colour: number, width: number): RawImage => {
    const data = Uint8Array.from({ length: width * 6 * 3 }, (_, index) => (index % 3 === colour ? 255 : 0));
    return new RawImage(data, width, 6, 3);
  };
  const labels = await classify.submitMany([imageOf(2, 5), imageOf(0, 9), imageOf(1, 6)]);
  expect(labels.map((found) => found.map(({ label }) => label))).toEqual([["blue"], ["red"], ["green"]]);
  expect(await classify(imageOf(1, 4))).toMatchObject([{ label: "green" }]);
  expect(classify.stats().batches).toBe(2);
});

test("texts are continued in one call, each for its own caller", async () => {
  const name = await localModel("text-logits", {
    graph: nextWordGraph(),
    files: {
      "config.json": { model_type: "gpt2", n_layer: 0, n_head: 1, n_embd: 8, pad_token_id: 0, eos_token_id: 3 },
    },
  });
  const write = await pipeline("text-generation", name, { dtype: "fp32" });
  const continued = batch(
    pipelineHandler<{ generated_text: string }[]>(write, { callOptions: { max_new_tokens: 2 } }),
    { key: pipelineKey },
  );
  const texts = ["the", "play the piano the", "grey"];
  const answers = await continued.submitMany(texts);
  for (const [index, text] of texts.entries()) {
    expect(answers[index]).toEqual(await write(text, { max_new_tokens: 2 }));
  }
  expect(answers[0]).toEqual([{ generated_text: "the piano rain" }]);
  expect(continued.stats().batches).toBe(1);
});
