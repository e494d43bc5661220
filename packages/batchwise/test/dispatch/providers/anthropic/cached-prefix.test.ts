import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { cachedPrefix } from "../../../../src/dispatch/providers/shapes/anthropic/cached-prefix.ts";

const HOUR = 3_600_000;
const mark = (ttl?: string): JsonObject => ({ cache_control: { type: "ephemeral", ...(ttl ? { ttl } : {}) } });
const text = (words: string, more: JsonObject = {}): JsonObject => ({ type: "text", text: words, ...more });
const user = (...content: Json[]): JsonObject => ({ role: "user", content });
const params = (own: JsonObject): JsonObject => ({ model: "m", messages: [user(text("Q?"))], ...own });
const digestOf = (own: JsonObject): string | undefined => cachedPrefix(params(own))?.digest;

test("params without a mark have no cached prefix", () => {
  expect(cachedPrefix(params({ system: "Long." }))).toBeNull();
  expect(cachedPrefix(params({ system: [text("Long.")], tools: [{ name: "t" }], ...mark("1h") }))).toBeNull();
});

test("text after the last mark does not count, and text before it does", () => {
  const system = [text("Long.", mark("1h"))];
  const one = digestOf({ system, messages: [user(text("One?"))], temperature: 0 });
  expect(digestOf({ system, messages: [user(text("Two?"))], temperature: 1 })).toBe(one);
  expect(digestOf({ system, tools: [{ name: "t" }] })).not.toBe(one);
  expect(digestOf({ system: [text("Other.", mark("1h"))] })).not.toBe(one);
});

test("a mark in a message counts the messages before it, the choice of tools and thinking", () => {
  const messages = (words: string): JsonObject[] => [user(text("Book.", mark("1h")), text(words))];
  const one = digestOf({ messages: messages("One?") });
  expect(digestOf({ messages: messages("Two?") })).toBe(one);
  expect(digestOf({ messages: messages("Two?"), tool_choice: { type: "any" } })).not.toBe(one);
  expect(digestOf({ messages: messages("Two?"), thinking: { type: "disabled" } })).not.toBe(one);
  expect(digestOf({ messages: [{ role: "assistant", content: [text("Book.", mark("1h"))] }] })).not.toBe(one);
});

test("the last one-hour block ends the prefix, and a five-minute one only where there is no other", () => {
  const system = [text("Long.", mark("1h")), text("Short.", mark("5m"))];
  expect(cachedPrefix(params({ system }))).toEqual({ digest: digestOf({ system: system.slice(0, 1) }), lastsMs: HOUR });
  expect(cachedPrefix(params({ system: [text("Short.", mark())] }))?.lastsMs).toBe(300_000);
});
