/**
 * How many tokens a model takes, by the files that exports carry beside it.
 *
 * Guarantees: the smallest limit that any of the files names; a table of positions of which the
 * first are not for tokens counts without those.
 */

import { join } from "node:path";
import { readJsonIfPresent } from "./json-file.ts";

export interface PositionLimits {
  /** Undefined when no file names one. */
  readonly maxTokens: number | undefined;
  /** How many tokens have a position by its config.json; undefined where that does not say. */
  readonly positions: number | undefined;
  /** The position of a text's first token. */
  readonly firstPosition: number;
}

/** RoBERTa and its kin: the table's first rows, up to that of the padding, belong to no token. */
const PADDED_POSITIONS: ReadonlySet<string> = new Set([
  "camembert",
  "data2vec-text",
  "ibert",
  "longformer",
  "mpnet",
  "roberta",
  "roberta-prelayernorm",
  "xlm-roberta",
  "xlm-roberta-xl",
  "xmod",
]);
/** `<pad>` in all of them, where config.json leaves it out. */
const ROBERTA_PADDING = 1;

export async function readLimits(folders: readonly string[]): Promise<PositionLimits> {
  const limits: number[] = [];
  const tables: number[] = [];
  let firstPosition = 0;
  for (const folder of folders) {
    const config = await readJsonIfPresent(join(folder, "config.json"));
    const unused = unusedPositions(config);
    firstPosition = Math.max(firstPosition, unused);
    tables.push(...limitIn(config, "max_position_embeddings").map((positions) => positions - unused));
    limits.push(
      ...limitIn(await readJsonIfPresent(join(folder, "tokenizer_config.json")), "model_max_length"),
      ...limitIn(await readJsonIfPresent(join(folder, "sentence_bert_config.json")), "max_seq_length"),
    );
  }
  return { maxTokens: leastOf([...tables, ...limits]), positions: leastOf(tables), firstPosition };
}

/** What to say of a `maxTokens` that is more than the model takes. */
export function tooLong(asked: number, most: number): string {
  return `\`maxTokens\` asks for texts of ${asked} tokens, but the model takes at most ${most}`;
}

function unusedPositions(config: Record<string, unknown> | undefined): number {
  if (!PADDED_POSITIONS.has(String(config?.model_type))) return 0;
  const padding = config?.pad_token_id;
  return (typeof padding === "number" && padding >= 0 ? padding : ROBERTA_PADDING) + 1;
}

function leastOf(limits: readonly number[]): number | undefined {
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** Some tokenizers have 1e30 for none. */
function limitIn(config: Record<string, unknown> | undefined, name: string): number[] {
  const limit = config?.[name];
  return typeof limit === "number" && Number.isSafeInteger(limit) && limit > 0 ? [limit] : [];
}
