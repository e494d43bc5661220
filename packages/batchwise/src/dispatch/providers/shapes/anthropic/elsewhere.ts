// Converts a chat request to Claude's params for Bedrock and Vertex AI. Refuses features that only
// Anthropic's own API has. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";
import { refuse } from "./refuse.ts";
import { toMessageParams } from "./request.ts";

/** Fields for Anthropic's workspaces, files and tiers, or set by the model's id elsewhere. */
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

/** Tools that the caller runs. Those that Anthropic runs exist only in its own API. */
const RUN_BY_CALLER = /^(?:custom|(?:bash|text_editor|computer|memory)_\d{8})$/;
/** Blocks that name a file at Anthropic, or show the work of a tool that ran there. */
const OF_SERVERS = /^(?:container_upload|(?:server|mcp)_tool_use|.+_tool_result)$/;

/** Throws INVALID_REQUEST, naming the path, for a field that Claude does not support there. */
export function toParamsElsewhere(body: JsonObject, defaultMaxTokens: number, where: string): JsonObject {
  const params = toMessageParams(body, defaultMaxTokens);
  const missing = NOT_THERE.find((name) => params[name] !== undefined);
  if (missing !== undefined) throw refuse.invalid(`${where} has no \`${missing}\``);
  checkTools(params.tools, where);
  checkBlocks(params.messages, where);
  if (isRemote(params.messages)) throw refuse.invalid(`${where} takes images and documents as base64 only`);
  return params;
}

function checkTools(tools: Json | undefined, where: string): void {
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const type = text(objectOf(tool).type) ?? "custom";
    if (RUN_BY_CALLER.test(type)) continue;
    const what = `${where} has no \`tools[${index}]\` of type ${type} that we know of`;
    throw refuse.invalid(`${what}: use the endpoint "/v1/messages" if it does`);
  }
}

function checkBlocks(messages: Json | undefined, where: string): void {
  for (const message of Array.isArray(messages) ? messages : []) {
    const { content } = objectOf(message);
    for (const block of Array.isArray(content) ? (content as readonly Json[]) : []) {
      const type = text(objectOf(block).type) ?? "";
      if (OF_SERVERS.test(type)) throw refuse.invalid(`${where} has no blocks of type ${type}`);
    }
  }
}

/** True if a block of a turn, or of a tool's result in it, refers to data elsewhere. */
function isRemote(content: Json | undefined): boolean {
  if (!Array.isArray(content)) return false;
  return content.some((block) => {
    const { source, content: inner } = objectOf(block) as JsonObject;
    const { type } = objectOf(source);
    return type === "url" || type === "file" || isRemote(inner);
  });
}
