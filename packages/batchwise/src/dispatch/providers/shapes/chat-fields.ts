// What most converters say alike of the fields of a chat request in OpenAI's shape: which are hints
// to OpenAI's own machinery, which values ask for nothing, and which ranges a number must keep.
// Pure. A test of each shape holds these lists against the types of the official client.

import type { Json, JsonObject } from "../../contract/types.ts";
import type { Refusals } from "./refusals.ts";

/**
 * Left out: the answer is as good without them. Nobody takes a `seed`, so no answer comes twice.
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
/** Values, as JSON, that ask for nothing where the field has no counterpart. */
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

/**
 * Throws for the first field that is neither known nor a hint nor asks for nothing, and for a
 * stream.
 */
export function checkChatFields(body: JsonObject, known: ReadonlySet<string>, refuse: Refusals): void {
  if (body.stream === true) throw refuse.invalid("`stream` is not possible in a batch");
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null || known.has(name) || HINTS.has(name)) continue;
    if (!asksForNothing(name, value)) throw refuse.unsupported(`\`${name}\``);
  }
}

/** Whether a field without a counterpart may be left out. */
export function asksForNothing(name: string, value: Json): boolean {
  return NEUTRAL.get(name) === JSON.stringify(value);
}

/**
 * Throws for limits that are no whole number from 1, and for a temperature or `top_p` outside of 0
 * to 1.
 */
export function checkSampling(body: JsonObject, refuse: Refusals): void {
  const { temperature } = body;
  if (typeof temperature === "number" && temperature > 1) throw refuse.unsupported("`temperature` above 1");
  checkNumber(body, "max_completion_tokens", "a whole number from 1", isLimit, refuse);
  checkNumber(body, "max_tokens", "a whole number from 1", isLimit, refuse);
  checkNumber(body, "temperature", "a number from 0 to 1", isShare, refuse);
  checkNumber(body, "top_p", "a number from 0 to 1", isShare, refuse);
}

/** A list that may be missing. Throws for what is no list. */
export function listOf(value: Json | undefined, place: string, refuse: Refusals): readonly Json[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw refuse.invalid(`\`${place}\` must be an array`);
  return value;
}

/** The limit of an answer: the newer field before the older. */
export function limitOf(body: JsonObject): Json | undefined {
  return body.max_completion_tokens ?? body.max_tokens ?? undefined;
}

/**
 * `stop` as a list; undefined where it asks for nothing. Throws for texts without visible
 * characters.
 */
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
 * Some services take 0 too, to warm a cache: that gives no answer, and is no limit in OpenAI's
 * shape.
 */
function isLimit(value: Json): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}

function isShare(value: Json): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}
