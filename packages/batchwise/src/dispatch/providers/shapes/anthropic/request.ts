// Converts a chat request from OpenAI's format to Claude's params, at Anthropic, Vertex AI and
// Bedrock. Refuses by name each field without a counterpart that would change the answer, and omits
// other hints. A test compares the lists with the types of both SDKs. Pure and deterministic.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { checkChatFields, checkSampling, limitOf, stopsOf } from "../openai/chat-fields.ts";
import { checkFields, dropAbsent } from "../refusals.ts";
import { jsonObject, objectOf } from "../sdk/sdk-error.ts";
import { refuse } from "./refuse.ts";
import { toToolChoice, toTools } from "./tools.ts";
import { toConversation } from "./turns.ts";

/** Fields that are converted below. */
const CONVERTED: readonly string[] = [
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "stop",
  "temperature",
  "top_p",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "user",
  "safety_identifier",
  "response_format",
  "reasoning_effort",
  "output_config",
  "service_tier",
];
/**
 * Claude's own fields, sent unchanged. The later ones need a beta header; `top_k` is for older
 * models.
 */
const PASSED: readonly string[] = [
  "top_k",
  "thinking",
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
];
const KNOWN: ReadonlySet<string> = new Set([...CONVERTED, ...PASSED]);

const EFFORTS: ReadonlyMap<Json, string> = new Map([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "max"],
]);

/** Throws INVALID_REQUEST, naming the path, for a field that Claude does not support. */
export function toMessageParams(body: JsonObject, defaultMaxTokens: number): JsonObject {
  checkChatFields(body, KNOWN, refuse);
  checkSampling(body, refuse);
  const { messages, system } = toConversation(body.messages);
  const given = (name: string): Json | undefined => body[name] ?? undefined;
  const tools = toTools(body.tools);
  const choice = toToolChoice(given("tool_choice"), body.parallel_tool_calls === false, tools !== undefined);
  const effort = given("reasoning_effort");
  return dropAbsent({
    model: body.model,
    max_tokens: limitOf(body) ?? defaultMaxTokens,
    system,
    messages,
    stop_sequences: stopsOf(body, refuse),
    temperature: given("temperature"),
    top_p: given("top_p"),
    tools,
    tool_choice: choice,
    metadata: toMetadata(given("user") ?? given("safety_identifier")),
    output_config: toOutputConfig(given("output_config"), given("response_format"), effort),
    service_tier: toServiceTier(given("service_tier")),
    ...Object.fromEntries(PASSED.map((name) => [name, given(name)])),
    thinking: given("thinking") ?? (effort === "none" ? { type: "disabled" } : undefined),
  });
}

function toMetadata(user: Json | undefined): JsonObject | undefined {
  return typeof user === "string" ? { user_id: user } : undefined;
}

/** Omits OpenAI's tiers, because a batch has its own. Passes on Claude's own value. */
function toServiceTier(tier: Json | undefined): Json | undefined {
  return tier === "standard_only" ? tier : undefined;
}

/** Claude's own `output_config` takes precedence over OpenAI's fields. */
function toOutputConfig(
  own: Json | undefined,
  format: Json | undefined,
  effort: Json | undefined,
): JsonObject | undefined {
  const config = dropAbsent({
    format: toFormat(format),
    effort: effort === undefined || effort === "none" ? undefined : toEffort(effort),
    ...jsonObject(own),
  });
  return Object.keys(config).length === 0 ? undefined : config;
}

const OF_FORMAT: ReadonlySet<string> = new Set(["type", "json_schema"]);
const OF_SCHEMA: ReadonlySet<string> = new Set(["name", "description", "schema", "strict"]);

/**
 * Claude always keeps to the schema, so the format's name and `strict` are omitted. A description
 * goes into the schema.
 */
function toFormat(format: Json | undefined): JsonObject | undefined {
  const source = objectOf(format) as JsonObject;
  const { type, json_schema: named } = source;
  if (format === undefined) return undefined;
  checkFields(source, OF_FORMAT, "response_format", refuse);
  checkFields(objectOf(named) as JsonObject, OF_SCHEMA, "response_format.json_schema", refuse);
  if (type === "text") return undefined;
  const { schema, description } = objectOf(named) as JsonObject;
  const given = jsonObject(schema);
  if (type !== "json_schema" || given === null) throw refuse.unsupported("`response_format` other than a JSON schema");
  return { type: "json_schema", schema: typeof description === "string" ? { description, ...given } : given };
}

function toEffort(effort: Json): string {
  const known = EFFORTS.get(effort);
  if (known === undefined) throw refuse.unsupported(`\`reasoning_effort\` ${JSON.stringify(effort)}`);
  return known;
}
