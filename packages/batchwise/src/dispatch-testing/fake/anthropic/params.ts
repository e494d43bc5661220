// Anthropic's checks of one item's params when it runs: shape, order of turns, tool calls and their
// results, ranges. Stricter than the real ones, so that a conversion that passes here should pass
// there.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { isObject } from "../openai/lines.ts";

const KNOWN: ReadonlySet<string> = new Set([
  "model",
  "max_tokens",
  "messages",
  "system",
  "metadata",
  "stop_sequences",
  "temperature",
  "top_p",
  "top_k",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "service_tier",
  "cache_control",
  "container",
  "diagnostics",
  "inference_geo",
  "speed",
  "user_profile_id",
  "billing_policy",
  "compaction",
  "context_management",
  "fallback_credit_token",
  "fallbacks",
  "mcp_servers",
  "thread",
]);
/** Blocks of which only the role is checked. */
const USER_BLOCKS: ReadonlySet<Json | undefined> = new Set(["search_result", "container_upload"]);
const ASSISTANT_BLOCKS: ReadonlySet<Json | undefined> = new Set([
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "advisor_tool_result",
  "mcp_tool_use",
  "mcp_tool_result",
  "mcp_tool_listing",
  "container_upload",
  "compaction",
  "fallback",
]);
/** Anthropic's limit: "A maximum of 4 blocks with cache_control may be provided." */
const MOST_MARKS = 4;
const IMAGE_TYPES: ReadonlySet<Json | undefined> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/** Describes the first fault in the params; null if there is none. */
export function paramsFault(params: JsonObject): string | null {
  const unknown = Object.keys(params).find((name) => !KNOWN.has(name));
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`;
  return scalarFault(params) ?? toolsFault(params) ?? messagesFault(params.messages) ?? marksFault(params);
}

function marksFault(params: JsonObject): string | null {
  const marks = JSON.stringify(params).match(/"cache_control":\{/g)?.length ?? 0;
  return marks <= MOST_MARKS ? null : `A maximum of ${MOST_MARKS} blocks with cache_control may be provided.`;
}

function scalarFault(params: JsonObject): string | null {
  const { model, max_tokens: maxTokens, temperature, top_p: topP, stop_sequences: stops, metadata } = params;
  if (typeof model !== "string" || model === "") return "model: Field required";
  if (!Number.isInteger(maxTokens) || (maxTokens as number) < 0) return "max_tokens: Input should be an integer >= 0";
  if (temperature !== undefined && !inUnit(temperature)) return "temperature: range: 0..1";
  if (topP !== undefined && !inUnit(topP)) return "top_p: range: 0..1";
  const badStops = stops !== undefined && !(Array.isArray(stops) && stops.every((stop) => isFilled(stop)));
  if (badStops) return "stop_sequences: each stop sequence must contain non-whitespace";
  if (metadata !== undefined && !(isObject(metadata) && Object.keys(metadata).every((name) => name === "user_id"))) {
    return "metadata: only user_id is permitted";
  }
  return systemFault(params.system);
}

function systemFault(system: Json | undefined): string | null {
  if (system === undefined || typeof system === "string") return null;
  const texts = Array.isArray(system) && system.every((block) => isObject(block) && block.type === "text");
  return texts ? null : "system: Input should be a string or text blocks";
}

function toolsFault({ tools, tool_choice: choice }: JsonObject): string | null {
  const list = tools === undefined ? [] : tools;
  if (!Array.isArray(list)) return "tools: Input should be an array";
  for (const [index, tool] of list.entries()) {
    const schema = isObject(tool) ? tool.input_schema : undefined;
    if (isObject(tool) && schema === undefined && /_\d{8}$|^mcp_toolset$/.test(String(tool.type))) continue;
    if (!isObject(tool) || typeof tool.name !== "string") return `tools.${index}.name: Field required`;
    if (!isObject(schema) || schema.type !== "object")
      return `tools.${index}.input_schema.type: Input should be 'object'`;
  }
  if (choice === undefined) return null;
  if (!isObject(choice) || !["auto", "any", "tool", "none"].includes(String(choice.type)))
    return "tool_choice: bad type";
  if (list.length === 0) return "tool_choice may only be specified while providing tools";
  const named = list.some((tool) => isObject(tool) && tool.name === choice.name);
  return choice.type !== "tool" || named ? null : `Tool '${String(choice.name)}' not found in provided tools`;
}

function messagesFault(messages: Json | undefined): string | null {
  if (!Array.isArray(messages) || messages.length === 0) return "messages: at least one message is required";
  let open: readonly string[] = [];
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) return `messages.${index}: Input should be an object`;
    const { role, content } = message;
    if (role !== "user" && role !== "assistant") return `messages.${index}.role: Input should be 'user' or 'assistant'`;
    if (index === 0 && role !== "user") return "messages: first message must use the user role";
    const blocks = blocksOf(content);
    if (blocks === null) return `messages.${index}.content: must be a non-empty text or a non-empty array of blocks`;
    const fault = blocks.map((block) => blockFault(block, role)).find((found) => found !== null);
    if (fault !== undefined) return `messages.${index}.content: ${fault}`;
    const answered = idsOf(blocks, "tool_result", "tool_use_id");
    const unknown = answered.find((id) => !open.includes(id));
    if (unknown !== undefined)
      return `messages.${index}: unexpected tool_use_id found in tool_result blocks: ${unknown}`;
    const missing = open.find((id) => !answered.includes(id));
    if (missing !== undefined)
      return `messages.${index}: tool_use ids without tool_result blocks immediately after: ${missing}`;
    open = idsOf(blocks, "tool_use", "id");
  }
  return open.length === 0 ? null : "messages: the last tool_use has no tool_result";
}

function blocksOf(content: Json | undefined): readonly JsonObject[] | null {
  if (typeof content === "string") return content === "" ? null : [{ type: "text", text: content }];
  return Array.isArray(content) && content.length > 0 && content.every(isObject) ? content : null;
}

type Side = "user" | "assistant";

/** Checks of a block, by its type. A block in a role that may not have it is a fault too. */
const BLOCKS: ReadonlyMap<Json | undefined, (block: JsonObject, side: Side) => string | null> = new Map([
  ["text", (block) => (isFilled(block.text) ? null : "text content blocks must be non-empty")],
  [
    "image",
    (block, side) => (side === "user" ? imageFault(block.source) : "images are not permitted for the assistant"),
  ],
  ["document", (block, side) => (side === "user" && isObject(block.source) ? null : "bad document block")],
  [
    "tool_use",
    (block, side) =>
      side === "assistant" && isObject(block.input) && isFilled(block.name) ? null : "bad tool_use block",
  ],
  ["tool_result", (_block, side) => (side === "user" ? null : "tool_result blocks are only permitted for the user")],
  ["thinking", (block, side) => signedFault(block.signature, side)],
  ["redacted_thinking", (block, side) => signedFault(block.data, side)],
]);

function blockFault(block: JsonObject, side: Side): string | null {
  const known = BLOCKS.get(block.type);
  if (known !== undefined) return known(block, side);
  const other = side === "user" ? USER_BLOCKS : ASSISTANT_BLOCKS;
  if (other.has(block.type)) return null;
  return `Input tag '${String(block.type)}' found does not match any of the expected tags`;
}

/** A thinking block must have the signature that it came with. */
function signedFault(signature: Json | undefined, side: Side): string | null {
  return side === "assistant" && isFilled(signature) ? null : "thinking.signature: Field required";
}

function imageFault(source: Json | undefined): string | null {
  if (!isObject(source)) return "source: Field required";
  if (source.type === "file") return isFilled(source.file_id) ? null : "source.file_id: Field required";
  if (source.type === "url") return /^https:\/\//.test(String(source.url)) ? null : "Only HTTPS URLs are supported";
  const fits =
    source.type === "base64" && IMAGE_TYPES.has(source.media_type) && /^[A-Za-z0-9+/]+=*$/.test(String(source.data));
  return fits ? null : "image source: bad media type or data";
}

function idsOf(blocks: readonly JsonObject[], type: string, field: string): string[] {
  return blocks.filter((block) => block.type === type).map((block) => String(block[field]));
}

function inUnit(value: Json): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}

function isFilled(value: Json | undefined): boolean {
  return typeof value === "string" && value.trim() !== "";
}
