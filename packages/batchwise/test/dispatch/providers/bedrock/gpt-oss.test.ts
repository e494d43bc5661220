// OpenAI's open models at Bedrock: bodies and answers pass through.

import { expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { familyOf } from "../../../../src/dispatch/providers/bedrock/families.ts";

const HI = { role: "user", content: "Hi" };
const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } };
const tools = [{ type: "function", function: { name: "look", parameters: {} } }];
const model = "openai.gpt-oss-120b-1:0";
const name = { recordId: "r", model: "my-profile", createdAt: 1_000 };
const convert = (body: JsonObject): JsonObject => familyOf(model, null).toInput(body, 4_096);

test("takes OpenAI's fields as they are, without the model, which the job names", () => {
  const body = { messages: [HI], max_completion_tokens: 9, reasoning_effort: "low", tools, stop: "END", seed: 1 };
  expect(convert({ model, ...body })).toEqual(body);
});

test("omits the reasoning of earlier answers", () => {
  const said = { role: "assistant", content: "Hello" };
  expect(convert({ model, messages: [HI, { ...said, reasoning_content: "Hm." }, HI] }).messages).toEqual([
    HI,
    said,
    HI,
  ]);
});

test.each([
  ["a stream", { stream: true }, "`stream`"],
  ["an image", { messages: [{ role: "user", content: [IMAGE] }] }, "no text"],
  ["no messages", { messages: [] }, "`messages`"],
])("refuses %s", (_what, more, words) => {
  expect(() => convert({ model, messages: [HI], ...more })).toThrow(words);
});

test("an answer comes back as OpenAI's, by the requested name", () => {
  const { toAnswer } = familyOf(model, null);
  const output = {
    ...{ id: "chatcmpl-1", object: "chat.completion", created: 7, model: "openai.gpt-oss-120b-1:0" },
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  };
  expect(toAnswer(output, name)).toMatchObject({
    response: { statusCode: 200, body: { ...output, model: "my-profile" } },
    usage: { inputTokens: 3, outputTokens: 2 },
  });
});

test.each([
  ["Hm.", '<reasoning>Hm.</reasoning>\n{"a":1}', '{"a":1}'],
  ["One\ntwo", "<reasoning>One\ntwo</reasoning>See <reasoning>.", "See <reasoning>."],
  [undefined, "See <reasoning>Hm.</reasoning>", "See <reasoning>Hm.</reasoning>"],
  [undefined, null, null],
])("the reasoning %j in front of an answer is moved out of its text", (reasoning, content, rest) => {
  const message = { role: "assistant", content };
  const { response } = familyOf(model, null).toAnswer({ choices: [{ index: 0, message }, { message }] }, name);
  const read = { ...message, content: rest, ...(reasoning === undefined ? {} : { reasoning_content: reasoning }) };
  expect(response?.body.choices).toEqual([{ index: 0, message: read }, { message: read }]);
});

test.each([
  [{}],
  [{ choices: [] }],
  [{ choices: [{}] }],
  [{ choices: [null] }],
  [{ choices: [{ message: "Hi" }] }],
  [{ choices: [{ message: {} }], error: { message: "Overloaded." } }],
])("an output without an answer, %j, is retried like a server error", (output) => {
  const answer = familyOf(model, null).toAnswer({ ...output, usage: { prompt_tokens: 3 } }, name);
  expect(answer).toMatchObject({
    response: { statusCode: 500 },
    error: { code: "no_answer" },
    usage: { inputTokens: 3 },
  });
});
