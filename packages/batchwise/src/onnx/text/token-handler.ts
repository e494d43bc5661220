// The handler of the thread for long texts: a copy of the tokenizer, at the priority of the model's
// threads.

import { workerData } from "node:worker_threads";
import { letOthersGoFirst } from "../low-priority.ts";
import { loadHuggingFaceTokenizer, type TokenizerFile } from "./huggingface-tokenizer.ts";
import { type NamedText, type TokenCount, type Tokenizer, type TokenLimit, tokensOf } from "./tokenizer.ts";

/** The `workerData`. */
export interface TokenThreadData {
  readonly file: TokenizerFile;
  readonly limit: TokenLimit;
}

const { file, limit } = workerData as TokenThreadData;
let tokenizer: Tokenizer | undefined;

export default {
  async open(): Promise<void> {
    letOthersGoFirst();
    tokenizer = await loadHuggingFaceTokenizer(file);
  },
  run: (texts: readonly NamedText[]): TokenCount[] =>
    texts.map((text) => tokensOf(tokenizer as Tokenizer, text, limit)),
};
