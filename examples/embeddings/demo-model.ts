// A model for machines without a downloaded one: the small encoder that `npm start` writes, with
// random weights. Its vectors show which words two texts share, but not their meaning.

import type { TextModel } from "batchwise/onnx";
import { DEFAULT_ENCODER } from "../../packages/server/src/models/encoder-model.ts";
import { hashingTokenizer } from "../../packages/server/src/models/hashing-tokenizer.ts";
import { cachedEncoder, defaultModelDirectory } from "../../packages/server/src/models/model-cache.ts";

export async function demoModel(): Promise<TextModel> {
  const { path } = await cachedEncoder(defaultModelDirectory(), DEFAULT_ENCODER);
  const { vocabulary, maxTokens } = DEFAULT_ENCODER;
  return { path, tokenizer: hashingTokenizer(vocabulary), maxTokens };
}
