// Rules for chat fields that most converters share: hints for OpenAI's own service, values without
// effect, and ranges of numbers. A test of each format compares these lists with the official
// types. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import type { Refusals } from "../refusals.ts";

/**
 * Fields of a chat that every converter reads, refuses by their value, or omits: the last three set
 * the user and the billing.
 */
export const CHAT_FIELDS: readonly string[] = [
  ...["model", "messages", "max_tokens", "max_completion_tokens", "stop", "temperature", "top_p"],
  ...["tools", "tool_choice", "response_format", "reasoning_effort", "user", "safety_identifier", "service_tier"],
];

/**
 * Fields that are omitted, because the answer is as good without them. No service takes a `seed`,
 * so answers are not reproducible.
 */
const HINTS: ReadonlySet<string> = new Set([
  "stream_options",
  "seed",
  "store",
  "metadata",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "prediction",
]);
/** Values, as JSON, that have no effect if the field has no counterpart. */
const NEUTRAL: ReadonlyMap<string, string> = new Map([
  ["n", "1"],
  ["logprobs", "false"],
  ["top_logprobs", "0"],
  ["frequency_penalty", "0"],
  ["presence_penalty", "0"],
  ["logit_bias", "{}"],
  ["modalities", '["text"]'],
  ["parallel_tool_calls", "true"],
  ["stream", "false"],
  ["verbosity", '"medium"'],
]);
/** Alternatives for older fields. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ["functions", "use `tools`"],
  ["function_call", "use `tool_choice`"],
]);

/** Throws for `stream`, and for the first field that is not known, not a hint and has an effect. */
export function checkChatFields(body: JsonObject, known: ReadonlySet<string>, refuse: Refusals): void {
  if (body.stream === true) throw refuse.invalid("`stream` is not possible in a batch");
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null || known.has(name) || HINTS.has(name)) continue;
    if (NEUTRAL.get(name) === JSON.stringify(value)) continue;
    const instead = INSTEAD.get(name);
    throw refuse.unsupported(instead === undefined ? `\`${name}\`` : `\`${name}\` (${instead})`);
  }
}

/** Throws unless limits are whole numbers from 1, and temperature and `top_p` are within 0 to 1. */
export function checkSampling(body: JsonObject, refuse: Refusals): void {
  const { temperature } = body;
  if (typeof temperature === "number" && temperature > 1) throw refuse.unsupported("`temperature` above 1");
  checkNumber(body, "max_completion_tokens", "a whole number from 1", isLimit, refuse);
  checkNumber(body, "max_tokens", "a whole number from 1", isLimit, refuse);
  checkNumber(body, "temperature", "a number from 0 to 1", isShare, refuse);
  checkNumber(body, "top_p", "a number from 0 to 1", isShare, refuse);
}

/** The list, or an empty one if absent. Throws for any other value. */
export function listOf(value: Json | undefined, place: string, refuse: Refusals): readonly Json[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw refuse.invalid(`\`${place}\` must be an array`);
  return value;
}

/** The token limit of an answer. The newer field takes precedence. */
export function limitOf(body: JsonObject): Json | undefined {
  return body.max_completion_tokens ?? body.max_tokens ?? undefined;
}

/** `stop` as a list; undefined if it has no effect. Throws for texts without visible characters. */
export function stopsOf(body: JsonObject, refuse: Refusals): readonly Json[] | undefined {
  const { stop = null } = body;
  if (stop === null) return undefined;
  const stops = Array.isArray(stop) ? stop : [stop];
  const blank = stops.some((each) => typeof each !== "string" || each.trim() === "");
  if (blank) throw refuse.unsupported("a `stop` without visible characters");
  return stops.length === 0 ? undefined : stops;
}

function checkNumber(
  body: JsonObject,
  name: string,
  expected: string,
  isGood: (value: Json) => boolean,
  refuse: Refusals,
): void {
  const value = body[name];
  if (value === undefined || value === null || isGood(value)) return;
  throw refuse.invalid(`\`${name}\` must be ${expected}, not ${JSON.stringify(value)}`);
}

/**
 * False for 0, with which some services warm a cache: it gives no answer and is no limit in
 * OpenAI's format.
 */
function isLimit(value: Json): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

function isShare(value: Json): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}
