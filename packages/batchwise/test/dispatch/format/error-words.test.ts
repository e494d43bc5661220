import { describe, expect, test } from "vitest";
import { errorIn } from "../../../src/dispatch/format/error-words.ts";
import { toResultLine as ofLocal } from "../../../src/dispatch/providers/local/answer.ts";
import { toResultLine as ofMistral } from "../../../src/dispatch/providers/mistral/convert.ts";
import { toResultLine as ofOpenAi } from "../../../src/dispatch/providers/shapes/openai/openai-result.ts";

test.each<[string, unknown, string | null, string | null]>([
  ["OpenAI's", { error: { code: "a", type: "b", message: "Why." } }, "a", "Why."],
  ["OpenAI's without a code", { error: { code: null, type: "b", message: "Why." } }, "b", "Why."],
  ["the inside of it", { code: "a", message: "Why." }, "a", "Why."],
  ["Anthropic's", { type: "error", error: { type: "b", message: "Why." } }, "b", "Why."],
  [
    "vLLM's",
    { object: "error", message: "Too long.", type: "BadRequestError", code: 400 },
    "BadRequestError",
    "Too long.",
  ],
  ["Mistral's, whose codes are numbers", { type: "invalid", code: "1800", message: "Why." }, "invalid", "Why."],
  ["a number alone", { code: 12, message: "Why." }, "12", "Why."],
  ["a status in place of a code", { code: 400, message: "Why." }, null, "Why."],
  ["plain words", "Why.", null, "Why."],
  ["plain words as `error`", { error: "Why." }, null, "Why."],
  ["words of FastAPI", { detail: "Why." }, null, "Why."],
  ["a list of FastAPI", { detail: [{ loc: ["body", "x"], msg: "No." }, { msg: "Nor." }] }, null, "body.x: No.; Nor."],
  ["the same as a message", { message: { detail: [{ msg: "No." }] } }, null, "No."],
  ["no words", {}, null, null],
  ["nothing", null, null, null],
])("%s are read", (_, told, code, message) => {
  expect(errorIn(told)).toEqual({ code, message });
});

describe("a result line with an error", () => {
  const vllm = { object: "error", message: "Too long.", type: "BadRequestError", code: 400 };
  const refused = { code: "BadRequestError", message: "Too long." };

  test.each([
    ["OpenAI's shape", (line: object) => ofOpenAi({ custom_id: "a", ...line }, "/v1/chat/completions")],
    ["Mistral's", (line: object) => ofMistral({ custom_id: "a", ...line }, "/v1/chat/completions")],
  ])("in %s has its words", (_, read) => {
    expect(read({ response: null, error: "Too long." }).error).toEqual({
      code: "provider_error",
      message: "Too long.",
    });
    expect(read({ response: { status_code: 400, body: vllm } }).error).toEqual(refused);
    expect(read({ response: { status_code: 400, body: "Too long." } }).error?.message).toBe("Too long.");
    expect(read({ response: { status_code: 400, body: {} } }).error).toMatchObject({ code: "http_400" });
  });

  test("of a server of the user's has its words", () => {
    const answer = { kind: "answer", statusCode: 400, body: vllm, retryAfterMs: null } as const;
    const line = ofLocal("a", answer, "/v1/chat/completions");
    expect(line.error).toEqual(refused);
  });
});
