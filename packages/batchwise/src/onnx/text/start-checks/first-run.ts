/**
 * What is tried on a model before it serves: whether its output is a vector of a text, and whether
 * it knows the tokenizer's ids.
 *
 * Guarantees: a refusal names what was expected, what came, and the way out.
 */

import { describe } from "../../../core/contract/errors.ts";
import { messageOf } from "../../errors.ts";
import type { ModelSource } from "../model-files.ts";
import { ANOTHER_EXPORT } from "../pooling.ts";
import type { VectorBlock } from "../token-batch.ts";
import type { Tokenizer } from "../tokenizer.ts";
import type { VectorThreads } from "../vector-threads.ts";
import { isThreadEnded, trialRun } from "./trial-run.ts";

/** Runs a text and refuses a model that cannot give vectors for this tokenizer. */
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
 * The ids of a text. Throws where there is no list of numbers; words that the tokenizer does not
 * know may have no id.
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
 * A graph with one number a token, or with a score for each pair of tokens, gives wider vectors to
 * longer texts.
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
 * A graph fails on an id past its table of words; better now than at the first text that has it.
 */
async function tryLargestId({ tokenizer }: ModelSource, pool: VectorThreads): Promise<VectorBlock> {
  const largest = tokenizer.vocabularySize - 1;
  try {
    return await trialRun(pool, [[largest]], tokenizer.paddingId);
  } catch (error) {
    if (isThreadEnded(error)) throw error;
    // Fails too where the model fails on everything, for which this is not the reason.
    await trialRun(pool, [[0]], tokenizer.paddingId);
    throw new Error(
      `The tokenizer has ids up to ${largest}, but the model does not take that id (${messageOf(error)}). They belong to different models: name the model's own with \`tokenizer\``,
      { cause: error },
    );
  }
}

/**
 * A table of words is often somewhat larger than the tokenizer, rounded up; this much larger it is
 * another's.
 */
const LEAST_SHARE = 0.9;

function vocabularyWarning({ tokenizer, vocabulary }: ModelSource): string[] {
  if (vocabulary === undefined || tokenizer.vocabularySize >= vocabulary * LEAST_SHARE) return [];
  return [
    `The tokenizer has ${tokenizer.vocabularySize} ids, but the model's config.json says ${vocabulary}: it may be another model's. \`tokenizer\` names one.`,
  ];
}

/**
 * A text without the prompt that the model was trained with has another vector than its authors
 * mean.
 */
function promptWarning({ defaultPrompt }: ModelSource): string[] {
  if (defaultPrompt === undefined || defaultPrompt === "") return [];
  return [
    `The model's files put ${JSON.stringify(defaultPrompt)} before every text; nothing does here: callers put it there themselves.`,
  ];
}

/**
 * A model made for the dot product says something by the length of a vector, which is lost here.
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
