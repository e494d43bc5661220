// The words of an answer, at the endpoints whose answers have some. Pure.

import type { JsonObject } from "../../contract/types.ts";

/** What an answer says. */
export type AnswerText =
  | { readonly kind: "text"; readonly text: string }
  /** The arguments of its one tool call, if the provider gives them as JSON and not as text. */
  | { readonly kind: "value"; readonly value: unknown }
  /** Cut by its length, or a refusal: another try would end the same. */
  | { readonly kind: "final"; readonly why: string }
  | { readonly kind: "none"; readonly why: string };

type Loose = { readonly [name: string]: unknown } | null | undefined;

const ENDPOINTS: readonly string[] = [
  "/v1/chat/completions",
  "/v1/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1beta/generateContent",
];

/** True if `answerText` can read the answers of this endpoint. */
export function hasText(endpoint: string): boolean {
  return ENDPOINTS.includes(endpoint);
}

/** The text of an answer from one of these endpoints. The form of the answer shows from which. */
export function answerText(body: JsonObject): AnswerText {
  if (Array.isArray(body.output)) return ofResponse(body);
  if (Array.isArray(body.content)) return ofMessage(body);
  if (body.candidates !== undefined || body.promptFeedback !== undefined) return ofGemini(body);
  return typeof first(body.choices)?.text === "string" ? ofCompletion(body) : ofChat(body);
}

/** The value that the answer's JSON stands for, or why there is none. */
export function answerValue(body: JsonObject): Exclude<AnswerText, { readonly kind: "text" }> {
  const answer = answerText(body);
  if (answer.kind !== "text") return answer;
  try {
    return { kind: "value", value: JSON.parse(FENCED.exec(answer.text)?.groups?.json ?? answer.text) };
  } catch (error) {
    return none(`The answer is not JSON: ${(error as Error).message}.`);
  }
}

/** Models often put JSON into one Markdown fence. */
const FENCED = /^\s*```(?:json)?\s*\n(?<json>[\s\S]*?)\n\s*```\s*$/i;

const CUT: AnswerText = { kind: "final", why: "The answer was cut by its limit of tokens." };
const REFUSAL: AnswerText = { kind: "final", why: "The model refused to answer." };

function none(why: string): { readonly kind: "none"; readonly why: string } {
  return { kind: "none", why };
}

function ofChat(body: Loose): AnswerText {
  const choice = first(body?.choices);
  const message = choice?.message as Loose;
  if (choice?.finish_reason === "length") return CUT;
  if (choice?.finish_reason === "content_filter" || isText(message?.refusal)) return REFUSAL;
  const calls = list(message?.tool_calls).map((call) => (call?.function as Loose)?.arguments);
  return textOr(calls, message?.content);
}

function ofCompletion(body: Loose): AnswerText {
  const choice = first(body?.choices);
  if (choice?.finish_reason === "length") return CUT;
  if (choice?.finish_reason === "content_filter") return REFUSAL;
  return textOr([], choice?.text);
}

function ofResponse(body: Loose): AnswerText {
  const output = list(body?.output);
  const parts = output.filter((item) => item?.type === "message").flatMap((item) => list(item?.content));
  if (parts.some((part) => part?.type === "refusal")) return REFUSAL;
  const reason = (body?.incomplete_details as Loose)?.reason;
  if (reason === "content_filter") return REFUSAL;
  if (body?.status === "incomplete") return CUT;
  const calls = output.filter((item) => item?.type === "function_call").map((item) => item?.arguments);
  return textOr(calls, joined(parts));
}

function ofMessage(body: Loose): AnswerText {
  if (body?.stop_reason === "max_tokens" || body?.stop_reason === "model_context_window_exceeded") return CUT;
  if (body?.stop_reason === "refusal") return REFUSAL;
  const parts = list(body?.content);
  const calls = parts.filter((part) => part?.type === "tool_use").map((part) => part?.input);
  return textOr(calls, joined(parts));
}

function ofGemini(body: Loose): AnswerText {
  const candidate = first(body?.candidates);
  if (candidate?.finishReason === "MAX_TOKENS") return CUT;
  const reason = candidate?.finishReason ?? (body?.promptFeedback as Loose)?.blockReason;
  if (isText(reason) && !["STOP", "FINISH_REASON_UNSPECIFIED", "MALFORMED_FUNCTION_CALL"].includes(reason)) {
    return REFUSAL;
  }
  const parts = list((candidate?.content as Loose)?.parts).filter((part) => part?.thought !== true);
  const calls = parts.flatMap((part) => (part?.functionCall === undefined ? [] : [(part.functionCall as Loose)?.args]));
  return textOr(calls, joined(parts));
}

/** The one tool call, or the text. */
function textOr(calls: readonly unknown[], text: unknown): AnswerText {
  if (calls.length > 1) return none(`The answer has ${calls.length} tool calls, and one was expected.`);
  const [call] = calls;
  if (isText(call)) return { kind: "text", text: call };
  if (call !== undefined) return { kind: "value", value: call };
  return isText(text) ? { kind: "text", text } : none("The answer has no text and no tool call.");
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function joined(parts: readonly Loose[]): string {
  return parts.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}

function list(value: unknown): readonly Loose[] {
  return Array.isArray(value) ? (value as readonly Loose[]) : [];
}

function first(value: unknown): Loose {
  return list(value)[0];
}
