/**
 * Tries a model before it serves: whether its output is one vector per text, and whether it has a
 * row for each id of the tokenizer.
 *
 * Guarantees: an error names the expected and the actual value, and the remedy.
 */

import { describe } from "../../../core/contract/errors.ts";
import { messageOf } from "../../errors.ts";
import type { ModelSource } from "../model-folder/model-files.ts";
import { ANOTHER_EXPORT } from "../pooling.ts";
import type { VectorBlock } from "../token-batch.ts";
import type { Tokenizer } from "../tokenizer.ts";
import type { VectorThreads } from "../vector-threads.ts";
import { isThreadEnded, trialRun } from "./trial-run.ts";

/** Runs a text; throws for a model that cannot give vectors for this tokenizer. */
export async function firstRun(source: ModelSource, pool: VectorThreads): Promise<VectorBlock> {
  const { tokenizer, labels } = source;
  const ids = encoded(tokenizer, "warm up");
  const one = await tryLargestId(source, pool);
  const first = await trialRun(pool, [ids], tokenizer.paddingId);
  const { width } = first;
  await checkWidth([1, one], [ids.length, first], source, pool);
  if (width === 1 || width === labels) {
    const what = width === 1 ? "one number" : `${width} numbers, as many as its config.json has labels`;
    throw new Error(`The model gives ${what} a text: the scores of a classifier and no embedding. ${ANOTHER_EXPORT}`);
  }
  return first;
}

/**
 * The ids of a text. Throws if the tokenizer does not return a list of numbers. Words that it does
 * not know may have no id.
 */
function encoded(tokenizer: Tokenizer, text: string): readonly number[] {
  let ids: unknown;
  try {
    ids = tokenizer.encode(text);
  } catch (error) {
    throw new Error(`The tokenizer failed on ${JSON.stringify(text)}: ${messageOf(error)}`, { cause: error });
  }
  const wanted = "Expected `tokenizer.encode(text)` to give a list of token ids";
  if (!Array.isArray(ids)) throw new Error(`${wanted}, got ${describe(ids)}`);
  const other = ids.findIndex((id) => id !== undefined && !Number.isInteger(id));
  if (other !== -1) throw new Error(`${wanted}, got ${describe(ids[other])} at place ${other}`);
  return ids as readonly number[];
}

/** The number of tokens of a text, and its vector. */
type Trial = readonly [tokens: number, block: VectorBlock];

/**
 * Throws if the width depends on the text's length: a graph with one number per token, or a score
 * per pair of tokens, gives longer texts wider vectors.
 */
async function checkWidth(
  shorter: Trial,
  text: Trial,
  { tokenizer, maxTokens }: ModelSource,
  pool: VectorThreads,
): Promise<void> {
  let longer = text;
  if (text[0] === 1 && maxTokens > 1) {
    const largest = tokenizer.vocabularySize - 1;
    longer = [2, await trialRun(pool, [[largest, largest]], tokenizer.paddingId)];
  }
  const [widths, lengths] = [
    [shorter[1].width, longer[1].width],
    [shorter[0], longer[0]],
  ];
  if (widths[0] === widths[1]) return;
  throw new Error(
    `Expected vectors of one width, but the model gives ${widths.join(" and ")} numbers for texts of ${lengths.join(" and ")} tokens: numbers of its tokens and no embedding. ${ANOTHER_EXPORT}`,
  );
}

/**
 * A graph fails on an id beyond its table of words; this finds it before the first text with such
 * an id.
 */
async function tryLargestId({ tokenizer }: ModelSource, pool: VectorThreads): Promise<VectorBlock> {
  const largest = tokenizer.vocabularySize - 1;
  try {
    return await trialRun(pool, [[largest]], tokenizer.paddingId);
  } catch (error) {
    if (isThreadEnded(error)) throw error;
    // If this fails, too, the model fails on everything, and the large id is not the reason.
    await trialRun(pool, [[0]], tokenizer.paddingId);
    throw new Error(
      `The tokenizer has ids up to ${largest}, but the model does not take that id (${messageOf(error)}). They belong to different models: name the model's own with \`tokenizer\``,
      { cause: error },
    );
  }
}

/**
 * A table of words is often a little larger than the tokenizer, because it is rounded up. Below
 * this share it belongs to another tokenizer.
 */
const LEAST_SHARE = 0.9;

function vocabularyWarning({ tokenizer, vocabulary }: ModelSource): string[] {
  if (vocabulary === undefined || tokenizer.vocabularySize >= vocabulary * LEAST_SHARE) return [];
  return [
    `The tokenizer has ${tokenizer.vocabularySize} ids, but the model's config.json says ${vocabulary}: it may be another model's. \`tokenizer\` names one.`,
  ];
}

/**
 * Without the prompt that the model was trained with, a text's vector differs from the one that the
 * authors intend.
 */
function promptWarning({ defaultPrompt }: ModelSource): string[] {
  if (defaultPrompt === undefined || defaultPrompt === "") return [];
  return [
    `The model's files put ${JSON.stringify(defaultPrompt)} before every text; nothing does here: callers put it there themselves.`,
  ];
}

/**
 * In a model made for the dot product, the length of a vector has a meaning, which scaling removes.
 */
function scaleWarning({ readout }: ModelSource): string[] {
  if (readout.isUnscaled !== true) return [];
  return [
    "The model's `modules.json` has no Normalize, but vectors are scaled to length 1 here: their dot product is their cosine.",
  ];
}

/** Warnings for the operator about a model that passed the checks; a sentence each. */
export function warningsOf(source: ModelSource, { pooledBy }: VectorBlock): string[] {
  const { readout } = source;
  const warnings = [...vocabularyWarning(source), ...promptWarning(source), ...scaleWarning(source)];
  if (pooledBy === "graph" || readout.source !== "none") return warnings;
  return [
    ...warnings,
    "Nothing beside the model says how the vectors of a text's tokens become one; taking their mean. `pooling` says it.",
  ];
}
