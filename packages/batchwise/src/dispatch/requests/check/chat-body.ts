// Checks the body of a chat completion against OpenAI's types and ranges, so that a mistake is
// found at `enqueue` and not after the batch has run. Unknown fields, part kinds and tools pass;
// null counts as absent. Pure.

import { describe } from "../../../core/contract/errors.ts";
import type { Json, JsonObject } from "../../contract/types.ts";
import { isJsonObject as isObject, listOf } from "../../format/json-object.ts";

type Value = Json | undefined;
type Test = (value: Value) => boolean;
/** The expected value of a field, in words and as a test. */
type Rule = readonly [expected: string, test: Test];

const isText: Test = (value) => typeof value === "string";

const TEXT: Rule = ["a string", isText];
const TRUTH: Rule = ["a boolean", (value) => typeof value === "boolean"];
const OBJECT: Rule = ["an object", isObject];
const TEXT_OR_OBJECT: Rule = ["a string or an object", (value) => isText(value) || isObject(value)];
const LIST: Rule = ["an array", Array.isArray];
const TYPED: Rule = ["an object with a string `type`", (value) => isObject(value) && isText(value.type)];
const STOP: Rule = [
  "a string or an array of 1 to 4 strings",
  (value) => isText(value) || (Array.isArray(value) && value.length >= 1 && value.length <= 4 && value.every(isText)),
];

function number(least: number, most: number): Rule {
  return [`a number from ${least} to ${most}`, (value) => typeof value === "number" && value >= least && value <= most];
}

function integer(least: number, most: number = Number.POSITIVE_INFINITY): Rule {
  const range = most === Number.POSITIVE_INFINITY ? `>= ${least}` : `from ${least} to ${most}`;
  const test: Test = (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  return [least === Number.NEGATIVE_INFINITY ? "an integer" : `an integer ${range}`, test];
}

const FIELDS: Readonly<Record<string, Rule>> = {
  frequency_penalty: number(-2, 2),
  functions: LIST,
  function_call: TEXT_OR_OBJECT,
  logit_bias: OBJECT,
  logprobs: TRUTH,
  max_completion_tokens: integer(1),
  max_tokens: integer(1),
  metadata: OBJECT,
  modalities: LIST,
  n: integer(1, 128),
  parallel_tool_calls: TRUTH,
  presence_penalty: number(-2, 2),
  reasoning_effort: TEXT,
  response_format: TYPED,
  seed: integer(Number.NEGATIVE_INFINITY),
  service_tier: TEXT,
  stop: STOP,
  store: TRUTH,
  temperature: number(0, 2),
  tool_choice: TEXT_OR_OBJECT,
  tools: LIST,
  top_logprobs: integer(0, 20),
  top_p: number(0, 1),
  user: TEXT,
  verbosity: TEXT,
};

const ROLES = ["developer", "system", "user", "assistant", "tool", "function"];
const ROLE: Rule = [`one of ${ROLES.join(", ")}`, (value) => ROLES.includes(value as string)];
const CONTENT: Rule = ["a string or a non-empty array of parts", isContent];

/** Parts by `type`: each has a field of that name. */
const PARTS: Readonly<Record<string, Rule>> = {
  text: TEXT,
  refusal: TEXT,
  image_url: ["an object with a string `url`", (value) => isObject(value) && isText(value.url)],
  input_audio: OBJECT,
  file: OBJECT,
};

/**
 * Fields that may replace an assistant message's content. `content_blocks` comes from Claude's
 * answers.
 */
const IN_PLACE_OF_CONTENT = ["tool_calls", "function_call", "refusal", "audio", "content_blocks", "reasoning_content"];

/**
 * Describes the first mistake: its path, the expected value and the actual one. null if the body is
 * valid.
 */
export function chatMistake(body: JsonObject): string | null {
  const { messages, tools } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    return mistake("messages", ["a non-empty array", isText], messages);
  return (
    first(Object.entries(FIELDS), ([name, rule]) => optional(name, rule, body[name])) ??
    first([...messages.entries()], ([index, message]) => messageMistake(`messages[${index}]`, message)) ??
    first([...listOf(tools).entries()], ([index, tool]) => toolMistake(`tools[${index}]`, tool))
  );
}

function messageMistake(place: string, message: Value): string | null {
  if (!isObject(message)) return mistake(place, OBJECT, message);
  const { role, content, name, tool_calls: calls, tool_call_id: callId } = message;
  return (
    required(`${place}.role`, ROLE, role) ??
    contentMistake(place, message) ??
    first([...listOf(content).entries()], ([index, part]) => partMistake(`${place}.content[${index}]`, part)) ??
    optional(`${place}.name`, TEXT, name) ??
    (role === "tool" ? required(`${place}.tool_call_id`, TEXT, callId) : null) ??
    optional(`${place}.tool_calls`, LIST, calls) ??
    first([...listOf(calls).entries()], ([index, call]) => callMistake(`${place}.tool_calls[${index}]`, call))
  );
}

function contentMistake(place: string, message: JsonObject): string | null {
  const { role, content } = message;
  const isAbsent = content === undefined || content === null;
  if (!isAbsent || (role !== "assistant" && role !== "function")) return required(`${place}.content`, CONTENT, content);
  if (role === "function" || IN_PLACE_OF_CONTENT.some((name) => isThere(message[name]))) return null;
  return mistake(
    `${place}.content`,
    ["a string or an array of parts where there are no `tool_calls`", isText],
    content,
  );
}

function partMistake(place: string, part: Value): string | null {
  if (!isObject(part)) return mistake(place, OBJECT, part);
  const { type } = part;
  if (typeof type !== "string") return mistake(`${place}.type`, TEXT, type);
  const rule = Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  return rule === undefined ? null : required(`${place}.${type}`, rule, part[type]);
}

function callMistake(place: string, call: Value): string | null {
  if (!isObject(call)) return mistake(place, OBJECT, call);
  const { id, type = "function", function: called } = call;
  return (
    required(`${place}.id`, TEXT, id) ??
    (type === "function" ? functionMistake(`${place}.function`, called) : null) ??
    (type === "function" ? required(`${place}.function.arguments`, TEXT, (called as JsonObject).arguments) : null)
  );
}

function toolMistake(place: string, tool: Value): string | null {
  if (!isObject(tool)) return mistake(place, OBJECT, tool);
  const { type, function: named } = tool;
  if (type !== "function") return required(`${place}.type`, TEXT, type);
  return (
    functionMistake(`${place}.function`, named) ??
    optional(`${place}.function.parameters`, OBJECT, (named as JsonObject).parameters) ??
    optional(`${place}.function.strict`, TRUTH, (named as JsonObject).strict)
  );
}

function functionMistake(place: string, value: Value): string | null {
  return isObject(value) ? required(`${place}.name`, TEXT, value.name) : mistake(place, OBJECT, value);
}

function isContent(value: Value): boolean {
  return isText(value) || (Array.isArray(value) && value.length > 0);
}

function isThere(value: Value): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

function optional(place: string, rule: Rule, value: Value): string | null {
  return value === undefined || value === null ? null : required(place, rule, value);
}

function required(place: string, rule: Rule, value: Value): string | null {
  return rule[1](value) ? null : mistake(place, rule, value);
}

function mistake(place: string, [expected]: Rule, value: Value): string {
  const got = Array.isArray(value) ? `an array of ${value.length}` : describe(value);
  return `expected \`${place}\` to be ${expected}, got ${got}`;
}

function first<Item>(items: readonly Item[], look: (item: Item) => string | null): string | null {
  for (const item of items) {
    const found = look(item);
    if (found !== null) return found;
  }
  return null;
}
