// Converts a chat request from OpenAI's format to Claude's params, at Anthropic, Vertex AI and
// Bedrock. Refuses by name each field without a counterpart that would change the answer, and omits
// other hints. A test compares the lists with the types of both SDKs. Pure and deterministic.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { CHAT_FIELDS, checkChatFields, checkSampling, limitOf, stopsOf } from "../openai/chat-fields.ts";
import { formatOf } from "../openai/chat-tools.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject } from "../sdk/sdk-error.ts";
import { refuse } from "./refuse.ts";
import { toToolChoice, toTools } from "./tools.ts";
import { toConversation } from "./turns.ts";

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
const KNOWN: ReadonlySet<string> = new Set([...CHAT_FIELDS, "parallel_tool_calls", "output_config", ...PASSED]);

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
    output_config: toOutputConfig(given("output_config"), toFormat(body), effort),
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
  format: JsonObject | undefined,
  effort: Json | undefined,
): JsonObject | undefined {
  const config = dropAbsent({
    format,
    effort: effort === undefined || effort === "none" ? undefined : toEffort(effort),
    ...jsonObject(own),
  });
  return Object.keys(config).length === 0 ? undefined : config;
}

/**
 * Claude always keeps to the schema, so the format's name and `strict` are omitted. A description
 * goes into the schema.
 */
function toFormat(body: JsonObject): JsonObject | undefined {
  const format = formatOf(body, refuse);
  if (format === null) return undefined;
  if (format === "json_object") throw refuse.unsupported("`response_format` other than a JSON schema");
  const { schema, named } = format;
  const { description } = named;
  return { type: "json_schema", schema: typeof description === "string" ? { description, ...schema } : schema };
}

function toEffort(effort: Json): string {
  const known = EFFORTS.get(effort);
  if (known === undefined) throw refuse.unsupported(`\`reasoning_effort\` ${JSON.stringify(effort)}`);
  return known;
}
