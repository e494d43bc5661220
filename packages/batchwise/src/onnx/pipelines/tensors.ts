// Splits the tensor that a pipeline returns for a batch. Each caller gets a plain tensor [1, ...].
// If the pipeline returns a vector per token and pads short texts, it is cut to the caller's own
// tokens.

import { describe } from "../../core/contract/errors.ts";
import { invalidOption } from "../../core/contract/validate.ts";
import { allocate, copyElements } from "../../tensor/dtype.ts";
import { type Checked, checkTensor, isTensor, sizeOf, textOf } from "../../tensor/shape.ts";
import { countError } from "./errors.ts";
import type { CallOptions, ReadCall } from "./types.ts";

/** First token, and the token behind the last. */
type Range = readonly [start: number, end: number];

interface Tokenizer {
  (texts: readonly unknown[], options: { padding: boolean; truncation: boolean }): { attention_mask?: unknown };
  readonly padding_side?: unknown;
}

/**
 * Throws if `pooling` would read padding instead of a token. `last_token` reads the last place of
 * each row, which is padding in a short text unless padding is on the left; `cls` reads the first
 * place.
 */
export function checkPooling(task: string, { pooling }: CallOptions, tokenizer: unknown): void {
  if (task !== "feature-extraction") return;
  const side = (tokenizer as Tokenizer | null | undefined)?.padding_side;
  const isLast = pooling === "last_token" || pooling === "eos";
  const isFirst = pooling === "cls" || pooling === "first_token";
  if (!((isLast && side === "right") || (isFirst && side === "left"))) return;
  const [needed, place] = isLast ? ["left", "last"] : ["right", "first"];
  const reason = `it takes the ${place} place of each row, where short texts of a batch have padding`;
  const message = `Expected a tokenizer with \`padding_side\` "${needed}" for pooling "${pooling}", got "${side}": ${reason}`;
  throw invalidOption(TypeError, message);
}

/**
 * @throws BATCH_RESULT if the tensor does not have one row for each call.
 */
export function rowsOf(output: unknown, calls: readonly ReadCall[], task: string, tokenizer: unknown): Checked[] {
  const tensor = checkTensor("result", output);
  const { dims } = tensor;
  const count = dims[0] ?? 0;
  if (dims.length === 0 || count !== calls.length) {
    throw countError(calls.length, `a tensor with dims ${textOf(dims)}`);
  }
  // A single call has no padding and owns its memory: no copy.
  if (count === 1) return [tensor];
  if (task === "feature-extraction" && dims.length === 3) return cutRows(tensor, rangesOf(tensor, calls, tokenizer));
  const size = sizeOf(dims.slice(1));
  return calls.map((_, row) => copyOf(tensor, row * size, [1, ...dims.slice(1)]));
}

function cutRows(tensor: Checked, ranges: readonly Range[]): Checked[] {
  const [, longest, width] = tensor.dims as [number, number, number];
  return ranges.map(([start, end], row) => copyOf(tensor, (row * longest + start) * width, [1, end - start, width]));
}

/** Copies as many elements as the dimensions hold. */
function copyOf({ type, data }: Checked, from: number, dims: readonly number[]): Checked {
  const size = sizeOf(dims);
  const copy = allocate(data, size);
  copyElements(copy, 0, data, from, size);
  return { type, data: copy, dims };
}

/**
 * The range of each text's own tokens, from the attention mask that the pipeline's tokenizer
 * returns for the same texts.
 */
function rangesOf({ dims }: Checked, calls: readonly ReadCall[], tokenizer: unknown): Range[] {
  const [rows, longest] = dims as [number, number, number];
  const mask = maskOf(calls, tokenizer);
  const came = mask === undefined ? "no attention mask" : `a mask with dims ${textOf(mask.dims)}`;
  if (mask === undefined || mask.dims[0] !== rows || mask.dims[1] !== longest) {
    const way = 'Set `callOptions: { pooling: "mean" }`, or `maxBatchSize: 1`';
    const expected = `Expected a tokenizer whose attention mask has dims ${textOf([rows, longest])}, to tell tokens from padding`;
    throw invalidOption(TypeError, `${expected}, got ${came}. ${way}`);
  }
  const { data } = mask;
  return calls.map((_, row) => {
    const first = row * longest;
    let start = 0;
    let end = longest;
    while (start < end && Number(data[first + start]) === 0) start += 1;
    while (end > start && Number(data[first + end - 1]) === 0) end -= 1;
    return [start, end];
  });
}

function maskOf(calls: readonly ReadCall[], tokenizer: unknown): Checked | undefined {
  if (typeof tokenizer !== "function") return undefined;
  const texts = calls.map(({ input }) => input);
  const { attention_mask: mask } = (tokenizer as Tokenizer)(texts, { padding: true, truncation: true });
  if (mask === undefined) return undefined;
  if (!isTensor(mask))
    throw invalidOption(TypeError, `Expected \`attention_mask\` to be a tensor, got ${describe(mask)}`);
  return checkTensor("attention_mask", mask);
}
