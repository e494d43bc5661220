// A data URL may have parameters between its type and its data, wherever a request holds one.

import { expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { familyOf } from "../../../../../src/dispatch/providers/bedrock/families.ts";
import { toChatRequest } from "../../../../../src/dispatch/providers/mistral/request.ts";
import { toMessageParams } from "../../../../../src/dispatch/providers/shapes/anthropic/request.ts";
import { toGenerateContentRequest } from "../../../../../src/dispatch/providers/shapes/gemini/request.ts";
import { readDataUrl } from "../../../../../src/dispatch/providers/shapes/openai/data-url.ts";

test.each<[unknown, object | null]>([
  ["data:image/png;base64,AAAA", { type: "image/png", data: "AAAA" }],
  ["data:image/png;charset=utf-8;base64,AAAA", { type: "image/png", data: "AAAA" }],
  ["data:application/pdf;name=a.pdf;x=1;base64,AAAA", { type: "application/pdf", data: "AAAA" }],
  ["data:image/png,AAAA", null],
  ["data:;base64,AAAA", null],
  ["data:image/png;base64,", null],
  ["https://example.com/a.png", null],
  [7, null],
])("%j is read", (url, read) => {
  expect(readDataUrl(url)).toEqual(read);
});

const image = { type: "image_url", image_url: { url: "data:image/png;charset=utf-8;base64,AAAA" } };
const file = { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;name=a.pdf;base64,BBBB" } };

test.each<[string, JsonObject[], (body: JsonObject) => JsonObject]>([
  ["Claude", [image, file], (body) => toMessageParams(body, 9)],
  ["Nova", [image, file], (body) => familyOf("amazon.nova-lite-v1:0", null).toInput(body, 9)],
  ["Llama", [image], (body) => familyOf("meta.llama4-scout", null).toInput(body, 9)],
  ["Mistral", [image, file], toChatRequest],
  ["Gemini", [image, file], toGenerateContentRequest],
])("%s gets its content", (_, content, convert) => {
  const sent = JSON.stringify(convert({ model: "m", messages: [{ role: "user", content }] }));
  expect(sent).toContain("AAAA");
  if (content.length > 1) expect(sent).toContain("BBBB");
});
