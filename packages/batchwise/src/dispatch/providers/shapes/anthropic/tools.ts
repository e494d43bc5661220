// Converts tools and tool choice from OpenAI's format to Claude's (ToolUnion and ToolChoice of SDK
// 1.11). Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { listOf } from "../openai/chat-fields.ts";
import { chosenName, functionOf } from "../openai/chat-tools.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject, text } from "../sdk/sdk-error.ts";
import { refuse } from "./refuse.ts";

/** Claude's own fields of a tool, which may stand beside `function`. */
const OWN_FIELDS = ["allowed_callers", "defer_loading", "eager_input_streaming", "input_examples"];
const OWN = { tool: new Set(["cache_control", ...OWN_FIELDS]), definition: new Set(["cache_control"]) };
/** Anthropic's own tools have a version date in their names, such as "web_search_20250305". */
const DATED = /_\d{8}$/;

export function toTools(tools: Json | undefined): JsonObject[] | undefined {
  const list = listOf(tools, "tools", refuse);
  if (list.length === 0) return undefined;
  return list.map((tool, index) => toTool(jsonObject(tool) ?? {}, `tools[${index}]`));
}

function toTool(tool: JsonObject, place: string): JsonObject {
  if (isOwn(tool)) return tool;
  const definition = functionOf(tool, place, refuse, OWN);
  return dropAbsent({
    name: definition.name,
    description: definition.description ?? undefined,
    input_schema: { type: "object", ...(jsonObject(definition.parameters) ?? { properties: {} }) },
    strict: definition.strict === true ? true : undefined,
    ...Object.fromEntries(OWN_FIELDS.map((name) => [name, tool[name] ?? undefined])),
    cache_control: tool.cache_control ?? definition.cache_control ?? undefined,
  });
}

/** True for a tool in Claude's format, which is kept. */
function isOwn(tool: JsonObject): boolean {
  if (tool.function !== undefined) return false;
  const type = text(tool.type) ?? "";
  return jsonObject(tool.input_schema) !== null || DATED.test(type) || type === "mcp_toolset";
}

/** `any`: there are tools. Without tools, "auto" and "none" have no effect. */
export function toToolChoice(choice: Json | undefined, oneAtATime: boolean, any: boolean): JsonObject | undefined {
  if (!any) {
    if (choice === undefined || choice === "auto" || choice === "none") return undefined;
    throw refuse.invalid("`tool_choice` needs `tools`");
  }
  const single = oneAtATime ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined) return oneAtATime ? { type: "auto", ...single } : undefined;
  if (choice === "none") return { type: "none" };
  if (choice === "auto") return { type: "auto", ...single };
  if (choice === "required") return { type: "any", ...single };
  return { type: "tool", name: chosenName(choice, refuse), ...single };
}
