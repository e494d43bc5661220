// Finds the family of a model by its id. Pure.

import type { Capabilities } from "../../contract/capabilities.ts";
import { DispatchError } from "../../contract/errors.ts";
import { bedrockCapabilities, CONVERSE, INVOKE, MESSAGES } from "./capabilities.ts";
import { claude } from "./claude.ts";
import type { BedrockFamily, Family } from "./family.ts";
import { gptOss } from "./gpt-oss.ts";
import { llama } from "./llama.ts";
import { toNovaAnswer } from "./nova/completion.ts";
import { toNovaRequest } from "./nova/request.ts";
import { titan } from "./titan.ts";

/** Nova's text models, in the format of `messages-v1`. */
const nova: Family = {
  endpoint: "/v1/chat/completions",
  toInput: toNovaRequest,
  toAnswer: toNovaAnswer,
};

const FAMILIES: Readonly<Record<BedrockFamily, Family>> = { claude, nova, llama, titan, openai: gptOss };
export const FAMILY_NAMES: readonly string[] = Object.keys(FAMILIES);

/** Patterns for ids and ARNs of models and inference profiles, whose ids begin with a region. */
const OF_MODEL: readonly (readonly [RegExp, BedrockFamily])[] = [
  [/anthropic\.claude/, "claude"],
  [/amazon\.nova-(?!canvas|reel|sonic|.*(?:sonic|embed))/, "nova"],
  [/meta\.llama/, "llama"],
  [/amazon\.titan-embed-(?:g1-)?text/, "titan"],
  [/openai\.gpt-oss/, "openai"],
];

/** Throws INVALID_REQUEST for a model of an unknown family. */
export function familyOf(model: string, chosen: BedrockFamily | null): Family {
  const name = chosen ?? OF_MODEL.find(([pattern]) => pattern.test(model))?.[1];
  if (name !== undefined) return FAMILIES[name];
  const words = `the format of bodies for the model "${model}" is unknown: use the endpoint "/model/invoke" with a body of its own`;
  throw new DispatchError(
    "INVALID_REQUEST",
    `The request cannot be sent to Bedrock: ${words}, or the option \`family\`.`,
  );
}

/**
 * The account's capabilities. If all models are of one family, only its endpoint and the model's
 * own ones.
 */
export function capabilitiesOf(chosen: BedrockFamily | null): Capabilities {
  if (chosen === null) return bedrockCapabilities;
  const own = [FAMILIES[chosen].endpoint, INVOKE, CONVERSE];
  return { ...bedrockCapabilities, endpoints: chosen === "claude" ? [...own, MESSAGES] : own };
}
