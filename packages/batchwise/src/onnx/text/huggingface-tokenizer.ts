/**
 * Reads the `tokenizer.json` of a trained model.
 *
 * Guarantees: the special tokens around a text ([CLS], <s>, ...) are the ones in the file. A file
 * that cannot be read is refused, and the error names its path. Does not truncate.
 */

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tokenizersLoadError } from "../errors.ts";
import { isRecord, readJsonIfPresent } from "./model-folder/json-file.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A tokenizer's file, and the preparation of its texts. Can be sent to threads. */
export interface TokenizerFile {
  /** The path of a `tokenizer.json`. */
  readonly path: string;
  /**
   * True: lower-case texts first, as sentence-transformers does if the tokenizer does not change
   * case.
   */
  readonly lowers: boolean;
}

export async function loadHuggingFaceTokenizer({ path, lowers }: TokenizerFile): Promise<Tokenizer> {
  const definition = await readDefinition(path);
  // The package needs the sibling file as an argument, but encoding uses only tokenizer.json.
  const config = (await readJsonIfPresent(join(dirname(path), "tokenizer_config.json"))) ?? {};
  const tokenizer = construct(await loadPackage(), path, definition, config);
  let vocabularySize = 0;
  let splitsAtSpaces = true;
  const spaceWithin = isRecord(definition.model) && definition.model.type === "BPE" ? SPACE_WITHIN_BPE : SPACE_WITHIN;
  for (const [token, id] of tokenizer.get_vocab(true)) {
    vocabularySize = Math.max(vocabularySize, id + 1);
    if (spaceWithin.test(token)) splitsAtSpaces = false;
  }
  if (vocabularySize === 0) throw unreadable(path, "it has no tokens");
  return {
    vocabularySize,
    paddingId: paddingId(definition),
    truncationSide: truncationSide(definition, config),
    splitsAtSpaces,
    encode: (text) => tokenizer.encode(lowers ? text.toLowerCase() : text).ids,
  };
}

/**
 * A space, or SentencePiece's sign for it, that follows a character other than white space: such a
 * token spans two words.
 */
const SPACE_WITHIN = /[^\s\u2581][ \u2581]/;
/** The same, with byte-level BPE's signs for a space, a tab and line breaks. */
const SPACE_WITHIN_BPE = /[^\s\u2581\u0120\u0109\u010a\u010d][ \u2581\u0120]/;

type Json = Record<string, unknown>;

/** The used members of the package's class. */
type TokenizerClass = new (
  definition: Json,
  config: Json,
) => {
  encode(text: string): { readonly ids: readonly number[] };
  get_vocab(withAdded: boolean): ReadonlyMap<string, number>;
};

async function loadPackage(): Promise<TokenizerClass> {
  try {
    return (await import("@huggingface/tokenizers")).Tokenizer as never;
  } catch (error) {
    throw tokenizersLoadError(error);
  }
}

function construct(
  HuggingFaceTokenizer: TokenizerClass,
  path: string,
  definition: Json,
  config: Json,
): InstanceType<TokenizerClass> {
  try {
    return new HuggingFaceTokenizer(definition, config);
  } catch (error) {
    throw unreadable(path, error instanceof Error ? error.message : String(error), error);
  }
}

function unreadable(path: string, reason: string, cause?: unknown): Error {
  return new Error(`Cannot read the tokenizer ${path}: ${reason}`, { cause });
}

async function readDefinition(path: string): Promise<Record<string, unknown>> {
  let definition: unknown;
  try {
    definition = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw unreadable(path, error instanceof Error ? error.message : String(error), error);
  }
  if (!isRecord(definition) || !isRecord(definition.model)) {
    throw unreadable(path, "it has no `model`; expected a Hugging Face tokenizer.json");
  }
  return definition;
}

function truncationSide(definition: Record<string, unknown>, config: Record<string, unknown>): "left" | "right" {
  const { direction } = isRecord(definition.truncation) ? definition.truncation : {};
  const side = config.truncation_side ?? direction;
  return String(side).toLowerCase() === "left" ? "left" : "right";
}

/** Padding is masked out, so any id works; uses the file's own if it names one. */
function paddingId(definition: Record<string, unknown>): number {
  const padding = definition.padding;
  if (!isRecord(padding)) return 0;
  const id = padding.pad_id;
  return typeof id === "number" && Number.isInteger(id) && id >= 0 ? id : 0;
}
