// Table: which wordings of a JSON schema are one.

import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/dispatch/contract/types.ts";
import { canonicalJson } from "../../../src/dispatch/format/canonical.ts";
import { canonicalSchema } from "../../../src/dispatch/format/canonical-schema.ts";

const text = { type: "string" };
const object = (property: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...{ type: "object", properties: { a: property, b: text }, required: ["a", "b"], additionalProperties: false },
  ...more,
});
const worded = (schema: JsonObject): string => canonicalJson(canonicalSchema(schema));

test.each<[string, JsonObject, JsonObject]>([
  ["the order of keys", object(text), Object.fromEntries(Object.entries(object(text)).reverse()) as JsonObject],
  ["a version", object(text), object(text, { $schema: "https://json-schema.org/draft/2020-12/schema" })],
  ["a comment", object(text), object({ ...text, $comment: "Made by a library." })],
  ["an id that no reference uses", object(text), object(text, { $id: "person" })],
  ["the order of `required`", object(text), object(text, { required: ["b", "a"] })],
  ["the order of types", object({ type: ["string", "null"] }), object({ type: ["null", "string"] })],
  ["a choice of bare types", object({ type: ["string", "null"] }), object({ anyOf: [text, { type: "null" }] })],
  ["a list of one type", object(text), object({ type: ["string"] })],
  ["an enum of one value", object({ const: "x" }), object({ type: "string", enum: ["x"] })],
  ["the type of a constant", object({ const: 7 }), object({ type: "number", const: 7 })],
  [
    "the older name of definitions",
    object({ $ref: "#/$defs/c" }, { $defs: { c: text } }),
    object({ $ref: "#/definitions/c" }, { definitions: { c: text } }),
  ],
])("%s says nothing", (_what, one, other) => {
  expect(worded(other)).toBe(worded(one));
});

test.each<[string, JsonObject, JsonObject]>([
  ["a title, which a model sees", object(text), object({ ...text, title: "A" })],
  ["a description", object(text), object({ ...text, description: "The first." })],
  ["a bound", object(text), object({ ...text, minLength: 1 })],
  [
    "a choice with a bound",
    object({ type: ["string", "null"] }),
    object({ anyOf: [{ ...text, minLength: 1 }, { type: "null" }] }),
  ],
  ["an open object", object(text), object(text, { additionalProperties: true })],
  ["what is required", object(text), object(text, { required: ["a"] })],
  ["the order of an enum", object({ enum: ["x", "y"] }), object({ enum: ["y", "x"] })],
  ["an integer for a number", object({ type: "integer" }), object({ type: "number" })],
  ["a constant whose type cannot hold", object({ const: 7 }), object({ type: "string", const: 7 })],
  [
    "a definition of either name",
    object({ $ref: "#/$defs/c" }, { $defs: { c: text }, definitions: { c: {} } }),
    object({ $ref: "#/definitions/c" }, { $defs: { c: text }, definitions: { c: {} } }),
  ],
  [
    "the base of a reference to another document",
    object({ $ref: "other" }),
    object({ $ref: "other" }, { $id: "https://a.test/" }),
  ],
  [
    "a property that is named like a keyword",
    object(text),
    { ...object(text), properties: { a: text, b: text, $id: text } },
  ],
])("%s is a change", (_what, one, other) => {
  expect(worded(other)).not.toBe(worded(one));
});
