/**
 * Finds the special tokens that a tokenizer puts around every text, such as [CLS] and [SEP], and
 * checks a list of ids for them.
 *
 * Guarantees: works with any tokenizer, because it compares the ids of a few short texts. Cannot
 * distinguish two tokenizers that use the same special tokens, or none.
 */

import { modelInputError } from "../errors.ts";

/** The ids that the tokenizer adds before and after every text; empty if it adds none there. */
export interface SpecialTokens {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

interface Encoder {
  encode(text: string): readonly number[];
}

/** They begin and end differently, so ids that all have in common come from none of the texts. */
const SAMPLES = ["", "a", "the", "1", ","] as const;

const known = new WeakMap<Encoder, SpecialTokens>();

/**
 * Undefined if it cannot be known: the tokenizer gives all samples the same ids, or throws on all
 * of them.
 */
export function specialTokensOf(tokenizer: Encoder): SpecialTokens | undefined {
  const found = known.get(tokenizer) ?? find(tokenizer);
  if (found !== undefined) known.set(tokenizer, found);
  return found;
}

function find(tokenizer: Encoder): SpecialTokens | undefined {
  const lists = SAMPLES.flatMap((text) => encoded(tokenizer, text));
  const before = sharedStart(lists);
  const rests = lists.map((list) => list.slice(before.length).reverse());
  if (before.length > 0 && rests.every((rest) => rest.length === 0)) return undefined;
  return lists.length === 0 ? undefined : { before, after: sharedStart(rests).reverse() };
}

/** A list with the ids, or an empty list if the tokenizer has no ids for the text. */
function encoded(tokenizer: Encoder, text: string): (readonly number[])[] {
  try {
    return [tokenizer.encode(text)];
  } catch {
    return [];
  }
}

function sharedStart([first = [], ...others]: readonly (readonly number[])[]): number[] {
  let length = 0;
  while (length < first.length && others.every((list) => list.length > length && list[length] === first[length])) {
    length += 1;
  }
  return first.slice(0, length);
}

/** Throws MODEL_INPUT if the ids are not between these special tokens. */
export function checkSpecialTokens(name: string, ids: ArrayLike<number>, { before, after }: SpecialTokens): void {
  const end = ids.length - after.length;
  const isMarked =
    end >= before.length &&
    before.every((id, place) => ids[place] === id) &&
    after.every((id, place) => ids[end + place] === id);
  if (isMarked) return;
  const asked = [...part("begin with", before), ...part("end with", after)].join(" and ");
  const all = Array.from(ids);
  const got = [
    ...part("begins with", all.slice(0, before.length)),
    ...part("ends with", all.slice(Math.max(0, end))),
  ].join(" and ");
  throw modelInputError(
    `Expected \`${name}\` to ${asked}, the special tokens that the model's tokenizer puts around a text, but it ${got}. Ids of another tokenizer mean other words here: give texts to \`embed\`, or ids as \`tokenize\` gives them`,
  );
}

function part(words: string, ids: readonly number[]): string[] {
  return ids.length === 0 ? [] : [`${words} ${ids.join(", ")}`];
}
