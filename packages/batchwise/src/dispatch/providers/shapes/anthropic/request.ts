// A chat request in OpenAI's shape as the params of a message of Claude's, at Anthropic, Vertex AI and Bedrock. Pure, and
// the same on every machine. What has no counterpart and would change the answer is refused by name; hints that change
// nothing that matters are left out. A test holds the lists against the types of both SDKs.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject, objectOf } from "../sdk-error.ts";
import { refuse } from "./refuse.ts";
import { toToolChoice, toTools } from "./tools.ts";
import { toConversation } from "./turns.ts";

/** Fields that are read below. */
const CONVERTED: ReadonlySet<string> = new Set([
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
]);
/** Claude's own fields, sent as they are; the later ones want a beta header. `top_k` is of older models. */
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
/** Hints to OpenAI's machinery: the answer is as good without them. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "stream",
  "stream_options",
  "seed",
  "store",
  "metadata",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "prediction",
  "verbosity",
]);
/** No counterpart, but these values, as JSON, ask for nothing. */
const NEUTRAL: ReadonlyMap<string, string> = new Map([
  ["n", "1"],
  ["logprobs", "false"],
  ["top_logprobs", "0"],
  ["frequency_penalty", "0"],
  ["presence_penalty", "0"],
  ["logit_bias", "{}"],
  ["modalities", '["text"]'],
]);

const EFFORTS: ReadonlyMap<Json, string> = new Map([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "max"],
]);

/** Throws INVALID_REQUEST, naming the place, for what Claude cannot be asked. */
export function toMessageParams(body: JsonObject, defaultMaxTokens: number): JsonObject {
  checkBody(body);
  const { messages, system } = toConversation(body.messages);
  const given = (name: string): Json | undefined => body[name] ?? undefined;
  const tools = toTools(body.tools);
  const choice = toToolChoice(given("tool_choice"), body.parallel_tool_calls === false, tools !== undefined);
  const effort = given("reasoning_effort");
  return dropAbsent({
    model: body.model,
    max_tokens: given("max_completion_tokens") ?? given("max_tokens") ?? defaultMaxTokens,
    system,
    messages,
    stop_sequences: toStops(given("stop")),
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

function checkBody(body: JsonObject): void {
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null || CONVERTED.has(name) || PASSED.includes(name) || LEFT_OUT.has(name))
      continue;
    if (NEUTRAL.get(name) !== JSON.stringify(value)) throw refuse.unsupported(`\`${name}\``);
  }
  if (body.stream === true) throw refuse.invalid("`stream` is not possible in a batch");
  const { temperature } = body;
  if (typeof temperature === "number" && temperature > 1) throw refuse.unsupported("`temperature` above 1");
  checkNumber(body, "max_completion_tokens", "a whole number from 1", isLimit);
  checkNumber(body, "max_tokens", "a whole number from 1", isLimit);
  checkNumber(body, "temperature", "a number from 0 to 1", isShare);
  checkNumber(body, "top_p", "a number from 0 to 1", isShare);
}

function checkNumber(body: JsonObject, name: string, expected: string, isGood: (value: Json) => boolean): void {
  const value = body[name];
  if (value === undefined || value === null || isGood(value)) return;
  throw refuse.invalid(`\`${name}\` must be ${expected}, not ${JSON.stringify(value)}`);
}

/** Claude takes 0 too, to warm a cache: that gives no answer, and is no limit in OpenAI's shape. */
function isLimit(value: Json): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

function isShare(value: Json): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}

function toStops(stop: Json | undefined): Json | undefined {
  if (stop === undefined) return undefined;
  const stops = Array.isArray(stop) ? stop : [stop];
  const blank = stops.some((each) => typeof each !== "string" || each.trim() === "");
  if (blank) throw refuse.unsupported("a `stop` without visible characters");
  return stops.length === 0 ? undefined : stops;
}

function toMetadata(user: Json | undefined): JsonObject | undefined {
  return typeof user === "string" ? { user_id: user } : undefined;
}

/** OpenAI's tiers mean nothing here, and a batch has a tier of its own; Claude's one word is passed on. */
function toServiceTier(tier: Json | undefined): Json | undefined {
  return tier === "standard_only" ? tier : undefined;
}

/** Claude's own `output_config` comes before what OpenAI's fields say. */
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

/** The name of a format and `strict` say nothing to Claude, which keeps to the schema; a description goes into it. */
function toFormat(format: Json | undefined): JsonObject | undefined {
  const { type, json_schema: named } = objectOf(format) as JsonObject;
  if (format === undefined || type === "text") return undefined;
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
