// Converts function calls and results in a chat to Gemini's functionCall and functionResponse
// parts. Gemini signs its calls and wants the signatures back; they are in
// `extra_content.google.thought_signature`, as in Google's own OpenAI-compatible API
// (ai.google.dev/gemini-api/docs/thought-signatures). Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { changedNumber } from "../lines/exact-json.ts";
import { checkNumbers } from "../openai/chat.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { checkKnown, isAbsent } from "./fields.ts";
import { invalid, refuse, unsupported } from "./refusal.ts";

/** The documented signature for other models' calls. Models from 3 on refuse a turn without one. */
const UNSIGNED = "skip_thought_signature_validator";
const WANTS_SIGNATURES = /(?:^|\/)gemini-(?:[3-9]|\d\d)/;

/**
 * The calls of an assistant's turn. Stores their names in `calls`, by id, for the results that
 * follow.
 */
export function callParts(
  value: Json | undefined,
  place: string,
  model: string,
  calls: Map<string, string>,
): JsonObject[] {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) throw invalid(`\`${place}.tool_calls\` must be an array`);
  const parts = value.map((call, index) => callPart(call, `${place}.tool_calls[${index}]`, calls));
  const [first] = parts;
  // Of parallel calls, only the first is signed.
  if (first !== undefined && first.thoughtSignature === undefined && WANTS_SIGNATURES.test(model)) {
    parts[0] = { ...first, thoughtSignature: UNSIGNED };
  }
  return parts;
}

function callPart(value: Json, place: string, calls: Map<string, string>): JsonObject {
  const call = objectOf(value) as JsonObject;
  const { name, arguments: given } = objectOf(call.function) as JsonObject;
  const [id, called] = [text(call.id), text(name)];
  if ((call.type ?? "function") !== "function") throw unsupported(`\`${place}\` other than a function`);
  checkKnown(place, call, ["id", "type", "function", "index", "extra_content"]);
  if (id === null || called === null) throw invalid(`\`${place}\` needs an id and a function with a name`);
  calls.set(id, called);
  return dropAbsent({
    functionCall: { id, name: called, args: argumentsOf(given, `${place}.function.arguments`) },
    thoughtSignature: signatureOf(call) ?? undefined,
  });
}

function argumentsOf(given: Json | undefined, place: string): JsonObject {
  const words = text(given);
  if (words === null || words.trim() === "") return {};
  const parsed = parsedObject(words);
  if (parsed === null) throw invalid(`\`${place}\` must be a JSON object in a text`);
  checkNumbers(words, `\`${place}\``, refuse);
  return parsed;
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

function parsedObject(words: string): JsonObject | null {
  try {
    return jsonObject(JSON.parse(words));
  } catch {
    return null;
  }
}

export function signatureOf(owner: JsonObject): string | null {
  return text(objectOf(objectOf(owner.extra_content).google).thought_signature);
}
