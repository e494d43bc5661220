// The cost of an item by its length, for batches of texts that are padded to the longest.

import { partsOf } from "./call.ts";

interface Tokenizer {
  encode(text: string, options: { text_pair: string | null }): { readonly length: number };
  readonly model_max_length?: unknown;
}

/**
 * Makes the `cost` of a batcher of pipeline calls: tokens, as the pipeline's tokenizer counts them,
 * with its marks at both ends and no more than the model takes. Of an item that is no text: the
 * samples of a sound, 1 for an image. Use it with `batchCost: "padded"`, `order: "length"` and
 * `maxBatchCost: "learn"`.
 *
 * @param source a pipeline, or anything with its `tokenizer`. Where the pipeline is in a worker
 * thread: `{ tokenizer }` with one that is loaded here too. Without a source the cost of a text is
 * its characters, which serves as well where all texts have about as many characters a token.
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
