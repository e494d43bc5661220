// Converts a chat request from OpenAI's format to Mistral's: most fields are equal, some have
// another name, some do not exist. Refuses by name each field without a counterpart that would
// change the answer, and omits hints that cannot. Fields: ChatCompletionRequest of
// @mistralai/mistralai 2.7.0. Pure and deterministic.

import type { Json, JsonObject } from "../../contract/types.ts";
import { checkChatFields } from "../shapes/openai/chat-fields.ts";
import { dropAbsent } from "../shapes/refusals.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { toMessages } from "./messages.ts";
import { invalid, isGiven, refuse, refuseFields, unsupported } from "./refusal.ts";

/** Converted below, to another name or form. */
const CONVERTED: readonly string[] = [
  ...["model", "messages", "max_tokens", "max_completion_tokens", "seed", "prediction"],
  ...["response_format", "reasoning_effort", "tools", "tool_choice"],
];
/** Equal in both formats. */
const SAME: readonly string[] = [
  ...["temperature", "top_p", "frequency_penalty", "presence_penalty", "n", "stop"],
  ...["parallel_tool_calls", "metadata", "prompt_cache_key"],
];
/** Mistral's own fields, sent unchanged. */
const OWN: readonly string[] = ["random_seed", "prompt_mode", "guardrails", "safe_prompt"];
/** They set user and billing, not the answer. */
const LEFT_OUT: readonly string[] = ["user", "safety_identifier", "service_tier"];
const KNOWN: ReadonlySet<string> = new Set([...CONVERTED, ...SAME, ...OWN, ...LEFT_OUT]);

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
    response_format: toFormat(given("response_format")),
    reasoning_effort: toEffort(given("reasoning_effort")),
    tools: toTools(given("tools")),
    tool_choice: toToolChoice(given("tool_choice")),
    prediction: toPrediction(given("prediction")),
  });
}

function toFormat(format: Json | undefined): JsonObject | undefined {
  if (format === undefined) return undefined;
  const source = jsonObject(format) ?? {};
  refuseFields("response_format.", source, ["type", ...(source.type === "json_schema" ? ["json_schema"] : [])]);
  if (source.type === "text" || source.type === "json_object") return { type: source.type };
  if (source.type !== "json_schema") throw unsupported(`\`response_format\` ${JSON.stringify(source.type ?? null)}`);
  const named = jsonObject(source.json_schema) ?? {};
  refuseFields("response_format.json_schema.", named, ["name", "description", "schema", "strict"]);
  if (text(named.name) === null || jsonObject(named.schema) === null) {
    throw invalid("`response_format.json_schema` must have a `name` and a `schema`");
  }
  return { type: "json_schema", json_schema: named };
}

function toEffort(effort: Json | undefined): Json | undefined {
  if (effort === undefined || EFFORTS.includes(effort)) return effort;
  throw unsupported(`\`reasoning_effort\` ${JSON.stringify(effort)}`);
}

function toTools(tools: Json | undefined): JsonObject[] | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools)) throw invalid("`tools` must be an array");
  const converted = tools.map((tool: Json, index) => toTool(jsonObject(tool) ?? {}, `tools[${index}]`));
  return converted.length === 0 ? undefined : converted;
}

function toTool(tool: JsonObject, place: string): JsonObject {
  if (isGiven(tool.type) && OWN_TOOLS.includes(tool.type)) return tool;
  const definition = jsonObject(tool.function) ?? {};
  if (tool.type !== "function") throw unsupported(`\`${place}\` of type ${JSON.stringify(tool.type ?? null)}`);
  refuseFields(`${place}.`, tool, ["type", "function"]);
  if (text(definition.name) === null) throw invalid(`\`${place}.function.name\` is missing`);
  refuseFields(`${place}.function.`, definition, ["name", "description", "parameters", "strict"]);
  const { name, description, parameters, strict } = definition;
  // Mistral requires parameters. For OpenAI a function without them has none.
  const schema = jsonObject(parameters) ?? { type: "object", properties: {} };
  const given = { name, description: description ?? undefined, strict: strict ?? undefined, parameters: schema };
  return { type: "function", function: dropAbsent(given) };
}

/** "required" is Mistral's newer name of "any". */
function toToolChoice(choice: Json | undefined): Json | undefined {
  if (choice === undefined || choice === "auto" || choice === "none" || choice === "any") return choice;
  if (choice === "required") return "any";
  const { type, function: named } = objectOf(choice);
  const name = text(objectOf(named).name);
  if (type !== "function" || name === null) throw unsupported(`\`tool_choice\` ${JSON.stringify(choice)}`);
  refuseFields("tool_choice.", objectOf(choice) as JsonObject, ["type", "function"]);
  return { type: "function", function: { name } };
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
