// Converts tools and tool choice to Gemini's Tool and ToolConfig. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { listOf } from "../openai/chat-fields.ts";
import { chosenName, functionOf } from "../openai/chat-tools.ts";
import { checkFields, dropAbsent } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { invalid, isAbsent, refuse, unsupported } from "./refusal.ts";

const MARKED = { tool: new Set(["cache_control"]) };
const OF_ALLOWED: ReadonlySet<string> = new Set(["type", "allowed_tools"]);

export function toTools(tools: Json | undefined): JsonObject[] | undefined {
  const list = listOf(tools, "tools", refuse);
  if (list.length === 0) return undefined;
  return [{ functionDeclarations: list.map((tool, index) => toDeclaration(tool, `tools[${index}]`)) }];
}

function toDeclaration(tool: Json, place: string): JsonObject {
  const { name, description, parameters } = functionOf(jsonObject(tool) ?? {}, place, refuse, MARKED);
  return dropAbsent({
    name,
    description: description ?? undefined,
    parametersJsonSchema: jsonObject(parameters) ?? undefined,
  });
}

/**
 * Undefined if Gemini's default equals OpenAI's. A strict function sets the mode VALIDATED: the
 * model still chooses whether to call, and a call keeps to its schema.
 */
export function toToolConfig(choice: Json | undefined, tools: Json | undefined): JsonObject | undefined {
  const known = namesOf(tools);
  const config = toCallingConfig(choice, known.length > 0 && (tools as readonly Json[]).some(isStrict));
  if (config === null) return undefined;
  const { mode, allowedFunctionNames } = config;
  if (known.length === 0) {
    if (mode === "NONE") return undefined;
    throw invalid("`tool_choice` needs `tools`");
  }
  const strange = allowedFunctionNames?.find((name) => !known.includes(name));
  if (strange !== undefined) throw invalid(`\`tool_choice\` names "${strange}", which is not among \`tools\``);
  return { functionCallingConfig: dropAbsent({ mode, allowedFunctionNames }) };
}

interface CallingConfig {
  readonly mode: "ANY" | "NONE" | "VALIDATED";
  readonly allowedFunctionNames?: readonly string[];
}

function toCallingConfig(choice: Json | undefined, isAnyStrict: boolean): CallingConfig | null {
  if (isAbsent(choice) || choice === "auto") return isAnyStrict ? { mode: "VALIDATED" } : null;
  if (choice === "none") return { mode: "NONE" };
  if (choice === "required") return { mode: "ANY" };
  const { type, allowed_tools: allowed } = objectOf(choice) as JsonObject;
  if (type !== "allowed_tools") return { mode: "ANY", allowedFunctionNames: [chosenName(choice, refuse)] };
  checkFields(objectOf(choice) as JsonObject, OF_ALLOWED, "tool_choice", refuse);
  const { mode, tools } = objectOf(allowed) as JsonObject;
  if (!Array.isArray(tools) || (mode !== "auto" && mode !== "required")) throw unsupported("this `tool_choice`");
  return { mode: mode === "required" ? "ANY" : "VALIDATED", allowedFunctionNames: tools.map(definitionOf).map(nameOf) };
}

function namesOf(tools: Json | undefined): (string | null)[] {
  return Array.isArray(tools) ? tools.map((tool) => text(definitionOf(tool).name)) : [];
}

function definitionOf(tool: Json): JsonObject {
  return objectOf(objectOf(tool).function) as JsonObject;
}

function isStrict(tool: Json): boolean {
  return definitionOf(tool).strict === true;
}

function nameOf(named: Json | undefined): string {
  const name = text(objectOf(named).name);
  if (name === null) throw unsupported("this `tool_choice`");
  return name;
}
