// Google's text embeddings: a line is only a text, and its result repeats the text. Neither has an
// id, so a result gets the id of the input line with the same text; equal texts have equal vectors.
// The dispatcher sends such batches whole (`isNamedByPlace`), so a line's number is its request's
// place.

import { hash } from "node:crypto";
import type { JsonObject } from "../../contract/types.ts";
import { customId } from "../../format/encode.ts";
import { toEmbedContentRequest } from "../shapes/gemini/embedding.ts";
import { refusalsOf } from "../shapes/refusals.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";

const { invalid } = refusalsOf("Vertex AI");

/** Google's fields for a single call, which the page on batches does not have. */
const UNDOCUMENTED = ["dimensions", "taskType", "title"] as const;

/**
 * The text of a request. Throws INVALID_REQUEST, naming the field, for a field that a batch does
 * not support.
 */
export function toText(body: JsonObject): string {
  for (const name of UNDOCUMENTED) {
    if (body[name] != null) throw invalid(`\`${name}\` has no place in a batch of text embeddings`);
  }
  const { content } = toEmbedContentRequest(body);
  const { parts } = objectOf(content);
  const [part] = Array.isArray(parts) ? parts : [];
  return text(objectOf(part).text) ?? "";
}

/** Gives each result the id of a request with its text, in input order. */
export class TextNames {
  /** Ids by the text's digest: a batch may hold a gigabyte of texts. */
  readonly #ids: Map<string, string[]> = new Map();

  /** Reads the lines of the batch with this key. */
  static async read(lines: AsyncIterable<JsonObject>, key: string): Promise<TextNames> {
    const names = new TextNames();
    let ord = 0;
    for await (const line of lines) {
      const digest = digestOf(line);
      const ids = names.#ids.get(digest) ?? [];
      ids.push(customId(key, ord));
      names.#ids.set(digest, ids);
      ord += 1;
    }
    return names;
  }

  /**
   * The id for a result. A repeated result gets the last id with its text; null for an unknown
   * text.
   */
  take(instance: unknown): string | null {
    const ids = this.#ids.get(digestOf(objectOf(instance))) ?? [];
    return (ids.length > 1 ? ids.shift() : ids[0]) ?? null;
  }
}

function digestOf(line: { readonly [name: string]: unknown }): string {
  return hash("sha1", text(line.content) ?? "", "base64url");
}

/** The vector of a result in the Gemini API's format. */
export function toEmbedding(line: JsonObject): JsonObject {
  const [prediction] = Array.isArray(line.predictions) ? line.predictions : [];
  const { values, statistics } = objectOf(objectOf(prediction).embeddings);
  const { token_count: tokens } = objectOf(statistics);
  return {
    ...(Array.isArray(values) ? { embedding: { values } } : {}),
    ...(typeof tokens === "number" ? { tokenCount: tokens } : {}),
  };
}
