// Which kind of lines a model takes, and what it is called in a job. Pure. Vertex names models by
// their publisher: `publishers/meta/models/llama-3.3-70b-instruct-maas`, for which its SDKs also
// take `meta/llama-3.3-70b-instruct-maas`.

import { DispatchError } from "../../contract/errors.ts";

/**
 * How a model is asked: `gemini` in Gemini's own shape, `claude` in Anthropic's, `openai` in
 * OpenAI's, as Llama, Qwen, DeepSeek, gpt-oss and other open models are, `embedding` by a text
 * alone, as Google's text embeddings are.
 */
export type VertexFamily = "gemini" | "claude" | "openai" | "embedding";

/**
 * Publishers of models that are known by how their names begin (cloud.google.com/vertex-ai, batch
 * inference pages).
 */
const PUBLISHERS: readonly (readonly [RegExp, string])[] = [
  [/^gemini-/, "google"],
  [/^text-(multilingual-)?embedding-/, "google"],
  [/^claude-/, "anthropic"],
  [/^llama-/, "meta"],
  [/^qwen/, "qwen"],
  [/^gpt-oss-/, "openai"],
  [/^deepseek-/, "deepseek-ai"],
  [/^multilingual-e5-/, "intfloat"],
];
const PUBLISHED = /^(?:publishers\/)?([a-z][\w-]*)\/(?:models\/)?([\w.@-]+)$/;
/** Tuned models and endpoints of the user's own. */
const OWN = /^projects\/[^/]+\/locations\/[^/]+\/(?:models|endpoints)\/[\w.@-]+$/;
const BARE = /^[\w.@-]+$/;

const FAMILIES: ReadonlyMap<string, VertexFamily> = new Map([
  ["google", "gemini"],
  ["anthropic", "claude"],
]);

/** A model's name in a job. Throws INVALID_REQUEST for one that says nothing of its publisher. */
export function publishedPath(model: string): string {
  if (OWN.test(model)) return model;
  const [, publisher, name] = PUBLISHED.exec(model) ?? [];
  if (publisher !== undefined && publisher !== "models") return `publishers/${publisher}/models/${name}`;
  const known = BARE.test(model) ? publisherOf(model) : null;
  if (known !== null) return `publishers/${known}/models/${model}`;
  const wanted = '`model` must begin with its publisher, as in "meta/llama-3.3-70b-instruct-maas"';
  throw new DispatchError("INVALID_REQUEST", `The request cannot be sent to Vertex AI: ${wanted}, not "${model}".`);
}

/**
 * Google's text embeddings that have batches, and those that have none (docs:
 * batch-prediction-genai-embeddings).
 */
const EMBEDDING = /^publishers\/google\/models\/text-(multilingual-)?embedding-/;
const NO_BATCHES = /^publishers\/google\/models\/(gemini-embedding-|multimodalembedding)/;

/** Throws INVALID_REQUEST for a model that Vertex AI has no batches of. */
export function checkHasBatches(path: string): void {
  if (!NO_BATCHES.test(path)) return;
  const words = `Vertex AI has no batches of "${path.split("/").at(-1)}", but of "text-embedding-005"`;
  throw new DispatchError("INVALID_REQUEST", `The request cannot be sent: ${words}; the Gemini API has them.`);
}

/**
 * By the publisher, and Google's embeddings by name; a tuned model or an endpoint of the user's own
 * is a Gemini.
 */
export function familyOf(path: string): VertexFamily {
  if (EMBEDDING.test(path)) return "embedding";
  const publisher = /^publishers\/([^/]+)\//.exec(path)?.[1] ?? "google";
  return FAMILIES.get(publisher) ?? "openai";
}

function publisherOf(model: string): string | null {
  return PUBLISHERS.find(([words]) => words.test(model))?.[1] ?? null;
}
