// Reads the functions, the choice of one and the answer's format of a chat in OpenAI's format.
// Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { checkFields, type Refusals } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";

const TOOL: ReadonlySet<string> = new Set(["type", "function"]);
const DEFINITION: ReadonlySet<string> = new Set(["name", "description", "parameters", "strict"]);
const FORMAT: ReadonlySet<string> = new Set(["type"]);
const SCHEMA_FORMAT: ReadonlySet<string> = new Set(["type", "json_schema"]);
const SCHEMA: ReadonlySet<string> = new Set(["name", "description", "schema", "strict"]);

/** A tool's definition, which has a name. `own`: the service's fields beside OpenAI's. */
export function functionOf(
  tool: JsonObject,
  place: string,
  refuse: Refusals,
  own: { readonly tool?: ReadonlySet<string>; readonly definition?: ReadonlySet<string> } = {},
): JsonObject {
  const definition = jsonObject(tool.function) ?? {};
  if (tool.type !== "function") throw refuse.unsupported(`\`${place}\` other than a function`);
  if (text(definition.name) === null) throw refuse.invalid(`\`${place}.function.name\` is missing`);
  checkFields(tool, TOOL, place, refuse, own.tool);
  checkFields(definition, DEFINITION, `${place}.function`, refuse, own.definition);
  return definition;
}

/** The name in a `tool_choice` of one function. */
export function chosenName(choice: Json, refuse: Refusals): string {
  const { type, function: named } = objectOf(choice);
  const name = text(objectOf(named).name);
  if (type !== "function" || name === null) throw refuse.unsupported("this `tool_choice`");
  checkFields(objectOf(choice) as JsonObject, TOOL, "tool_choice", refuse);
  return name;
}

/** What an answer has to be: any text if null, a JSON object, or one by a schema. */
export type Format = null | "json_object" | { readonly schema: JsonObject; readonly named: JsonObject };

/** Reads `response_format`. */
export function formatOf({ response_format: format = null }: JsonObject, refuse: Refusals): Format {
  if (format === null) return null;
  const source = jsonObject(format) ?? {};
  const { type, json_schema: given } = source;
  const named = jsonObject(given) ?? {};
  checkFields(source, type === "json_schema" ? SCHEMA_FORMAT : FORMAT, "response_format", refuse);
  checkFields(named, SCHEMA, "response_format.json_schema", refuse);
  if (type === "text") return null;
  if (type === "json_object") return type;
  if (type !== "json_schema") throw refuse.unsupported(`\`response_format\` ${JSON.stringify(type ?? null)}`);
  const schema = jsonObject(named.schema);
  if (schema === null) throw refuse.invalid("`response_format.json_schema` must have a `schema`");
  return { schema, named };
}
