// Reads the maximum output that a request's body allows. Pure.

import type { Endpoint, Json, JsonObject } from "../../contract/types.ts";
import { inputsOf } from "../../format/inputs.ts";
import { isJsonObject } from "../../format/json-object.ts";

/** Endpoints without output tokens. */
const SILENT: readonly Endpoint[] = ["/v1/embeddings", "/v1/moderations"];

/** Names of the limit at OpenAI, Anthropic and Google, and of models at Bedrock. */
const LIMITS: readonly string[] = [
  ...["max_completion_tokens", "max_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "maxTokenCount"],
  ...["max_tokens_to_sample", "max_gen_len", "max_new_tokens"],
];
const ANSWERS: readonly string[] = ["n", "candidateCount", "candidate_count"];
/** Objects of a body that have such fields: of Gemini, Bedrock's Converse, Nova and Titan. */
const INNER: readonly string[] = ["generationConfig", "generation_config", "inferenceConfig", "textGenerationConfig"];

/** In tokens; null if the body sets no limit. 0 for embeddings and moderations. */
export function mostOutputOf(endpoint: Endpoint, body: JsonObject): number | null {
  if (SILENT.includes(endpoint)) return 0;
  const inner = [body, ...INNER.map((name) => body[name])].filter(isJsonObject);
  const find = (names: readonly string[]): Json | undefined =>
    inner.flatMap((object) => names.map((name) => object[name])).find((value) => value !== undefined && value !== null);
  const most = find(LIMITS);
  const answers = find(ANSWERS) ?? 1;
  // -1 is "no limit" at many servers.
  if (!isCount(most) || !isCount(answers)) return null;
  // A completion answers each prompt of a list.
  return most * answers * (endpoint === "/v1/completions" ? inputsOf(body.prompt) : 1);
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && value > 0 && value < Infinity;
}
