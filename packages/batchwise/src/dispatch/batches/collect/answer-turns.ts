// Builds the turns that are appended to a request for its next try: the model's answer, and why it
// was refused. The store keeps them beside the body, which stays as enqueued, and each later line
// appends them, so that a line is the same in every process. Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { jsonObject, objectsOf } from "../../format/json-object.ts";

type Loose = { readonly [name: string]: Json | undefined } | null | undefined;
type Turns = readonly JsonObject[];

/** The field of the body that has its turns, and these turns. */
interface Written {
  readonly field: "messages" | "input" | "contents";
  readonly turns: Turns;
}

/**
 * Turns for the next try, as JSON text; null if the answer is empty or nested too deeply, or if its
 * endpoint has no turns. `answer`: the provider's answer in the format of the endpoint. `why`: a
 * sentence.
 */
export function turnsAfter(endpoint: string, answer: JsonObject, why: string): string | null {
  const reason = `${why} Answer again, in full, without this mistake.`;
  const written = WRITERS[endpoint]?.(answer, reason) ?? null;
  return written === null ? null : textOrNull(written);
}

/** null for an answer that is nested too deeply to be written. */
function textOrNull(written: Written): string | null {
  try {
    return JSON.stringify(written);
  } catch {
    return null;
  }
}

/** The JSON text of a body with turns of `turnsAfter`. */
export function withTurns(body: string, turns: string | null): string {
  if (turns === null) return body;
  const { field, turns: added } = JSON.parse(turns) as Written;
  const whole = JSON.parse(body) as JsonObject;
  return JSON.stringify({ ...whole, [field]: [...turnsOf(whole[field]), ...added] });
}

/** A plain text is the user's turn. */
function turnsOf(given: Json | undefined): readonly Json[] {
  if (Array.isArray(given)) return given;
  if (typeof given === "string") return [{ role: "user", content: given }];
  return given === undefined || given === null ? [] : [given];
}

const WRITERS: Readonly<Record<string, (answer: Loose, reason: string) => Written | null>> = {
  "/v1/chat/completions": ofChat,
  "/v1/responses": ofResponse,
  "/v1/messages": ofMessage,
  "/v1beta/generateContent": ofGemini,
};

/** A call of a tool needs its result, so the reason is the result of each. */
function ofChat(answer: Loose, reason: string): Written | null {
  const { content, tool_calls } = jsonObject(objectsOf(answer?.choices)[0]?.message) ?? {};
  const calls = objectsOf(tool_calls);
  if (calls.length === 0 && !isText(content)) return null;
  const assistant: JsonObject = {
    role: "assistant",
    content: isText(content) ? content : null,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const results = calls.map(({ id = null }) => ({ role: "tool", tool_call_id: id, content: reason }));
  return written("messages", [assistant], results, { role: "user", content: reason });
}

/** Without ids: an item with one needs the reasoning before it, which is not always given. */
function ofResponse(answer: Loose, reason: string): Written | null {
  const own: JsonObject[] = [];
  const results: JsonObject[] = [];
  for (const item of objectsOf(answer?.output)) {
    const { type, content, call_id = null, name = null, arguments: given = null } = item;
    const text = objectsOf(content).map(textOf).join("");
    if (type === "message" && isText(text)) own.push({ role: "assistant", content: text });
    if (type !== "function_call") continue;
    own.push({ type, call_id, name, arguments: given });
    results.push({ type: "function_call_output", call_id, output: reason });
  }
  return written("input", own, results, { role: "user", content: reason });
}

/**
 * Keeps the blocks unchanged, because thinking blocks have signatures. Drops empty texts, which the
 * provider refuses.
 */
function ofMessage(answer: Loose, reason: string): Written | null {
  const content = objectsOf(answer?.content).filter(({ type, text }) => type !== "text" || isText(text));
  if (!content.some(({ type }) => type === "text" || type === "tool_use")) return null;
  const results = content
    .filter(({ type }) => type === "tool_use")
    .map(({ id = null }) => ({ type: "tool_result", tool_use_id: id, is_error: true, content: reason }));
  const user = results.length === 0 ? reason : results;
  return written("messages", [{ role: "assistant", content }], [{ role: "user", content: user }]);
}

/** The parts as they are: some have signatures. */
function ofGemini(answer: Loose, reason: string): Written | null {
  const { parts } = jsonObject(objectsOf(answer?.candidates)[0]?.content) ?? {};
  const own = objectsOf(parts);
  const calls = own.map(({ functionCall }) => jsonObject(functionCall)).filter((call) => call !== null);
  if (calls.length === 0 && !own.some(({ text }) => isText(text))) return null;
  const results = calls.map(({ id, name = null }) => ({
    functionResponse: { ...(id === undefined ? {} : { id }), name, response: { error: reason } },
  }));
  const user: JsonObject[] = results.length === 0 ? [{ text: reason }] : results;
  return written("contents", [{ role: "model", parts: own }], [{ role: "user", parts: user }]);
}

/** `user`: the turn where there is no result of a tool. Null without a turn of the model. */
function written(field: Written["field"], own: Turns, results: Turns, user?: JsonObject): Written | null {
  if (own.length === 0) return null;
  const replies = results.length === 0 && user !== undefined ? [user] : results;
  return { field, turns: [...own, ...replies] };
}

function textOf({ text }: JsonObject): string {
  return typeof text === "string" ? text : "";
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string" && value.trim() !== "";
}
