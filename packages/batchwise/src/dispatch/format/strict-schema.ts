// OpenAI's rules for `strict: true`, as documented: every object is closed and requires all of its
// properties, and only some keywords are known. Pure.
// https://platform.openai.com/docs/guides/structured-outputs

import type { Json, JsonObject } from "../contract/types.ts";

const KEYWORDS: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const"],
  ...["$ref", "$defs", "definitions", "title", "description", "format"],
  ...["pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["minItems", "maxItems"],
]);
/** Keywords that Claude refuses. */
const BOUNDS: readonly string[] = [
  ...["pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["minItems", "maxItems", "uniqueItems", "minLength", "maxLength"],
];
/** Keywords whose values are schemas, lists of them, and schemas by name. */
const SINGLE: readonly string[] = ["items", "additionalProperties", "not"];
const LISTS: readonly string[] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: readonly string[] = ["properties", "patternProperties", "$defs", "definitions"];
const FORMATS: readonly Json[] = [
  ...["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
];
const DEEPEST = 10;
const MOST_PROPERTIES = 5_000;

/** True if the schema meets the rules. */
export function isStrict(schema: JsonObject): boolean {
  return schema.type === "object" && new Rules().allow(schema);
}

class Rules {
  #properties = 0;

  allow(schema: JsonObject): boolean {
    return this.#meets(schema, 0) && this.#properties <= MOST_PROPERTIES;
  }

  #meets(schema: Json | undefined, depth: number): boolean {
    const whole = objectOf(schema);
    if (whole === null || depth > DEEPEST) return false;
    if (!Object.keys(whole).every((keyword) => KEYWORDS.has(keyword))) return false;
    if (whole.format !== undefined && !FORMATS.includes(whole.format)) return false;
    if (Array.isArray(whole.type) && whole.type.includes("object")) return false;
    if (whole.type === "object" && !this.#isWholeObject(whole)) return false;
    return partsOf(whole).every((part) => this.#meets(part, depth + 1));
  }

  /** Closed, with all properties required. */
  #isWholeObject({ properties, required, additionalProperties }: JsonObject): boolean {
    const names = Object.keys(objectOf(properties) ?? {});
    this.#properties += names.length;
    const needed: readonly Json[] = Array.isArray(required) ? required : [];
    return additionalProperties === false && names.every((name) => needed.includes(name));
  }
}

function partsOf({ properties, $defs, definitions, anyOf, items }: JsonObject): readonly (Json | undefined)[] {
  const named = [properties, $defs, definitions].flatMap((parts) => Object.values(objectOf(parts) ?? {}));
  return [...named, ...(Array.isArray(anyOf) ? anyOf : []), ...(items === undefined ? [] : [items])];
}

/**
 * The schema with every object closed that says nothing about further properties. A model is asked
 * for no others, and its answers pass the open schema too.
 */
export function closed(schema: JsonObject): JsonObject {
  return mapped(schema, (whole) => {
    const isOpen = whole.type === "object" && objectOf(whole.properties) !== null;
    return isOpen && whole.additionalProperties === undefined ? { ...whole, additionalProperties: false } : whole;
  });
}

/** The schema without bounds of texts, numbers and arrays: a check of the answers has these. */
export function withoutBounds(schema: JsonObject): JsonObject {
  return mapped(schema, (whole) =>
    Object.fromEntries(Object.entries(whole).filter(([name]) => !BOUNDS.includes(name))),
  );
}

/** Changes a schema and all schemas in it. */
function mapped(schema: JsonObject, change: (whole: JsonObject) => JsonObject): JsonObject {
  const inner = (value: Json | undefined): Json | undefined => {
    const whole = objectOf(value);
    return whole === null ? value : mapped(whole, change);
  };
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (Array.isArray(value) && LISTS.includes(keyword)) return [keyword, value.map((part) => inner(part) ?? null)];
    if (SINGLE.includes(keyword)) return [keyword, inner(value)];
    const parts = NAMED.includes(keyword) ? objectOf(value) : null;
    if (parts === null) return [keyword, value];
    return [keyword, Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, inner(part)]))];
  });
  return change(Object.fromEntries(entries) as JsonObject);
}

function objectOf(value: Json | undefined): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}
