// Converts a chat request from OpenAI's format to Nova's (Nova user guides 1 and 2, "Complete
// request schema"). Refuses by name each field without a counterpart that would change the answer;
// a test compares the lists with the official types. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import {
  CHAT_FIELDS,
  checkChatFields,
  checkSampling,
  limitOf,
  listOf,
  stopsOf,
} from "../../shapes/openai/chat-fields.ts";
import { chosenName, functionOf } from "../../shapes/openai/chat-tools.ts";
import { dropAbsent } from "../../shapes/refusals.ts";
import { jsonObject, objectOf } from "../../shapes/sdk/sdk-error.ts";
import { refuse } from "./refuse.ts";
import { toNovaConversation } from "./turns.ts";

const SCHEMA = "messages-v1";

/** `top_k` is Nova's own. */
const KNOWN: ReadonlySet<string> = new Set([...CHAT_FIELDS, "parallel_tool_calls", "top_k"]);
/** Nova caches the beginning of prompts automatically, so marks are ignored. */
const MARKS: ReadonlySet<string> = new Set(["cache_control"]);
const MARKED = { tool: MARKS, definition: MARKS };

/** Nova 2 has three efforts. */
const EFFORTS: ReadonlyMap<Json, string> = new Map([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
]);

/** Throws INVALID_REQUEST, naming the path, for a field that Nova does not support. */
export function toNovaRequest(body: JsonObject): JsonObject {
  checkChatFields(body, KNOWN, refuse);
  checkSampling(body, refuse);
  const { response_format: format = null } = body;
  if (format !== null && objectOf(format).type !== "text") throw refuse.unsupported("`response_format`");
  const { system, messages } = toNovaConversation(body.messages);
  const inference = dropAbsent({
    maxTokens: limitOf(body),
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    topK: body.top_k ?? undefined,
    stopSequences: stopsOf(body, refuse),
    reasoningConfig: toReasoning(body.reasoning_effort ?? null),
  });
  return dropAbsent({
    schemaVersion: SCHEMA,
    system: system.length === 0 ? undefined : system,
    messages,
    inferenceConfig: Object.keys(inference).length === 0 ? undefined : inference,
    toolConfig: toToolConfig(body),
  });
}

function toReasoning(effort: Json): JsonObject | undefined {
  if (effort === null) return undefined;
  if (effort === "none") return { type: "disabled" };
  const known = EFFORTS.get(effort);
  if (known === undefined) throw refuse.unsupported(`\`reasoning_effort\` ${JSON.stringify(effort)}`);
  return { type: "enabled", maxReasoningEffort: known };
}

function toToolConfig(body: JsonObject): JsonObject | undefined {
  const { tools, tool_choice: choice = null, parallel_tool_calls: parallel } = body;
  const isAsked = choice !== null && choice !== "auto" && choice !== "none";
  const list = listOf(tools, "tools", refuse);
  if (list.length === 0) {
    if (isAsked) throw refuse.invalid("`tool_choice` needs `tools`");
    return undefined;
  }
  if (parallel === false) throw refuse.unsupported("`parallel_tool_calls: false`");
  if (choice === "none") throw refuse.unsupported('`tool_choice` "none" (leave `tools` out)');
  return dropAbsent({
    tools: list.map((tool, index) => toTool(jsonObject(tool) ?? {}, `tools[${index}]`)),
    toolChoice: choice === null ? undefined : toToolChoice(choice),
  });
}

function toTool(tool: JsonObject, place: string): JsonObject {
  const { name, description, parameters, strict } = functionOf(tool, place, refuse, MARKED);
  if (strict === true) throw refuse.unsupported(`\`${place}.function.strict\``);
  const json = { type: "object", ...(jsonObject(parameters) ?? { properties: {} }) };
  return { toolSpec: dropAbsent({ name, description: description ?? undefined, inputSchema: { json } }) };
}

function toToolChoice(choice: Json): JsonObject {
  if (choice === "auto") return { auto: {} };
  if (choice === "required") return { any: {} };
  return { tool: { name: chosenName(choice, refuse) } };
}
