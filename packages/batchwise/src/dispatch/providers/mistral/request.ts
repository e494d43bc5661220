// Converts a chat request from OpenAI's format to Mistral's: most fields are equal, some have
// another name, some do not exist. Refuses by name each field without a counterpart that would
// change the answer, and omits hints that cannot. Fields: ChatCompletionRequest of
// @mistralai/mistralai 2.7.0. Pure and deterministic.

import type { Json, JsonObject } from "../../contract/types.ts";
import { CHAT_FIELDS, checkChatFields, listOf } from "../shapes/openai/chat-fields.ts";
import { chosenName, formatOf, functionOf } from "../shapes/openai/chat-tools.ts";
import { dropAbsent } from "../shapes/refusals.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { toMessages } from "./messages.ts";
import { invalid, isGiven, refuse, unsupported } from "./refusal.ts";

/** Equal in both formats. */
const SAME: readonly string[] = [
  ...["temperature", "top_p", "frequency_penalty", "presence_penalty", "n", "stop"],
  ...["parallel_tool_calls", "metadata", "prompt_cache_key"],
];
/** Mistral's own fields, sent unchanged. */
const OWN: readonly string[] = ["random_seed", "prompt_mode", "guardrails", "safe_prompt"];
const KNOWN: ReadonlySet<string> = new Set([...CHAT_FIELDS, "seed", "prediction", ...SAME, ...OWN]);

const EFFORTS: readonly Json[] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const OWN_TOOLS: readonly Json[] = [
  ...["web_search", "web_search_premium", "code_interpreter", "image_generation", "document_library", "connector"],
];

/** Throws INVALID_REQUEST, naming the path, for a field that Mistral does not support. */
export function toChatRequest(body: JsonObject): JsonObject {
  checkChatFields(body, KNOWN, refuse);
  const given = (name: string): Json | undefined => body[name] ?? undefined;
  const seed = given("seed");
  const as = (names: readonly string[]): JsonObject => Object.fromEntries(names.map((name) => [name, given(name)]));
  return dropAbsent({
    model: body.model,
    messages: toMessages(body.messages),
    max_tokens: given("max_completion_tokens") ?? given("max_tokens"),
    ...as(SAME),
    ...as(OWN),
    ...(seed === undefined ? {} : { random_seed: seed }),
    response_format: toFormat(body),
    reasoning_effort: toEffort(given("reasoning_effort")),
    tools: toTools(body.tools),
    tool_choice: toToolChoice(given("tool_choice")),
    prediction: toPrediction(given("prediction")),
  });
}

function toFormat(body: JsonObject): JsonObject | undefined {
  if (!isGiven(body.response_format)) return undefined;
  const format = formatOf(body, refuse);
  if (format === null || format === "json_object") return { type: format ?? "text" };
  const { named } = format;
  if (text(named.name) === null) throw invalid("`response_format.json_schema` must have a `name`");
  return { type: "json_schema", json_schema: named };
}

function toEffort(effort: Json | undefined): Json | undefined {
  if (effort === undefined || EFFORTS.includes(effort)) return effort;
  throw unsupported(`\`reasoning_effort\` ${JSON.stringify(effort)}`);
}

function toTools(tools: Json | undefined): JsonObject[] | undefined {
  const list = listOf(tools, "tools", refuse);
  return list.length === 0 ? undefined : list.map((tool, index) => toTool(jsonObject(tool) ?? {}, `tools[${index}]`));
}

function toTool(tool: JsonObject, place: string): JsonObject {
  if (isGiven(tool.type) && OWN_TOOLS.includes(tool.type)) return tool;
  const { name, description, parameters, strict } = functionOf(tool, place, refuse);
  // Mistral requires parameters. For OpenAI a function without them has none.
  const schema = jsonObject(parameters) ?? { type: "object", properties: {} };
  const given = { name, description: description ?? undefined, strict: strict ?? undefined, parameters: schema };
  return { type: "function", function: dropAbsent(given) };
}

/** "required" is Mistral's newer name of "any". */
function toToolChoice(choice: Json | undefined): Json | undefined {
  if (choice === undefined || choice === "auto" || choice === "none" || choice === "any") return choice;
  if (choice === "required") return "any";
  return { type: "function", function: { name: chosenName(choice, refuse) } };
}

function toPrediction(prediction: Json | undefined): JsonObject | undefined {
  if (prediction === undefined) return undefined;
  const { type, content } = objectOf(prediction);
  const parts: readonly unknown[] = Array.isArray(content) ? content : [{ type: "text", text: content }];
  const words = parts.map((part) => (objectOf(part).type === "text" ? objectOf(part).text : null));
  if (type !== "content" || !words.every((each) => typeof each === "string")) {
    throw unsupported("a `prediction` other than text");
  }
  return { type: "content", content: words.join("") };
}
