// Converts Gemini's GenerateContentResponse to a chat completion in OpenAI's format, for the Gemini
// API and Vertex AI. A blocked prompt has no answer and is an error, see `answer.ts`. Trusts no
// type. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { jsonText } from "../lines/exact-json.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { toUsageBody } from "./usage.ts";

/** Facts for fields that a batch's answer may lack. */
export interface AnswerFacts {
  readonly customId: string;
  readonly model: string;
  /** In ms since 1970. */
  readonly createdAt: number;
}

/** From FinishReason of @google/genai 2.32. Any other reason becomes "stop". */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["CONTINUATION", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["LANGUAGE", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
]);
/** Reasons that are no refusal. */
const PLAIN: ReadonlySet<string> = new Set(["STOP", "MAX_TOKENS", "CONTINUATION", "FINISH_REASON_UNSPECIFIED", ""]);

export function toCompletion(response: JsonObject, { customId, model, createdAt }: AnswerFacts): JsonObject {
  const at = Date.parse(text(response.createTime) ?? "");
  const candidates = candidatesOf(response);
  return {
    id: text(response.responseId) ?? `chatcmpl-${customId}`,
    object: "chat.completion",
    created: Math.floor((Number.isNaN(at) ? createdAt : at) / 1000),
    model: text(response.modelVersion) ?? model,
    choices: candidates.map((candidate, place) => toChoice(candidate, place, customId)),
    usage: toUsageBody(objectOf(response.usageMetadata)),
  };
}

export function candidatesOf(response: JsonObject): JsonObject[] {
  const candidates: readonly unknown[] = Array.isArray(response.candidates) ? response.candidates : [];
  return candidates.map(jsonObject).filter((candidate) => candidate !== null);
}

function toChoice(candidate: JsonObject, place: number, customId: string): JsonObject {
  const reason = text(candidate.finishReason) ?? "";
  const index = typeof candidate.index === "number" ? candidate.index : place;
  const message = toMessage(candidate, reason, `call_${customId}_${index}`);
  const finish = FINISH_REASONS.get(reason) ?? "stop";
  return {
    index,
    message,
    logprobs: toLogprobs(candidate.logprobsResult),
    finish_reason: finish === "stop" && message.tool_calls !== undefined ? "tool_calls" : finish,
    // Gemini distinguishes more reasons than OpenAI's format.
    native_finish_reason: reason === "" ? null : reason,
  };
}

function toMessage(candidate: JsonObject, reason: string, callId: string): JsonObject {
  const parts = partsOf(candidate);
  const said = parts.filter((part) => typeof part.text === "string" && part.thought !== true);
  const thoughts = parts.flatMap((part) => (part.thought === true ? (text(part.text) ?? []) : []));
  const calls = parts.filter(({ functionCall }) => jsonObject(functionCall) !== null);
  const images = parts.flatMap((part) => (part.thought === true ? [] : toImage(part)));
  const annotations = toAnnotations(candidate.citationMetadata);
  return dropAbsent({
    role: "assistant",
    content: said.length === 0 ? null : said.map((part) => part.text).join(""),
    refusal: PLAIN.has(reason) ? null : refusalOf(candidate, reason),
    reasoning_content: thoughts.length === 0 ? undefined : thoughts.join(""),
    images: images.length === 0 ? undefined : images,
    annotations: annotations.length === 0 ? undefined : annotations,
    tool_calls: calls.length === 0 ? undefined : calls.map((part, place) => toToolCall(part, `${callId}_${place}`)),
    extra_content: signed(said.map(({ thoughtSignature }) => thoughtSignature).findLast((each) => text(each) !== null)),
  });
}

function partsOf(candidate: JsonObject): JsonObject[] {
  const { parts } = objectOf(candidate.content);
  return (Array.isArray(parts) ? (parts as readonly unknown[]) : []).map(jsonObject).filter((part) => part !== null);
}

/**
 * A tool call. Some models give no id; then the id is made from the request and the call's place.
 */
function toToolCall(part: JsonObject, id: string): JsonObject {
  const { id: given, name, args } = objectOf(part.functionCall) as JsonObject;
  return dropAbsent({
    id: text(given) ?? id,
    type: "function",
    function: { name: name ?? "", arguments: jsonText(args ?? {}) },
    extra_content: signed(part.thoughtSignature),
  });
}

function signed(signature: Json | undefined): JsonObject | undefined {
  return text(signature) === null ? undefined : { google: { thought_signature: signature } };
}

/** Images of a model, where OpenRouter and others put them: OpenAI's chat has no field for them. */
function toImage({ inlineData, thoughtSignature }: JsonObject): JsonObject[] {
  const { mimeType, data } = objectOf(inlineData);
  if (text(mimeType) === null || text(data) === null) return [];
  const url = `data:${String(mimeType)};base64,${String(data)}`;
  return [dropAbsent({ type: "image_url", image_url: { url }, extra_content: signed(thoughtSignature) })];
}

function toAnnotations(metadata: Json | undefined): JsonObject[] {
  const { citationSources, citations } = objectOf(metadata);
  const sources: unknown = citationSources ?? citations;
  return (Array.isArray(sources) ? (sources as readonly unknown[]) : []).map((source) => {
    const { startIndex, endIndex, uri, title } = objectOf(source) as JsonObject;
    return {
      type: "url_citation",
      url_citation: { start_index: startIndex ?? 0, end_index: endIndex ?? 0, url: uri ?? "", title: title ?? "" },
    };
  });
}

function refusalOf(candidate: JsonObject, reason: string): string {
  const why = [text(candidate.finishMessage), ...blockedBy(candidate.safetyRatings)].filter((each) => each !== null);
  return `Gemini ended the answer with ${reason}${why.length === 0 ? "" : `: ${why.join(", ")}`}.`;
}

/** The harm categories that blocked a prompt or answer. */
export function blockedBy(ratings: Json | undefined): string[] {
  const list: readonly unknown[] = Array.isArray(ratings) ? ratings : [];
  return list.flatMap((rating) => {
    const { blocked, category, probability } = objectOf(rating);
    return blocked === true ? [`${String(category)} (${String(probability)})`] : [];
  });
}

/** Converts Gemini's LogprobsResult to `logprobs` of a choice in OpenAI's format. */
function toLogprobs(result: Json | undefined): JsonObject | null {
  const { chosenCandidates, topCandidates } = objectOf(result);
  if (!Array.isArray(chosenCandidates)) return null;
  const tops: readonly unknown[] = Array.isArray(topCandidates) ? topCandidates : [];
  const content = chosenCandidates.map((chosen, step) => {
    const { candidates } = objectOf(tops[step]);
    const others: readonly unknown[] = Array.isArray(candidates) ? candidates : [];
    return { ...toToken(chosen), top_logprobs: others.map(toToken) };
  });
  return { content, refusal: null };
}

function toToken(value: unknown): JsonObject {
  const { token, logProbability } = jsonObject(value) ?? {};
  const words = typeof token === "string" ? token : "";
  // Protocol buffer JSON omits zero.
  return { token: words, logprob: logProbability ?? 0, bytes: [...new TextEncoder().encode(words)] };
}
