// One wording for JSON schemas that say the same, so that a library which words one differently
// after an upgrade does not change a job. Only what no validator and no model reads is taken out:
// titles, descriptions, defaults and examples stay, since a model sees them. Pure.

import type { Json, JsonObject } from "../contract/types.ts";
import { mapped } from "../requests/check/strict-schema.ts";
import { canonicalJson } from "./canonical.ts";

const OLD_DEFINITIONS = "#/definitions/";
const TYPES: readonly (readonly [string, (value: Json) => boolean])[] = [
  ["string", (value) => typeof value === "string"],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
  ["number", (value) => typeof value === "number"],
];

/** The schema in the one wording. Not to be sent: it is for comparison. */
export function canonicalSchema(schema: JsonObject): JsonObject {
  const { refs, hasDefs } = namesIn(schema);
  const isLocal = refs.every((ref) => ref.startsWith("#"));
  return mapped(schema, (whole) => {
    const { $schema: _version, $comment: _comment, $id, ...rest } = whole;
    // An id is only the base of references to other documents.
    const named = isLocal || $id === undefined ? rest : { ...rest, $id };
    const sorted = withSortedSets(named);
    return asTypeList(asConstant(hasDefs ? sorted : withDefs(sorted)));
  });
}

function namesIn(schema: JsonObject): { readonly refs: readonly string[]; readonly hasDefs: boolean } {
  const refs: string[] = [];
  let hasDefs = false;
  mapped(schema, (whole) => {
    if (typeof whole.$ref === "string") refs.push(whole.$ref);
    hasDefs ||= whole.$defs !== undefined;
    return whole;
  });
  return { refs, hasDefs };
}

/** The order of these lists says nothing. */
function withSortedSets(whole: JsonObject): JsonObject {
  const sorted = { ...whole };
  for (const name of ["required", "type"]) {
    const list = whole[name];
    if (Array.isArray(list)) sorted[name] = [...new Set(list)].sort() as Json;
  }
  const { type } = sorted;
  return Array.isArray(type) && type.length === 1 ? { ...sorted, type: type[0] ?? null } : sorted;
}

/** `definitions` is the older name of `$defs`. Only where the schema does not have both. */
function withDefs({ definitions, ...whole }: JsonObject): JsonObject {
  const { $ref } = whole;
  const isOld = typeof $ref === "string" && $ref.startsWith(OLD_DEFINITIONS);
  const ref = isOld ? { $ref: `#/$defs/${$ref.slice(OLD_DEFINITIONS.length)}` } : {};
  return { ...whole, ...ref, ...(definitions === undefined ? {} : { $defs: definitions }) };
}

/** An enum of one value is a constant, and a constant says its type itself. */
function asConstant({ enum: values, ...whole }: JsonObject): JsonObject {
  const only = Array.isArray(values) && values.length === 1 && whole.const === undefined;
  const fixed: JsonObject = only ? { ...whole, const: values[0] ?? null } : whole;
  const { type, const: constant } = fixed;
  const isImplied = constant !== undefined && TYPES.some(([name, test]) => name === type && test(constant));
  const rest = Object.fromEntries(Object.entries(fixed).filter(([name]) => !(isImplied && name === "type")));
  return values === undefined || only ? rest : { ...rest, enum: values };
}

/** A choice among bare types is a list of types: `null` beside a text, most often. */
function asTypeList({ anyOf, ...whole }: JsonObject): JsonObject {
  if (anyOf === undefined) return whole;
  const types = Array.isArray(anyOf) ? anyOf.map(bareType) : [null];
  if (whole.type !== undefined || types.some((type) => type === null)) return { ...whole, anyOf };
  return withSortedSets({ ...whole, type: types as Json });
}

function bareType(part: Json): string | null {
  const { type, ...rest } = (typeof part === "object" && part !== null ? part : {}) as JsonObject;
  const isBare = typeof type === "string" && canonicalJson(rest) === "{}";
  return isBare ? type : null;
}
