import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import type { BatchName, ProviderBatch, ResultLine } from "../../../../../src/dispatch/contract/account.ts";
import type { Json, JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { anthropicAccount } from "../../../../../src/dispatch/providers/anthropic/account.ts";
import { toResultLine as ofAnthropic } from "../../../../../src/dispatch/providers/anthropic/convert.ts";
import { familyOf as bedrockFamily } from "../../../../../src/dispatch/providers/bedrock/families.ts";
import { toResultLine as ofBedrock } from "../../../../../src/dispatch/providers/bedrock/results.ts";
import { geminiAccount } from "../../../../../src/dispatch/providers/gemini/account.ts";
import { toResultLine as ofGemini } from "../../../../../src/dispatch/providers/gemini/convert.ts";
import { toResultLine as ofMistral } from "../../../../../src/dispatch/providers/mistral/convert.ts";
import { toMessageParams } from "../../../../../src/dispatch/providers/shapes/anthropic/request.ts";
import { toGenerateContentRequest } from "../../../../../src/dispatch/providers/shapes/gemini/request.ts";
import { changedNumber, jsonText, parseJson } from "../../../../../src/dispatch/providers/shapes/lines/exact-json.ts";
import { readJsonLines } from "../../../../../src/dispatch/providers/shapes/lines/read-lines.ts";
import { toProviderBatch } from "../../../../../src/dispatch/providers/vertex/job.ts";

const ORDER = '{"order":1234567890123456789}';
const batch = toProviderBatch({ name: "projects/p/locations/l/batchPredictionJobs/1" });
const nova = bedrockFamily("amazon.nova-lite-v1:0", null);
const name: BatchName = { key: "K", attempt: 1, model: "m", endpoint: "/v1/chat/completions" };

describe("a number that JavaScript would change", () => {
  test.each([
    [ORDER, "1234567890123456789"],
    ["[-9007199254740993]", "-9007199254740993"],
    ['{"a":1e400}', "1e400"],
    [`[${"9".repeat(400)}]`, "9".repeat(400)],
    ["[9007199254740992, 100000000000000000000, 1e23, 0.12345678901234567890]", null],
    ['{"1234567890123456789":"1234567890123456789, \\"1234567890123456789"}', null],
  ])("of %s is found", (text, found) => {
    expect(changedNumber(text)).toBe(found);
  });
});

describe("an object of a parsed text", () => {
  test.each<[string, (value: { readonly [name: string]: Json }) => unknown, string]>([
    [`{"a":[1,{"b": ${ORDER}}]}`, ({ a }) => (a as Json[])[1], `{"b": ${ORDER}}`],
    [`{"a":[1, 12345678901234567890 ],"b":{"c":1}}`, ({ a }) => a, "[1, 12345678901234567890 ]"],
    [`{"a":${ORDER},"b":{"c": 1}}`, ({ b }) => b, '{"c":1}'],
    [`{"a":${ORDER},"a":{"c": 1}}`, ({ a }) => a, '{"c":1}'],
    [`{"a":{"c": 1},"a":${ORDER}}`, ({ a }) => a, ORDER],
    [`{"a":[${ORDER}],"a":7}`, ({ a }) => a, "7"],
    [`{"a\\n}":${ORDER}}`, (value) => value["a\n}"], ORDER],
    [`{"__proto__":${ORDER}}`, (value) => Object.entries(value)[0]?.[1], ORDER],
    [`{"a":["},{",null,true,${ORDER}]}`, ({ a }) => (a as Json[])[3], ORDER],
  ])("in %s is written as it was", (text, pick, written) => {
    const value = parseJson(text);
    expect(value).toEqual(JSON.parse(text));
    expect(jsonText(pick(value as { readonly [name: string]: Json }))).toBe(written);
  });
});

async function readLine(line: string): Promise<JsonObject> {
  for await (const read of readJsonLines(new Blob([line]).stream())) return read;
  throw new Error("There is no line.");
}

const openaiCall = `{"choices":[{"message":{"tool_calls":[{"id":"t","function":{"name":"f","arguments":${ORDER}}}]}}]}`;

describe("the arguments of a tool call keep their digits", () => {
  test.each<[string, string, (line: JsonObject) => ResultLine]>([
    [
      "of Claude's",
      `{"custom_id":"a","result":{"type":"succeeded","message":{"content":[{"type":"tool_use","id":"t","input":${ORDER}}]}}}`,
      (line) => ofAnthropic(line, batch),
    ],
    [
      "of Nova's",
      `{"recordId":"a","modelOutput":{"output":{"message":{"content":[{"toolUse":{"toolUseId":"t","input":${ORDER}}}]}}}}`,
      (line) => ofBedrock(line, batch, name, nova),
    ],
    [
      "of Gemini's",
      `{"key":"a","response":{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${ORDER}}}]}}]}}`,
      (line) => ofGemini(line, batch, name),
    ],
    [
      "of Mistral's, which may be an object",
      `{"custom_id":"a","response":{"status_code":200,"body":${openaiCall}}}`,
      (line) => ofMistral(line, name.endpoint),
    ],
    [
      "of Mistral's, in a body that is a text",
      `{"custom_id":"a","response":{"status_code":200,"body":${JSON.stringify(openaiCall)}}}`,
      (line) => ofMistral(line, name.endpoint),
    ],
  ])("in an answer %s", async (_, line, convert) => {
    const call = { function: { arguments: ORDER } };
    expect(convert(await readLine(line)).response?.body).toMatchObject({
      choices: [{ message: { tool_calls: [call] } }],
    });
  });

  const history = (given: string, content = "ok"): JsonObject => ({
    model: "m",
    messages: [
      { role: "user", content: "Where is it?" },
      { role: "assistant", tool_calls: [{ id: "t", type: "function", function: { name: "f", arguments: given } }] },
      { role: "tool", tool_call_id: "t", content },
    ],
  });
  const asks: readonly [string, (body: JsonObject) => unknown][] = [
    ["Claude", (body) => toMessageParams(body, 9)],
    ["Nova", (body) => nova.toInput(body, 9)],
    ["Gemini", toGenerateContentRequest],
  ];

  test.each(asks)("or a request to %s with them is refused", (_, ask) => {
    const message = expect.stringMatching(/messages\[1\]\.tool_calls\[0\].*1234567890123456789.*as a text/);
    expect(() => ask(history(ORDER))).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", message }));
    expect(() => ask(history('{"order":"1234567890123456789"}'))).not.toThrow();
  });

  test("and so is an answer of Claude's that comes back with blocks in which they are rounded", () => {
    const [first, second, third] = history(ORDER).messages as JsonObject[];
    const blocks = [{ type: "tool_use", id: "t", name: "f", input: JSON.parse(ORDER) }];
    const messages = [first, { ...second, content_blocks: blocks }, third] as JsonObject[];
    expect(() => toMessageParams({ model: "m", messages }, 9)).toThrow("as a text");
  });

  test("and the result of a call goes to Gemini as a text where it has such a number", () => {
    expect(JSON.stringify(toGenerateContentRequest(history("{}", ORDER)))).toContain(
      JSON.stringify({ response: { output: ORDER } }).slice(1, -1),
    );
  });
});

test("results that Anthropic's client reads keep them", async () => {
  const message = `{"content":[{"type":"tool_use","id":"t","name":"f","input":${ORDER}}]}`;
  const line = `{"custom_id":"a","result":{"type":"succeeded","message":${message}}}`;
  const looked = { id: "b", processing_status: "ended", results_url: "http://fake.test/results" };
  const fetch = async (url: unknown) => {
    if (String(url).endsWith("/results")) return new Response(line);
    return new Response(JSON.stringify(looked), { headers: { "content-type": "application/json" } });
  };
  const account = anthropicAccount({ client: new Anthropic({ apiKey: "k", fetch }) });
  const call = { signal: new AbortController().signal, timeoutMs: 1_000 };
  for await (const { response } of account.results({ ...batch, resultRefs: ["b"] }, call, name)) {
    expect(JSON.stringify(response?.body)).toContain(JSON.stringify({ arguments: ORDER }).slice(1, -1));
  }
  expect.assertions(1);
});

test("the answer of a look at a batch of Gemini's, whose results stand in it, keeps them too", async () => {
  const result = `{"metadata":{"key":"a"},"response":{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${ORDER}}}]}}]}}`;
  const text = `{"name":"batches/1","metadata":{"output":{"inlinedResponses":{"inlinedResponses":[${result}]}}}}`;
  const apiClient = { request: async () => ({ responseInternal: new Response(text) }) };
  const account = geminiAccount({ client: { apiClient, files: { upload: async () => ({}) } } as never });
  const looked: ProviderBatch = { ...batch, resultRefs: ["batches/1"] };
  const call = { signal: new AbortController().signal, timeoutMs: 1_000 };
  for await (const { response } of account.results(looked, call, name)) {
    expect(JSON.stringify(response?.body)).toContain(JSON.stringify({ arguments: ORDER }).slice(1, -1));
  }
  expect.assertions(1);
});
