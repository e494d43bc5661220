// A chat request as the params of a message of Claude's where another company serves it: Bedrock and Vertex AI. Pure.
// What Anthropic offers at its own address only is refused.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { objectOf } from "../sdk-error.ts";
import { refuse } from "./refuse.ts";
import { toMessageParams } from "./request.ts";

/** They are of Anthropic's workspaces, files and tiers, or chosen by the model's id elsewhere. */
const NOT_THERE = [
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

/** Throws INVALID_REQUEST, naming the place, for what Claude cannot be asked there. */
export function toParamsElsewhere(body: JsonObject, defaultMaxTokens: number, where: string): JsonObject {
  const params = toMessageParams(body, defaultMaxTokens);
  const missing = NOT_THERE.find((name) => params[name] !== undefined);
  if (missing !== undefined) throw refuse.invalid(`${where} has no \`${missing}\``);
  if (isRemote(params.messages)) throw refuse.invalid(`${where} takes images and documents as base64 only`);
  return params;
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
