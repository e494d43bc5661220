import { expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { closed, isRecursive, isStrict, withoutBounds } from "../../../../src/dispatch/requests/check/strict-schema.ts";

const text = { type: "string" };
const object = (more: JsonObject): JsonObject => ({
  ...{ type: "object", properties: { a: text }, required: ["a"], additionalProperties: false },
  ...more,
});
const deep = (levels: number): JsonObject => (levels === 0 ? text : object({ properties: { a: deep(levels - 1) } }));
const property = (a: JsonObject): JsonObject => object({ properties: { a } });
const enums = (count: number, values: number, characters: number): JsonObject => {
  const one = { type: "string", enum: Array.from({ length: values }, () => "x".repeat(characters)) };
  const properties = Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, one]));
  return object({ properties, required: Object.keys(properties) });
};

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
  ["a value without a type", property({}), false],
  ["an array of values without a type", property({ type: "array", items: {} }), false],
  ["an array that says nothing of its items", property({ type: ["array", "null"] }), false],
  ["an enum without a type", property({ enum: ["a", "b"] }), false],
  ["a constant without a type", property({ const: "a" }), false],
  ["a reference beside another keyword", property({ $ref: "#", description: "Whole." }), false],
  ["1,000 values of enums", enums(4, 250, 1), true],
  ["1,001 values of enums", enums(7, 143, 1), false],
  ["a long enum of 15,000 characters", enums(1, 300, 50), true],
  ["a long enum of 15,300 characters", enums(1, 300, 51), false],
  ["over 120,000 characters in all", enums(1, 100, 1_200), false],
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

test.each([
  [
    "in `allOf`",
    {
      allOf: [
        { type: "object", properties: { a: text } },
        { type: "object", properties: { b: text } },
      ],
    },
  ],
  ["in `not`", { not: { type: "object", properties: { a: text } } }],
  [
    "defined for `allOf`",
    { $defs: { a: { type: "object", properties: {} } }, properties: { b: { allOf: [{ $ref: "#/$defs/a" }] } } },
  ],
  ["beside `anyOf`", { type: "object", properties: { a: text }, anyOf: [{ type: "object", properties: { b: text } }] }],
] as [string, JsonObject][])("objects stay open %s", (_name, schema) => {
  expect(closed(schema)).toEqual(schema);
});

test("patterns that look ahead or behind are left out, also where objects stay open", () => {
  const looking = (pattern: string): JsonObject => ({ type: "string", pattern });
  const plain = looking("^(?:a)(?<name>b)$");
  const anyOf = [looking("(?!a)"), looking("(?<=a)"), looking("(?<!a)"), plain];
  const schema = { allOf: [looking("(?=a)"), { anyOf }] };
  expect(closed(schema)).toEqual({ allOf: [text, { anyOf: [text, text, text, plain] }] });
});

test.each([
  ["to the root", property({ $ref: "#" }), true],
  ["to a definition that has it", object({ $defs: { t: { type: "array", items: { $ref: "#/$defs/t" } } } }), true],
  [
    "of two definitions to each other",
    {
      ...property({ $ref: "#/$defs/t" }),
      $defs: { t: { anyOf: [text, { $ref: "#/$defs/a~1b" }] }, "a/b": property({ $ref: "#/$defs/t" }) },
    },
    true,
  ],
  ["twice to one definition", { anyOf: [{ $ref: "#/$defs/t" }, { $ref: "#/$defs/t" }], $defs: { t: text } }, false],
] as [string, JsonObject, boolean][])("a reference %s", (_name, schema, recursive) => {
  expect(isRecursive(schema)).toBe(recursive);
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
