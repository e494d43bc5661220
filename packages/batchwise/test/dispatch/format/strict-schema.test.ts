import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/dispatch/contract/types.ts";
import { closed, isStrict, withoutBounds } from "../../../src/dispatch/format/strict-schema.ts";

const text = { type: "string" };
const object = (more: JsonObject): JsonObject => ({
  ...{ type: "object", properties: { a: text }, required: ["a"], additionalProperties: false },
  ...more,
});
const deep = (levels: number): JsonObject => (levels === 0 ? text : object({ properties: { a: deep(levels - 1) } }));

test.each([
  ["an object, closed, with all properties required", object({}), true],
  ["one that is open", object({ additionalProperties: true }), false],
  ["one that says nothing of further properties", object({ additionalProperties: undefined }), false],
  ["one with an optional property", object({ required: [] }), false],
  ["a text", text, false],
  [
    "an object in a union with an optional one",
    object({ properties: { a: { anyOf: [text, object({ required: [] })] } } }),
    false,
  ],
  [
    "an object in an array that is open",
    object({ properties: { a: { items: object({ additionalProperties: {} }) } } }),
    false,
  ],
  ["a reference to a definition", object({ properties: { a: { $ref: "#/$defs/t" } }, $defs: { t: text } }), true],
  ["a bound of a number", object({ properties: { a: { type: "number", minimum: 0 } } }), true],
  ["a bound of a text, which is not known", object({ properties: { a: { type: "string", minLength: 1 } } }), false],
  ["a format that is known", object({ properties: { a: { type: "string", format: "email" } } }), true],
  ["a format that is not known", object({ properties: { a: { type: "string", format: "emoji" } } }), false],
  ["a default", object({ properties: { a: { type: "string", default: "b" } } }), false],
  ["an object or null, as a list of types", object({ properties: { a: { type: ["object", "null"] } } }), false],
  ["ten levels", deep(10), true],
  ["eleven levels", deep(11), false],
] as [string, JsonObject, boolean][])("%s", (_name, schema, strict) => {
  const given = JSON.parse(JSON.stringify(schema)) as JsonObject;
  expect(isStrict(given)).toBe(strict);
});

test("objects that say nothing of further properties are closed, at any depth", () => {
  const open = { type: "object", properties: { a: { type: "array", items: { type: "object", properties: {} } } } };
  expect(closed(open)).toEqual({
    type: "object",
    properties: { a: { type: "array", items: { type: "object", properties: {}, additionalProperties: false } } },
    additionalProperties: false,
  });
  const record = { type: "object", additionalProperties: text };
  expect(closed(record)).toEqual(record);
});

test("bounds are left out at any depth, and properties of their names stay", () => {
  const bounded = object({
    properties: { pattern: { type: "string", pattern: "a", minLength: 1 } },
    required: ["pattern"],
  });
  const items = { type: "array", minItems: 1, items: { anyOf: [{ type: "integer", minimum: 0 }, bounded] } };
  const free = object({ properties: { pattern: text }, required: ["pattern"] });
  expect(withoutBounds(items)).toEqual({ type: "array", items: { anyOf: [{ type: "integer" }, free] } });
});
