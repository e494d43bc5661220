/**
 * What is tried on a model before it serves: whether its output is a vector of a text, and whether it knows the
 * tokenizer's ids.
 *
 * Guarantees: a refusal names what was expected, what came, and the way out.
 */

import type { ModelSource } from "./model-source.ts";
import { ANOTHER_EXPORT } from "./pooling.ts";
import type { SessionPool } from "./session-pool.ts";
import { padTokens, type VectorBlock } from "./token-batch.ts";

/** Runs a text and refuses a model that cannot give vectors for this tokenizer. */
export async function firstRun(source: ModelSource, pool: SessionPool): Promise<VectorBlock> {
  const { tokenizer, labels } = source;
  const first = await pool.run(padTokens([tokenizer.encode("warm up")], tokenizer.paddingId));
  const { width } = first;
  if (width === 1 || width === labels) {
    const what = width === 1 ? "one number" : `${width} numbers, as many as its config.json has labels`;
    throw new Error(`The model gives ${what} a text: the scores of a classifier and no embedding. ${ANOTHER_EXPORT}`);
  }
  return first;
}
