// OpenAI's rules for `strict: true`, as documented: every object is closed and requires all of its
// properties, every part has a type, and only some keywords are known. Pure.
// https://platform.openai.com/docs/guides/structured-outputs

import type { Json, JsonObject } from "../../contract/types.ts";
import { jsonObject } from "../../format/json-object.ts";

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
/** An object with one of these, or with properties beside one of SHARED, has further properties. */
const COMBINED: readonly string[] = ["allOf", "not", "if", "dependentSchemas"];
const SHARED: readonly string[] = ["anyOf", "oneOf", "$ref"];
/** No provider reads a pattern that looks ahead or behind. */
const LOOKAROUND = /\(\?<?[=!]/;
const DEEPEST = 10;
const MOST_PROPERTIES = 5_000;
const MOST_ENUM_VALUES = 1_000;
/** Total characters of all names, enum values and constants. */
const MOST_CHARACTERS = 120_000;
/** An enum of more values than the first has at most the second many characters. */
const LONG_ENUM = { values: 250, characters: 15_000 } as const;

/** True if the schema meets the rules. */
export function isStrict(schema: JsonObject): boolean {
  return schema.type === "object" && new Rules().allow(schema);
}

class Rules {
  #properties = 0;
  #enumValues = 0;
  #characters = 0;

  allow(schema: JsonObject): boolean {
    if (!this.#meets(schema, 0) || this.#properties > MOST_PROPERTIES) return false;
    return this.#enumValues <= MOST_ENUM_VALUES && this.#characters <= MOST_CHARACTERS;
  }

  #meets(schema: Json | undefined, depth: number): boolean {
    const whole = jsonObject(schema);
    if (whole === null || depth > DEEPEST) return false;
    if (whole.$ref !== undefined) return Object.keys(whole).length === 1;
    const parts = partsOf(whole);
    return hasKnownKeywords(whole) && this.#count(whole) && parts.every((part) => this.#meets(part, depth + 1));
  }

  /** False for an enum that is too long by itself. */
  #count({ properties, $defs, definitions, enum: listed, const: constant }: JsonObject): boolean {
    this.#properties += Object.keys(jsonObject(properties) ?? {}).length;
    const names = [properties, $defs, definitions].flatMap((parts) => Object.keys(jsonObject(parts) ?? {}));
    const values = Array.isArray(listed) ? listed : [];
    const characters = charactersOf(values);
    this.#enumValues += values.length;
    this.#characters += characters + charactersOf(constant === undefined ? names : [...names, constant]);
    return values.length <= LONG_ENUM.values || characters <= LONG_ENUM.characters;
  }
}

function charactersOf(values: readonly Json[]): number {
  return values.reduce<number>((sum, value) => sum + String(value).length, 0);
}

/** Known keywords with a type: of objects, closed ones that require all properties. */
function hasKnownKeywords(whole: JsonObject): boolean {
  const { type, anyOf, items, format } = whole;
  if (!Object.keys(whole).every((keyword) => KEYWORDS.has(keyword))) return false;
  if (type === undefined && anyOf === undefined) return false;
  if (format !== undefined && !FORMATS.includes(format)) return false;
  if (Array.isArray(type) && type.includes("object")) return false;
  if ([type].flat().includes("array") && items === undefined) return false;
  return type !== "object" || isWholeObject(whole);
}

/** Closed, with all properties required. */
function isWholeObject({ properties, required, additionalProperties }: JsonObject): boolean {
  const needed: readonly Json[] = Array.isArray(required) ? required : [];
  const names = Object.keys(jsonObject(properties) ?? {});
  return additionalProperties === false && names.every((name) => needed.includes(name));
}

/** True if a `$ref` reaches itself. */
export function isRecursive(schema: JsonObject): boolean {
  const done = new Set<string>();
  const reaches = (part: Json | undefined, open: readonly string[]): boolean => {
    const whole = jsonObject(part);
    if (whole === null) return false;
    const ref = typeof whole.$ref === "string" ? whole.$ref : null;
    if (ref !== null && open.includes(ref)) return true;
    if (ref !== null && !done.has(ref)) {
      if (reaches(targetOf(schema, ref), [...open, ref])) return true;
      done.add(ref);
    }
    return partsOf(whole).some((inner) => reaches(inner, open));
  };
  return reaches(schema, []);
}

function targetOf(schema: JsonObject, ref: string): Json | undefined {
  const names = ref.split("/").slice(1);
  const spelled = names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  return spelled.reduce<Json | undefined>((part, name) => jsonObject(part)?.[name], schema);
}

function partsOf({ properties, $defs, definitions, anyOf, items }: JsonObject): readonly (Json | undefined)[] {
  const named = [properties, $defs, definitions].flatMap((parts) => Object.values(jsonObject(parts) ?? {}));
  return [...named, ...(Array.isArray(anyOf) ? anyOf : []), ...(items === undefined ? [] : [items])];
}

/**
 * Closes every object of the schema that says nothing about further properties, and drops patterns
 * that no provider reads. The model then returns no other properties, and its answers pass the open
 * schema too. If schemas are combined, all objects stay open: a closed object would refuse the
 * properties of another.
 */
export function closed(schema: JsonObject): JsonObject {
  const readable = mapped(schema, ({ pattern, ...whole }) =>
    typeof pattern !== "string" || LOOKAROUND.test(pattern) ? whole : { ...whole, pattern },
  );
  let isCombined = false;
  const shut = mapped(readable, (whole) => {
    const isObject = jsonObject(whole.properties) !== null;
    const combiners = isObject ? [...COMBINED, ...SHARED] : COMBINED;
    isCombined ||= combiners.some((keyword) => whole[keyword] !== undefined);
    const isOpen = whole.type === "object" && isObject && whole.additionalProperties === undefined;
    return isOpen ? { ...whole, additionalProperties: false } : whole;
  });
  return isCombined ? readable : shut;
}

/**
 * The schema without bounds of texts, numbers and arrays, and without the keywords of `others`: a
 * check of the answers has these.
 */
export function withoutBounds(schema: JsonObject, others: readonly string[] = []): JsonObject {
  const dropped = [...BOUNDS, ...others];
  return mapped(schema, (whole) =>
    Object.fromEntries(Object.entries(whole).filter(([name]) => !dropped.includes(name))),
  );
}

/** Changes a schema and all schemas in it, inner ones first. */
export function mapped(schema: JsonObject, change: (whole: JsonObject) => JsonObject): JsonObject {
  const inner = (value: Json | undefined): Json | undefined => {
    const whole = jsonObject(value);
    return whole === null ? value : mapped(whole, change);
  };
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (Array.isArray(value) && LISTS.includes(keyword)) return [keyword, value.map((part) => inner(part) ?? null)];
    if (SINGLE.includes(keyword)) return [keyword, inner(value)];
    const parts = NAMED.includes(keyword) ? jsonObject(value) : null;
    if (parts === null) return [keyword, value];
    return [keyword, Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, inner(part)]))];
  });
  return change(Object.fromEntries(entries) as JsonObject);
}
