// Converts sampling, limits, format and reasoning effort to Gemini's GenerationConfig. Zero is kept
// as an ordinary value. Ranges are from the types of @google/genai 2.32 and
// ai.google.dev/api/generate-content. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { formatOf } from "../openai/chat-tools.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject } from "../sdk/sdk-error.ts";
import { invalid, isAbsent, refuse, unsupported } from "./refusal.ts";

type Check = (value: Json) => boolean;

const MOST_STOPS = 5;
const MOST_CANDIDATES = 8;
const MOST_LOGPROBS = 20;
const LEAST_SEED = -(2 ** 31);
const MOST_SEED = 2 ** 31 - 1;

/**
 * Reasoning tokens per effort, as in Google's own OpenAI-compatible API
 * (ai.google.dev/gemini-api/docs/openai).
 */
const BUDGETS: ReadonlyMap<Json, number> = new Map([
  ["none", 0],
  ["minimal", 1_024],
  ["low", 1_024],
  ["medium", 8_192],
  ["high", 24_576],
]);
/** Efforts for models with levels, which cannot turn reasoning off. */
const LEVELS: ReadonlySet<Json> = new Set(["minimal", "low", "medium", "high"]);
/** Models before levels; the name may follow "models/". */
const TAKES_BUDGET = /(?:^|\/)gemini-[12]\./;
/** Its lowest level is "low" (the same table). */
const PRO = /(?:^|\/)gemini-3[\w.-]*-pro/;

export type Detail = "low" | "high" | null;

/**
 * `detail`: the resolution of all images of the request. Undefined if there is nothing to
 * configure.
 */
export function toGenerationConfig(body: JsonObject, model: string, detail: Detail): JsonObject | undefined {
  const config = dropAbsent({
    candidateCount: read(body, "n", `a whole number from 1 to ${MOST_CANDIDATES}`, whole(1, MOST_CANDIDATES)),
    maxOutputTokens: limitOf(body),
    stopSequences: toStops(body.stop),
    temperature: read(body, "temperature", "a number from 0 to 2", between(0, 2)),
    topP: read(body, "top_p", "a number from 0 to 1", between(0, 1)),
    topK: read(body, "top_k", "a whole number from 1", whole(1)),
    seed: read(body, "seed", "a whole number of 32 bits", whole(LEAST_SEED, MOST_SEED)),
    presencePenalty: read(body, "presence_penalty", "a number from -2 to 2", between(-2, 2)),
    frequencyPenalty: read(body, "frequency_penalty", "a number from -2 to 2", between(-2, 2)),
    ...toLogprobs(body),
    ...toFormat(body),
    thinkingConfig: toThinking(body, model),
    mediaResolution: detail === null ? undefined : `MEDIA_RESOLUTION_${detail.toUpperCase()}`,
  });
  return Object.keys(config).length === 0 ? undefined : config;
}

function read(body: JsonObject, name: string, expected: string, isGood: Check): Json | undefined {
  const value = body[name];
  if (isAbsent(value)) return undefined;
  if (!isGood(value)) throw invalid(`\`${name}\` must be ${expected}, not ${JSON.stringify(value)}`);
  return value;
}

function between(least: number, most: number): Check {
  return (value) => typeof value === "number" && value >= least && value <= most;
}

function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): Check {
  return (value) => Number.isSafeInteger(value) && between(least, most)(value);
}

/** The newer field takes precedence. In both formats the limit includes reasoning. */
function limitOf(body: JsonObject): Json | undefined {
  const older = read(body, "max_tokens", "a whole number from 1", whole(1));
  return read(body, "max_completion_tokens", "a whole number from 1", whole(1)) ?? older;
}

function toStops(stop: Json | undefined): Json | undefined {
  if (isAbsent(stop)) return undefined;
  const stops: readonly Json[] = Array.isArray(stop) ? stop : [stop];
  if (stops.some((each) => typeof each !== "string" || each === "")) throw invalid("`stop` must hold non-empty texts");
  if (stops.length > MOST_STOPS) throw invalid(`\`stop\` may hold at most ${MOST_STOPS} texts, not ${stops.length}`);
  return stops.length === 0 ? undefined : stops;
}

function toLogprobs(body: JsonObject): JsonObject {
  const wanted = read(body, "logprobs", "true or false", (value) => typeof value === "boolean");
  const expected = `a whole number from 0 to ${MOST_LOGPROBS}`;
  const top = read(body, "top_logprobs", expected, whole(0, MOST_LOGPROBS));
  if (wanted !== true && top !== undefined && top !== 0) throw invalid("`top_logprobs` needs `logprobs: true`");
  return wanted === true ? { responseLogprobs: true, logprobs: top } : {};
}

function toFormat(body: JsonObject): JsonObject {
  const format = formatOf(body, refuse);
  if (format === null) return {};
  if (format === "json_object") return { responseMimeType: "application/json" };
  const { schema, named } = format;
  const { description } = named;
  // The format's description goes into the schema.
  const told = isAbsent(description) || schema.description !== undefined ? schema : { description, ...schema };
  return { responseMimeType: "application/json", responseJsonSchema: told };
}

function toThinking(body: JsonObject, model: string): JsonObject | undefined {
  const { reasoning_effort: effort, thinkingConfig: own } = body;
  if (!isAbsent(own)) {
    if (!isAbsent(effort)) throw invalid("`reasoning_effort` and `thinkingConfig` say the same: give one of them");
    const given = jsonObject(own);
    if (given === null) throw invalid("`thinkingConfig` must be an object");
    return given;
  }
  if (isAbsent(effort)) return undefined;
  const shown = `\`reasoning_effort\` ${JSON.stringify(effort)}`;
  if (TAKES_BUDGET.test(model)) {
    const thinkingBudget = BUDGETS.get(effort);
    if (thinkingBudget === undefined) throw unsupported(shown);
    return { thinkingBudget };
  }
  if (!LEVELS.has(effort)) throw unsupported(`${shown} of the model "${model}"`);
  return { thinkingLevel: effort === "minimal" && PRO.test(model) ? "LOW" : String(effort).toUpperCase() };
}
