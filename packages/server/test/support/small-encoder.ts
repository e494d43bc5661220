/** Options for a service with a small, fast model in a folder that is removed after the test. */

import type { EmbedderOptions } from "../../src/models/embedder.ts";
import { SPECIAL_TOKENS } from "../../src/models/encoder-model.ts";
import { temporaryFolder } from "./folders.ts";

export async function smallEncoder(): Promise<EmbedderOptions> {
  return {
    modelDirectory: await temporaryFolder(),
    workers: 1,
    encoder: { layers: 1, hidden: 32, feedForward: 64, vocabulary: 1024, maxTokens: 64 },
  };
}

/** A model with which a batch of 512 padded tokens takes some tens of milliseconds. */
export async function slowEncoder(): Promise<EmbedderOptions> {
  return {
    modelDirectory: await temporaryFolder(),
    workers: 1,
    encoder: { layers: 6, hidden: 384, heads: 12, feedForward: 1536, vocabulary: 1024 },
  };
}

/** Token ids between the special tokens of the built-in model. */
export function marked(ids: readonly number[]): number[] {
  return [SPECIAL_TOKENS.classify, ...ids, SPECIAL_TOKENS.separate];
}
