// A chat request in OpenAI's shape as the params of an Anthropic message. Pure, and the same on every machine. What has
// no counterpart and would change the answer is refused by name; hints that change nothing that matters are left out.

import type { Json, JsonObject } from "../../contract/types.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk-error.ts";
import { toConversation } from "./conversation.ts";
import { invalid, unsupported } from "./refusal.ts";

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
]);
/** Anthropic's own fields, sent as they are. */
const PASSED: readonly string[] = ["top_k", "thinking"];
/** Hints to OpenAI's machinery: the answer is as good without them. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "stream",
  "stream_options",
  "seed",
  "store",
  "metadata",
  "service_tier",
  "prompt_cache_key",
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
]);

/** Throws INVALID_REQUEST, naming the place, for what Anthropic cannot be asked. */
export function toMessageParams(body: JsonObject, defaultMaxTokens: number): JsonObject {
  checkFields(body);
  const { messages, system } = toConversation(body.messages);
  const given = (name: string): Json | undefined => body[name] ?? undefined;
  const tools = toTools(body.tools);
  return dropAbsent({
    model: body.model,
    max_tokens: given("max_completion_tokens") ?? given("max_tokens") ?? defaultMaxTokens,
    system,
    messages,
    stop_sequences: toStops(given("stop")),
    temperature: given("temperature"),
    top_p: given("top_p"),
    tools,
    tool_choice:
      tools === undefined ? undefined : toToolChoice(given("tool_choice"), body.parallel_tool_calls === false),
    metadata: toMetadata(given("user") ?? given("safety_identifier")),
    output_config: toOutputConfig(given("response_format"), given("reasoning_effort")),
    ...Object.fromEntries(PASSED.map((name) => [name, given(name)])),
  });
}

function checkFields(body: JsonObject): void {
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null || CONVERTED.has(name) || PASSED.includes(name) || LEFT_OUT.has(name))
      continue;
    if (NEUTRAL.get(name) !== JSON.stringify(value)) throw unsupported(`\`${name}\``);
  }
  if (body.stream === true) throw invalid("`stream` is not possible in a batch");
  const { temperature } = body;
  if (typeof temperature === "number" && temperature > 1) throw unsupported("`temperature` above 1");
  checkNumber(body, "max_completion_tokens", "a whole number from 1", isLimit);
  checkNumber(body, "max_tokens", "a whole number from 1", isLimit);
  checkNumber(body, "temperature", "a number from 0 to 1", isShare);
  checkNumber(body, "top_p", "a number from 0 to 1", isShare);
}

function checkNumber(body: JsonObject, name: string, expected: string, isGood: (value: Json) => boolean): void {
  const value = body[name];
  if (value === undefined || value === null || isGood(value)) return;
  throw invalid(`\`${name}\` must be ${expected}, not ${JSON.stringify(value)}`);
}

/** Anthropic takes 0 too, to warm a cache: that gives no answer, and is no limit in OpenAI's shape. */
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
  if (blank) throw unsupported("a `stop` without visible characters");
  return stops.length === 0 ? undefined : stops;
}

function toTools(tools: Json | undefined): JsonObject[] | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  return tools.map((tool, index) => {
    const { type, function: definition } = objectOf(tool);
    const { name, description, parameters, strict } = objectOf(definition) as JsonObject;
    if (type !== "function" || text(name) === null) throw unsupported(`\`tools[${index}]\` other than a function`);
    const schema = { type: "object", ...(jsonObject(parameters) ?? { properties: {} }) };
    return dropAbsent({
      name,
      description: description ?? undefined,
      input_schema: schema,
      strict: strict === true ? true : undefined,
    });
  });
}

function toToolChoice(choice: Json | undefined, oneAtATime: boolean): JsonObject | undefined {
  const single = oneAtATime ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined) return oneAtATime ? { type: "auto", ...single } : undefined;
  if (choice === "none") return { type: "none" };
  if (choice === "auto") return { type: "auto", ...single };
  if (choice === "required") return { type: "any", ...single };
  const { type, function: named } = objectOf(choice);
  const name = text(objectOf(named).name);
  if (type !== "function" || name === null) throw unsupported("this `tool_choice`");
  return { type: "tool", name, ...single };
}

function toMetadata(user: Json | undefined): JsonObject | undefined {
  return typeof user === "string" ? { user_id: user } : undefined;
}

function toOutputConfig(format: Json | undefined, effort: Json | undefined): JsonObject | undefined {
  const config = {
    format: toFormat(format),
    effort: effort === undefined || effort === "none" ? undefined : toEffort(effort),
  };
  return config.format === undefined && config.effort === undefined ? undefined : dropAbsent(config);
}

function toFormat(format: Json | undefined): JsonObject | undefined {
  const { type, json_schema: named } = objectOf(format) as JsonObject;
  if (format === undefined || type === "text") return undefined;
  const schema = jsonObject(objectOf(named).schema);
  if (type !== "json_schema" || schema === null) throw unsupported("`response_format` other than a JSON schema");
  return { type: "json_schema", schema };
}

function toEffort(effort: Json): string {
  const known = EFFORTS.get(effort);
  if (known === undefined) throw unsupported(`\`reasoning_effort\` ${JSON.stringify(effort)}`);
  return known;
}

function dropAbsent(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
