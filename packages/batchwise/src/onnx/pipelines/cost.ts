// The cost of an item by its length, for batches of texts that are padded to the longest text.

import { partsOf } from "./call.ts";

interface Tokenizer {
  encode(text: string, options: { text_pair: string | null }): { readonly length: number };
  readonly model_max_length?: unknown;
}

/**
 * Makes the `cost` of a batcher of pipeline calls. A text costs its tokens, as the pipeline's
 * tokenizer counts them: with the special tokens at both ends, and no more than the model takes. A
 * sound costs its samples, an image 1. Use it with `batchCost: "padded"`, `order: "length"` and
 * `maxBatchCost: "learn"`.
 *
 * @param source a pipeline, or an object with its `tokenizer`. If the pipeline is in a worker
 * thread, pass `{ tokenizer }` with a tokenizer loaded in this thread. Without a source a text
 * costs its characters, which serves as well if all texts have about as many characters per token.
 *
 * @example
 * ```ts
 * import { batch } from "batchwise";
 * import { pipelineCost, pipelineHandler } from "batchwise/onnx";
 * import { pipeline } from "@huggingface/transformers";
 *
 * const extract = await pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2");
 * const embed = batch(pipelineHandler(extract, { callOptions: { pooling: "mean", normalize: true } }), {
 *   cost: pipelineCost(extract),
 *   batchCost: "padded",
 *   order: "length",
 *   maxBatchCost: "learn",
 * });
 * ```
 */
export function pipelineCost(source?: { readonly tokenizer?: unknown }): (item: unknown) => number {
  const tokenizer = source?.tokenizer as Tokenizer | null | undefined;
  if (typeof tokenizer?.encode !== "function")
    return (item) => lengthOf(item, (text, pair) => text.length + (pair?.length ?? 0));
  const { model_max_length: most } = tokenizer;
  const longest = typeof most === "number" && most > 0 ? most : Infinity;
  return (item) =>
    lengthOf(item, (text, pair) => Math.min(longest, tokenizer.encode(text, { text_pair: pair ?? null }).length));
}

function lengthOf(item: unknown, textLength: (text: string, pair: string | undefined) => number): number {
  const { input, context } = partsOf(item);
  if (typeof input === "string") {
    return Math.max(1, textLength(input, typeof context === "string" ? context : undefined));
  }
  if (Array.isArray(input)) return Math.max(1, textLength(input.map(contentOf).join("\n"), undefined));
  if (ArrayBuffer.isView(input)) return Math.max(1, (input as unknown as { readonly length: number }).length);
  return 1;
}

/** The text of a message. */
function contentOf(message: unknown): string {
  const content = (message as { readonly content?: unknown } | null)?.content;
  return typeof content === "string" ? content : "";
}
