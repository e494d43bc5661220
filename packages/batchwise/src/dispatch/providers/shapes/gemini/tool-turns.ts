// Converts function calls and results in a chat to Gemini's functionCall and functionResponse
// parts. Gemini signs its calls and wants the signatures back; they are in
// `extra_content.google.thought_signature`, as in Google's own OpenAI-compatible API
// (ai.google.dev/gemini-api/docs/thought-signatures). Pure.

import type { JsonObject } from "../../../contract/types.ts";
import { changedNumber } from "../lines/exact-json.ts";
import { argumentsOf, type ChatRules, callsOf, parsedObject } from "../openai/chat.ts";
import { dropAbsent } from "../refusals.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";
import { invalid, refuse } from "./refusal.ts";

/** The documented signature for other models' calls. Models from 3 on refuse a turn without one. */
const UNSIGNED = "skip_thought_signature_validator";
const WANTS_SIGNATURES = /(?:^|\/)gemini-(?:[3-9]|\d\d)/;

/**
 * The calls of an assistant's turn. Stores their names in `calls`, by id, for the results that
 * follow.
 */
export function callParts(
  message: JsonObject,
  place: string,
  rules: ChatRules,
  model: string,
  calls: Map<string, string>,
): JsonObject[] {
  const parts = callsOf(message, place, rules).map((call): JsonObject => {
    const { id, name, source } = call;
    calls.set(id, name);
    const functionCall = { id, name, args: argumentsOf(call, refuse) };
    return dropAbsent({ functionCall, thoughtSignature: signatureOf(source) ?? undefined });
  });
  const [first] = parts;
  // Of parallel calls, only the first is signed.
  if (first !== undefined && first.thoughtSignature === undefined && WANTS_SIGNATURES.test(model)) {
    parts[0] = { ...first, thoughtSignature: UNSIGNED };
  }
  return parts;
}

/**
 * A JSON object is sent as such, unless a number in it would change. Any other text goes under
 * `output`, where Gemini looks for it.
 */
export function resultPart(
  message: JsonObject,
  words: string,
  place: string,
  calls: ReadonlyMap<string, string>,
): JsonObject {
  const id = text(message.tool_call_id);
  const name = id === null ? undefined : calls.get(id);
  if (name === undefined) throw invalid(`\`${place}.tool_call_id\` must be the id of a call before it`);
  const given = changedNumber(words) === null ? parsedObject(words) : null;
  return { functionResponse: { id, name, response: given ?? { output: words } } };
}

export function signatureOf(owner: JsonObject): string | null {
  return text(objectOf(objectOf(owner.extra_content).google).thought_signature);
}
