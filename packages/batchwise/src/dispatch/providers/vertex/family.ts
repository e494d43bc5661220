// Finds a model's line format and its name in a job. Vertex AI names models by publisher, such as
// `publishers/meta/models/llama-3.3-70b-instruct-maas`; its SDKs also take
// `meta/llama-3.3-70b-instruct-maas`. Pure.

import { DispatchError } from "../../contract/errors.ts";

/**
 * The format of a model's lines. `gemini`: Gemini's own. `claude`: Anthropic's. `openai`: OpenAI's,
 * for Llama, Qwen, DeepSeek, gpt-oss and other open models. `embedding`: only a text, for Google's
 * text embeddings.
 */
export type VertexFamily = "gemini" | "claude" | "openai" | "embedding";

/**
 * Publishers by the beginning of a model's name (cloud.google.com/vertex-ai, batch inference
 * pages).
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
/** The user's tuned models and endpoints. */
const OWN = /^projects\/[^/]+\/locations\/[^/]+\/(?:models|endpoints)\/[\w.@-]+$/;
const BARE = /^[\w.@-]+$/;

const FAMILIES: ReadonlyMap<string, VertexFamily> = new Map([
  ["google", "gemini"],
  ["anthropic", "claude"],
]);

/** A model's name in a job. Throws INVALID_REQUEST if its publisher is unknown. */
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
 * Google's text embeddings with batches, and those without (docs:
 * batch-prediction-genai-embeddings).
 */
const EMBEDDING = /^publishers\/google\/models\/text-(multilingual-)?embedding-/;
const NO_BATCHES = /^publishers\/google\/models\/(gemini-embedding-|multimodalembedding)/;

/** Throws INVALID_REQUEST for a model without batches at Vertex AI. */
export function checkHasBatches(path: string): void {
  if (!NO_BATCHES.test(path)) return;
  const words = `Vertex AI has no batches of "${path.split("/").at(-1)}", but of "text-embedding-005"`;
  throw new DispatchError("INVALID_REQUEST", `The request cannot be sent: ${words}; the Gemini API has them.`);
}

/**
 * The family by publisher; Google's embeddings by name. A tuned model or the user's endpoint counts
 * as Gemini.
 */
export function familyOf(path: string): VertexFamily {
  if (EMBEDDING.test(path)) return "embedding";
  const publisher = /^publishers\/([^/]+)\//.exec(path)?.[1] ?? "google";
  return FAMILIES.get(publisher) ?? "openai";
}

function publisherOf(model: string): string | null {
  return PUBLISHERS.find(([words]) => words.test(model))?.[1] ?? null;
}
