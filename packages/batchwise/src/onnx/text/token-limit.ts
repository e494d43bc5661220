/**
 * Reads how many tokens a model takes from the files of its export.
 *
 * Guarantees: the smallest limit that any of the files names. Positions that are reserved and
 * belong to no token are not counted.
 */

import { join } from "node:path";
import { readJsonIfPresent } from "./model-folder/json-file.ts";

export interface PositionLimits {
  /** Undefined if no file names a limit. */
  readonly maxTokens: number | undefined;
  /** Number of positions by its config.json; undefined if it does not say. */
  readonly positions: number | undefined;
  /** The position of a text's first token. */
  readonly firstPosition: number;
}

/**
 * RoBERTa and related models: the table's first rows, up to the row of the padding, belong to no
 * token.
 */
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
/** The id of `<pad>` in all of them, if config.json does not name it. */
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

/** The message for a `maxTokens` above the model's limit. */
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

/** Some tokenizers use 1e30 for "no limit". */
function limitIn(config: Record<string, unknown> | undefined, name: string): number[] {
  const limit = config?.[name];
  return typeof limit === "number" && Number.isSafeInteger(limit) && limit > 0 ? [limit] : [];
}
