// Google's text embeddings: a line is a text alone, and its result comes back with that text.
// Neither has a place for an id, so results are named by the line of the input that has the same
// text: what has the same text has the same vector. The dispatcher sends such batches whole
// (`isNamedByPlace`), so the number of a line is the place of its request.

import { hash } from "node:crypto";
import type { JsonObject } from "../../contract/types.ts";
import { customId } from "../../format/encode.ts";
import { toEmbedContentRequest } from "../shapes/gemini/embedding.ts";
import { refusalsOf } from "../shapes/refusals.ts";
import { objectOf, text } from "../shapes/sdk-error.ts";

const { invalid } = refusalsOf("Vertex AI");

/** Google's own of a single call, for which the page on batches has no place. */
const UNDOCUMENTED = ["dimensions", "taskType", "title"] as const;

/**
 * The text of a request. Throws INVALID_REQUEST, naming the field, for what a batch cannot be
 * asked.
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

/** Gives each result the id of a request with its text, in the order of the input. */
export class TextNames {
  /** Ids by the digest of their text: a batch may hold a gigabyte of texts. */
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
   * A result that comes again has the id of the last with its text; null for a text that nobody
   * asked for.
   */
  take(instance: unknown): string | null {
    const ids = this.#ids.get(digestOf(objectOf(instance))) ?? [];
    return (ids.length > 1 ? ids.shift() : ids[0]) ?? null;
  }
}

function digestOf(line: { readonly [name: string]: unknown }): string {
  return hash("sha1", text(line.content) ?? "", "base64url");
}

/** The vector of a result as Gemini's API would answer with it. */
export function toEmbedding(line: JsonObject): JsonObject {
  const [prediction] = Array.isArray(line.predictions) ? line.predictions : [];
  const { values, statistics } = objectOf(objectOf(prediction).embeddings);
  const { token_count: tokens } = objectOf(statistics);
  return {
    ...(Array.isArray(values) ? { embedding: { values } } : {}),
    ...(typeof tokens === "number" ? { tokenCount: tokens } : {}),
  };
}
