// Chat fields with a wrong type, or with values that have no effect, at Claude, Nova and Llama.

import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { familyOf } from "../../../../../src/dispatch/providers/bedrock/families.ts";
import { toMessageParams } from "../../../../../src/dispatch/providers/shapes/anthropic/request.ts";

const HI = { role: "user", content: "Hi" };
const nova = familyOf("amazon.nova-lite-v1:0", null);
const llama = familyOf("meta.llama3-8b", null);

describe.each<[string, (body: JsonObject) => JsonObject]>([
  ["Claude", (body) => toMessageParams(body, 9)],
  ["Nova", (body) => nova.toInput(body, 9)],
  ["Llama", (body) => llama.toInput(body, 9)],
])("%s", (_, convert) => {
  const ask = (fields: JsonObject) => convert({ model: "m", messages: [HI], ...fields });

  test.each(["low", "high"])("does not get the verbosity %s", (verbosity) => {
    expect(() => ask({ verbosity })).toThrow("`verbosity` has no counterpart there");
  });

  test("takes fields that request nothing", () => {
    expect(ask({ verbosity: "medium", tools: null, n: 1 })).toEqual(ask({}));
    expect(ask({ tools: [] })).toEqual(ask({}));
  });

  test("refuses tools that are no list", () => {
    expect(() => ask({ tools: { type: "function" } })).toThrow("`tools`");
  });

  test("refuses calls that are no list", () => {
    const messages = [HI, { role: "assistant", content: "Yes.", tool_calls: { id: "c" } }, HI];
    expect(() => ask({ messages })).toThrow("`messages[1].tool_calls`");
    const [first, answer, last] = messages as JsonObject[];
    const none = [first, { ...answer, tool_calls: null }, last] as JsonObject[];
    expect(() => ask({ messages: none })).not.toThrow();
  });
});
