// Unknown fields inside of converted objects are refused by name, never dropped.

import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../src/dispatch/contract/types.ts";
import { familyOf } from "../../../src/dispatch/providers/bedrock/families.ts";
import { toChatRequest } from "../../../src/dispatch/providers/mistral/request.ts";
import { toMessageParams } from "../../../src/dispatch/providers/shapes/anthropic/request.ts";
import { toGenerateContentRequest } from "../../../src/dispatch/providers/shapes/gemini/request.ts";

const bedrock = (model: string) => (body: JsonObject) => familyOf(model, null).toInput({ ...body, model }, 1_000);
const CONVERSIONS: readonly [string, (body: JsonObject) => JsonObject][] = [
  ["Claude", (body) => toMessageParams({ model: "claude-haiku-4-5", ...body }, 1_000)],
  ["Gemini", (body) => toGenerateContentRequest({ model: "gemini-2.5-flash", ...body })],
  ["Mistral", (body) => toChatRequest({ model: "mistral-small", ...body })],
  ["Nova", bedrock("us.amazon.nova-lite-v1:0")],
  ["Llama", bedrock("us.meta.llama3-3-70b-instruct-v1:0")],
];

const odd = { frob: 1 };
const named = { name: "f", parameters: { type: "object", properties: {} } };
const tools = [{ type: "function", function: named }];
const hi = { role: "user", content: "Hi" };
const image = { url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==" };
const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const called = (calls: readonly JsonObject[]): JsonObject => {
  const answer = { role: "assistant", content: null, tool_calls: [...calls] };
  return { messages: [hi, answer, { role: "tool", tool_call_id: "c", content: "1" }], tools };
};
const schema = { name: "n", schema: { type: "object" } };

const BODIES: readonly [string, JsonObject][] = [
  ["a tool", { messages: [hi], tools: [{ type: "function", function: named, ...odd }] }],
  ["a function", { messages: [hi], tools: [{ type: "function", function: { ...named, ...odd } }] }],
  ["a tool call", called([{ ...call, ...odd }])],
  ["a choice", { messages: [hi], tools, tool_choice: { type: "function", function: { name: "f" }, ...odd } }],
  ["a format", { messages: [hi], response_format: { type: "json_object", ...odd } }],
  [
    "a format, which has a schema of another type",
    { messages: [hi], response_format: { type: "json_object", json_schema: schema } },
  ],
  ["a schema", { messages: [hi], response_format: { type: "json_schema", json_schema: { ...schema, ...odd } } }],
  ["a message", { messages: [{ ...hi, ...odd }] }],
  ["a text", { messages: [{ role: "user", content: [{ type: "text", text: "Hi", ...odd }] }] }],
  ["an image", { messages: [{ role: "user", content: [{ type: "image_url", image_url: { ...image, ...odd } }] }] }],
];

describe.each(CONVERSIONS)("%s", (_service, convert) => {
  test.each(BODIES)("refuses an unknown field of %s", (_part, body) => {
    expect(() => convert(body)).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
  });
});

const withArguments = (given: Json): JsonObject => called([{ ...call, function: { name: "f", arguments: given } }]);

describe.each(CONVERSIONS.filter(([service]) => ["Claude", "Gemini", "Nova"].includes(service)))(
  "%s",
  (_service, convert) => {
    test.each<Json>([{ id: 2 ** 64 }, [], ['{"a":1}'], 7, false])("refuses %j as a call's arguments", (given) => {
      expect(() => convert(withArguments(given))).toThrow(
        "messages[1].tool_calls[0].function.arguments` must be a text",
      );
    });

    test.each<Json>(["", " ", null])("converts %j as a call's arguments to an empty object", (given) => {
      expect(convert(withArguments(given))).toEqual(convert(withArguments("{}")));
    });

    test("refuses a refusal without words", () => {
      const refusal = { role: "assistant", content: [{ type: "refusal" }] };
      expect(() => convert({ messages: [hi, refusal] })).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
    });
  },
);
