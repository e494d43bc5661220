/**
 * Checks token ids given instead of a text.
 *
 * Guarantees: the result has ids of the served model, between the special tokens that its tokenizer
 * puts around a text. An error names the place, the expected value and the remedy. So ids of
 * OpenAI's tokenizer, which some clients send by default, do not get vectors of other words. Cannot
 * distinguish two tokenizers that use the same special tokens, or none.
 */

import type { SpecialTokens } from "batchwise/onnx";
import type { ModelDescription } from "../../models/embedder.ts";
import { invalidRequest } from "../errors.ts";

const SEND_TEXTS = "Please send texts; LangChain for Python does with check_embedding_ctx_length=False";
const OWN_IDS = "Or send ids of this model's own tokenizer, special tokens included.";

export function checkTokens(tokens: readonly unknown[], model: ModelDescription, place: string): readonly number[] {
  const { vocabularySize, tokenInput = true, specialTokens } = model;
  if (!tokenInput) {
    const message = `Expected \`${place}\` to be text: this server takes no token ids. ${SEND_TEXTS}.`;
    throw invalidRequest(message, "input", "invalid_type");
  }
  if (tokens.length === 0) {
    throw invalidRequest(
      `Expected \`${place}\` to hold at least one token, got an empty array.`,
      "input",
      "empty_array",
    );
  }
  const ids = tokens.map((token) => {
    if (typeof token !== "number") throw wrongInput(place);
    if (Number.isInteger(token) && token >= 0 && token < vocabularySize) return token;
    const expected = `Expected the tokens of \`${place}\` to be integers from 0 to ${vocabularySize - 1}, got ${token}`;
    throw invalidToken(expected);
  });
  checkSpecialTokens(ids, specialTokens, place);
  return ids;
}

export function wrongInput(place: string): Error {
  const message = `Expected \`${place}\` to be a string, an array of strings, an array of tokens, or an array of token arrays.`;
  return invalidRequest(message, "input", "invalid_type");
}

function invalidToken(expected: string): Error {
  return invalidRequest(`${expected}. ${SEND_TEXTS}. ${OWN_IDS}`, "input", "invalid_token");
}

/** The library's embedder checks this, too; this check knows the place's name in the body. */
function checkSpecialTokens(ids: readonly number[], { before, after }: SpecialTokens, place: string): void {
  const begin = ids.slice(0, before.length);
  const end = ids.slice(Math.max(0, ids.length - after.length));
  const isMarked = ids.length >= before.length + after.length && same(begin, before) && same(end, after);
  if (isMarked) return;
  const asked = [...part("begin with", before), ...part("end with", after)].join(" and ");
  const got = [...part("begins with", begin), ...part("ends with", end)].join(" and ");
  throw invalidToken(`Expected \`${place}\` to ${asked}, the special tokens of this model, but it ${got}`);
}

function same(ids: readonly number[], expected: readonly number[]): boolean {
  return ids.every((id, index) => id === expected[index]);
}

function part(words: string, ids: readonly number[]): string[] {
  return ids.length === 0 ? [] : [`${words} ${ids.join(", ")}`];
}
