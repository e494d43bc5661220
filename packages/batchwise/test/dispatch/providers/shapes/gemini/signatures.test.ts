// Signatures in Gemini's answers, and their places when an answer is sent back as history.

import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { toCompletion } from "../../../../../src/dispatch/providers/shapes/gemini/completion.ts";
import { toGenerateContentRequest } from "../../../../../src/dispatch/providers/shapes/gemini/request.ts";
import { jsonObject, objectOf } from "../../../../../src/dispatch/providers/shapes/sdk/sdk-error.ts";

const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
const functionCall = { id: "c", name: "now", args: {} };
const hi = { role: "user", content: "Draw." };
const signature = { google: { thought_signature: "s" } };

function answerOf(parts: JsonObject[]): JsonObject {
  const response = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
  const { choices } = toCompletion(response, { customId: "a", model: "m", createdAt: 0 });
  const [choice] = Array.isArray(choices) ? choices : [];
  return jsonObject(objectOf(choice).message) ?? {};
}

function asHistory(message: JsonObject): Json {
  const { contents } = toGenerateContentRequest({ model: "gemini-3-pro-image", messages: [hi, message, hi] });
  return (contents as JsonObject[])[1]?.parts ?? null;
}

describe("an answer that goes back keeps the signature", () => {
  test.each<[string, JsonObject[]]>([
    ["of each image", [{ text: "Here." }, { ...image, thoughtSignature: "s1" }, { ...image, thoughtSignature: "s2" }]],
    [
      "of its text and of an image",
      [
        { text: "Here.", thoughtSignature: "s1" },
        { ...image, thoughtSignature: "s2" },
      ],
    ],
    ["of an image that is all of it", [{ ...image, thoughtSignature: "s1" }]],
    ["of an empty text", [{ text: "", thoughtSignature: "s1" }, image]],
    ["of a call", [{ text: "Wait." }, { functionCall, thoughtSignature: "s1" }]],
  ])("%s", (_, parts) => {
    expect(asHistory(answerOf(parts))).toEqual(parts);
  });
});

test.each<[JsonObject, string]>([
  [
    { content: null, images: [{ image_url: { url: "data:image/png;base64,AAAA" } }], extra_content: signature },
    "no text",
  ],
  [{ content: "Here.", images: { 0: {} } }, "`messages[1].images` must be an array"],
  [{ content: "Here.", images: [{ image_url: {}, b64_json: "AAAA" }] }, "messages[1].images[0].b64_json"],
])("an answer in %j is refused", (fields, words) => {
  expect(() => asHistory({ role: "assistant", ...fields })).toThrow(words);
});
