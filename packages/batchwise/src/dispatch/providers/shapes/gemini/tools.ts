// Converts tools and tool choice to Gemini's Tool and ToolConfig. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { dropAbsent } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { checkKnown, isAbsent } from "./fields.ts";
import { invalid, unsupported } from "./refusal.ts";

export function toTools(tools: Json | undefined): JsonObject[] | undefined {
  if (isAbsent(tools)) return undefined;
  if (!Array.isArray(tools)) throw invalid("`tools` must be an array");
  if (tools.length === 0) return undefined;
  return [{ functionDeclarations: tools.map((tool, index) => toDeclaration(tool, `tools[${index}]`)) }];
}

function toDeclaration(tool: Json, place: string): JsonObject {
  const definition = definitionOf(tool);
  const name = text(definition.name);
  if (objectOf(tool).type !== "function" || name === null) throw unsupported(`\`${place}\` other than a function`);
  checkKnown(place, objectOf(tool) as JsonObject, ["type", "function", "cache_control"]);
  checkKnown(`${place}.function`, definition, ["name", "description", "parameters", "strict"]);
  return dropAbsent({
    name,
    description: definition.description ?? undefined,
    parametersJsonSchema: jsonObject(definition.parameters) ?? undefined,
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
  const { type, function: named, allowed_tools: allowed } = objectOf(choice) as JsonObject;
  if (type === "function" || type === "allowed_tools") {
    checkKnown("tool_choice", objectOf(choice) as JsonObject, ["type", type]);
  }
  if (type === "function") return { mode: "ANY", allowedFunctionNames: [nameOf(named)] };
  if (type !== "allowed_tools") throw unsupported("this `tool_choice`");
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
