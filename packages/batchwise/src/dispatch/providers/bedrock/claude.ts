// Claude at Bedrock: Anthropic's params without the model, which the job names, and with a version in place of the header.
// Pure. What Anthropic offers at its own address only is refused.

import type { Json, JsonObject } from "../../contract/types.ts";
import { toCompletion } from "../shapes/anthropic/completion.ts";
import { refuse } from "../shapes/anthropic/refuse.ts";
import { toMessageParams } from "../shapes/anthropic/request.ts";
import { objectOf } from "../shapes/sdk-error.ts";
import type { Family } from "./family.ts";

/** "anthropic_version … the value must be bedrock-2023-05-31" (Bedrock user guide, Anthropic Claude Messages API). */
const VERSION = "bedrock-2023-05-31";

/** They are of Anthropic's workspaces, files and tiers, or chosen by the model's id here. */
const NOT_HERE = [
  "container",
  "diagnostics",
  "inference_geo",
  "speed",
  "service_tier",
  "user_profile_id",
  "billing_policy",
  "fallback_credit_token",
  "fallbacks",
  "mcp_servers",
  "thread",
];

export const claude: Family = {
  endpoint: "/v1/chat/completions",
  /** `anthropic_beta`, a list of betas, is the one field of Bedrock's own. */
  toInput({ anthropic_beta: betas = null, ...body }, defaultMaxTokens) {
    const params = toMessageParams(body, defaultMaxTokens);
    const missing = NOT_HERE.find((name) => params[name] !== undefined);
    if (missing !== undefined) throw refuse.invalid(`Bedrock has no \`${missing}\``);
    if (isRemote(params.messages)) throw refuse.invalid("Bedrock takes images and documents as base64 only");
    return toNativeInput(betas === null ? params : { ...params, anthropic_beta: betas });
  },
  toAnswer(output, { createdAt, model }) {
    return { ...toCompletion(output, createdAt), model };
  },
};

/** A body of Claude's own. */
export function toNativeInput({
  model: _model,
  anthropic_version: version = VERSION,
  ...params
}: JsonObject): JsonObject {
  return { anthropic_version: version, ...params };
}

/** True where a block of a turn, or of a tool's result in it, has its data elsewhere. */
function isRemote(content: Json | undefined): boolean {
  if (!Array.isArray(content)) return false;
  return content.some((block) => {
    const { source, content: inner } = objectOf(block) as JsonObject;
    const { type } = objectOf(source);
    return type === "url" || type === "file" || isRemote(inner);
  });
}
