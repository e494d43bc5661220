import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { toGenerateContentRequest } from "../../../../../src/dispatch/providers/shapes/gemini/request.ts";
import { geminiFault, strangeName } from "../../../../../src/dispatch-testing/fake/gemini/params.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUg==";
const hi = [{ role: "user", content: "Hi" }];
const told = [{ role: "user", parts: [{ text: "Hi" }] }];
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "Weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

/** Converts, and checks the result by the fake's rules. */
function convert(body: JsonObject): JsonObject {
  const request = toGenerateContentRequest({ model: "gemini-2.5-flash", messages: hi, ...body });
  expect([strangeName(request, false), geminiFault(request, false)]).toEqual([null, null]);
  return request;
}

const configOf = (body: JsonObject): unknown => convert(body).generationConfig;

function refused(body: JsonObject, words: string): void {
  const whole = { model: "gemini-2.5-flash", messages: hi, ...body };
  const error = expect.objectContaining({ code: "INVALID_REQUEST", message: expect.stringContaining(words) });
  expect(() => toGenerateContentRequest(whole)).toThrow(error);
}

test("the least there is: the contents, without the model", () => {
  expect(convert({})).toEqual({ contents: told });
});

describe("the generation config", () => {
  test("keeps zeros, and takes the newer limit before the older", () => {
    const body = { temperature: 0, top_p: 0, seed: 0, presence_penalty: 0, frequency_penalty: 0 };
    expect(configOf({ ...body, max_tokens: 7, max_completion_tokens: 9, n: 2, top_k: 3 })).toEqual({
      ...{ temperature: 0, topP: 0, seed: 0, presencePenalty: 0, frequencyPenalty: 0 },
      ...{ maxOutputTokens: 9, candidateCount: 2, topK: 3 },
    });
    expect(configOf({ temperature: null, max_tokens: 7 })).toEqual({ maxOutputTokens: 7 });
  });

  test.each([
    ["a text", "END", ["END"]],
    ["a list", ["a", "b"], ["a", "b"]],
    ["a line break", "\n", ["\n"]],
  ])("has stops from %s", (_case, stop, expected) => {
    expect(configOf({ stop })).toEqual({ stopSequences: expected });
  });

  test.each<readonly [string, JsonObject, string]>([
    ["a temperature above 2", { temperature: 2.1 }, "`temperature` must be a number from 0 to 2, not 2.1"],
    ["top_p above 1", { top_p: 1.5 }, "`top_p`"],
    ["a limit of 0", { max_tokens: 0 }, "`max_tokens`"],
    ["nine choices", { n: 9 }, "`n` must be a whole number from 1 to 8, not 9"],
    ["a seed of 53 bits", { seed: 2 ** 40 }, "`seed`"],
    ["six stops", { stop: ["1", "2", "3", "4", "5", "6"] }, "at most 5 texts, not 6"],
    ["an empty stop", { stop: [""] }, "`stop`"],
    ["top_logprobs alone", { top_logprobs: 2 }, "`top_logprobs` needs `logprobs: true`"],
  ])("is refused for %s", (_case, body, words) => refused(body, words));

  test("requests log probabilities", () => {
    expect(configOf({ logprobs: true, top_logprobs: 0 })).toEqual({ responseLogprobs: true, logprobs: 0 });
    expect(configOf({ logprobs: true })).toEqual({ responseLogprobs: true });
    expect(configOf({ logprobs: false, top_logprobs: 0 })).toBeUndefined();
  });

  test("has the format: JSON, or JSON of a schema with its purpose", () => {
    const schema = { type: "object", properties: { a: { type: "number" } }, additionalProperties: false };
    const named = { name: "answer", strict: true, schema };
    const json = { responseMimeType: "application/json" };
    expect(configOf({ response_format: { type: "text" } })).toBeUndefined();
    expect(configOf({ response_format: { type: "json_object" } })).toEqual(json);
    const asked = (json_schema: Json) => configOf({ response_format: { type: "json_schema", json_schema } });
    expect(asked(named)).toEqual({ ...json, responseJsonSchema: schema });
    const described = { description: "Numbers", ...schema };
    expect(asked({ ...named, description: "Numbers" })).toEqual({ ...json, responseJsonSchema: described });
    refused({ response_format: { type: "grammar" } }, "`response_format`");
  });

  test.each([
    ["gemini-2.5-flash", "none", { thinkingBudget: 0 }],
    ["models/gemini-2.5-pro", "minimal", { thinkingBudget: 1_024 }],
    ["gemini-2.5-flash", "medium", { thinkingBudget: 8_192 }],
    ["gemini-2.5-flash", "high", { thinkingBudget: 24_576 }],
    ["gemini-3-flash-preview", "minimal", { thinkingLevel: "MINIMAL" }],
    ["gemini-3.1-pro-preview", "minimal", { thinkingLevel: "LOW" }],
    ["models/gemini-3.5-flash", "high", { thinkingLevel: "HIGH" }],
  ])("of %s has for effort %s", (model, reasoning_effort, thinkingConfig) => {
    expect(configOf({ model, reasoning_effort })).toEqual({ thinkingConfig });
  });

  test("is refused for efforts that the model does not have, and for two ways to say the same", () => {
    refused({ model: "gemini-3.5-flash", reasoning_effort: "none" }, '`reasoning_effort` "none" of the model');
    refused({ reasoning_effort: "xhigh" }, '`reasoning_effort` "xhigh"');
    const thinkingConfig = { thinkingBudget: 100, includeThoughts: true };
    expect(configOf({ thinkingConfig })).toEqual({ thinkingConfig });
    refused({ thinkingConfig, reasoning_effort: "low" }, "give one of them");
  });
});

describe("the turns", () => {
  test("system and developer texts are the instruction, wherever they stand", () => {
    const parts = [
      { type: "text", text: "Be kind." },
      { type: "text", text: "" },
    ];
    const messages = [{ role: "system", content: "Be brief." }, ...hi, { role: "developer", content: parts }];
    expect(convert({ messages })).toEqual({
      contents: told,
      systemInstruction: { parts: [{ text: "Be brief." }, { text: "Be kind." }] },
    });
    refused({ messages: [{ role: "system", content: "Be brief." }] }, "more than instructions");
  });

  test("turns of one side stay apart, texts of the assistant and its refusals are the model's", () => {
    const messages = [...hi, ...hi, { role: "assistant", content: "Yes?", refusal: "No." }, ...hi];
    const [turn] = told;
    const answer = { role: "model", parts: [{ text: "Yes?" }, { text: "No." }] };
    expect(convert({ messages }).contents).toEqual([turn, turn, answer, turn]);
  });

  test("an answer of ours goes back as the model's turn, with its signatures and images", () => {
    const google = (thought_signature: string) => ({ google: { thought_signature } });
    const message = {
      role: "assistant",
      content: "Look.",
      refusal: null,
      reasoning_content: "Hmm.",
      annotations: [],
      images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } }],
      tool_calls: [
        { id: "c1", type: "function", function: { name: "weather", arguments: "{}" }, extra_content: google("s2") },
      ],
      extra_content: google("s1"),
    };
    const messages = [...hi, message, { role: "tool", tool_call_id: "c1", content: "rain" }];
    expect(convert({ messages, model: "gemini-3.5-flash" }).contents).toEqual([
      ...told,
      {
        role: "model",
        parts: [
          { text: "Look.", thoughtSignature: "s1" },
          { inlineData: { mimeType: "image/png", data: PIXEL } },
          { functionCall: { id: "c1", name: "weather", args: {} }, thoughtSignature: "s2" },
        ],
      },
      { role: "user", parts: [{ functionResponse: { id: "c1", name: "weather", response: { output: "rain" } } }] },
    ]);
  });

  test("results of parallel calls share a turn, by name, objects as they are", () => {
    const call = (id: string) => ({
      id,
      type: "function",
      function: { name: "weather", arguments: `{"city":"${id}"}` },
    });
    const messages = [
      ...hi,
      { role: "assistant", content: null, tool_calls: [call("a"), call("b")] },
      { role: "tool", tool_call_id: "b", content: '{"sky":"grey"}' },
      { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "sun" }] },
      { role: "user", content: "So?" },
    ];
    const contents = convert({ messages }).contents as JsonObject[];
    expect(contents.slice(1)).toEqual([
      {
        role: "model",
        parts: ["a", "b"].map((id) => ({ functionCall: { id, name: "weather", args: { city: id } } })),
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "b", name: "weather", response: { sky: "grey" } } },
          { functionResponse: { id: "a", name: "weather", response: { output: "sun" } } },
        ],
      },
      { role: "user", parts: [{ text: "So?" }] },
    ]);
    const [first] = ((convert({ messages, model: "gemini-3.5-flash" }).contents as JsonObject[])[1]?.parts ??
      []) as JsonObject[];
    expect(first?.thoughtSignature).toBe("skip_thought_signature_validator");
  });

  test.each<readonly [string, JsonObject, string]>([
    ["a result of no call", { role: "tool", tool_call_id: "x", content: "" }, "`messages[0].tool_call_id`"],
    ["the old role of results", { role: "function", name: "f", content: "" }, '`messages[0].role` "function"'],
    ["a name of its own", { role: "user", name: "Ann", content: "Hi" }, "`messages[0].name`"],
    ["nothing to say", { role: "user", content: [] }, "`messages[0].content` is empty"],
    [
      "a part of another kind",
      { role: "user", content: [{ type: "video" }] },
      '`messages[0].content[0]` of type "video"',
    ],
    ["an earlier recording", { role: "assistant", audio: { id: "a" } }, "`messages[0].audio`"],
    ["the old kind of call", { role: "assistant", function_call: { name: "f" } }, "`messages[0].function_call`"],
    [
      "arguments that are no JSON",
      { role: "assistant", tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{" } }] },
      "`messages[0].tool_calls[0].function.arguments` must be a JSON object",
    ],
    [
      "a call of a custom tool",
      { role: "assistant", tool_calls: [{ id: "c", type: "custom", custom: { name: "f", input: "" } }] },
      "`messages[0].tool_calls[0]` other than a function",
    ],
  ])("are refused for %s", (_case, message, words) => refused({ messages: [message] }, words));
});

describe("media", () => {
  const ask = (part: JsonObject): unknown => {
    const [turn] = convert({ messages: [{ role: "user", content: [part] }] }).contents as JsonObject[];
    return (turn?.parts as JsonObject[] | undefined)?.[0];
  };
  const image = (url: string, detail?: string) => ({
    type: "image_url",
    image_url: { url, ...(detail && { detail }) },
  });
  const files = "https://generativelanguage.googleapis.com/v1beta/files/";

  test.each<readonly [string, JsonObject, JsonObject]>([
    [
      "an image as data",
      image(`data:image/webp;base64,${PIXEL}`),
      { inlineData: { mimeType: "image/webp", data: PIXEL } },
    ],
    [
      "an image at an address",
      image("https://a.example/b.JPG?size=1"),
      { fileData: { fileUri: "https://a.example/b.JPG?size=1", mimeType: "image/jpeg" } },
    ],
    ["an image in a bucket", image("gs://b/c.png"), { fileData: { fileUri: "gs://b/c.png", mimeType: "image/png" } }],
    ["an uploaded image", image(`${files}abc`), { fileData: { fileUri: `${files}abc` } }],
    [
      "a recording",
      { type: "input_audio", input_audio: { data: PIXEL, format: "mp3" } },
      { inlineData: { mimeType: "audio/mp3", data: PIXEL } },
    ],
    [
      "a document as data",
      { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${PIXEL}` } },
      { inlineData: { mimeType: "application/pdf", data: PIXEL } },
    ],
    ["an uploaded file", { type: "file", file: { file_id: "files/abc" } }, { fileData: { fileUri: `${files}abc` } }],
  ])("%s", (_case, part, expected) => expect(ask(part)).toEqual(expected));

  test("the detail of images is the resolution of the request", () => {
    const messages = (...parts: JsonObject[]) => [{ role: "user", content: parts }];
    const url = `data:image/png;base64,${PIXEL}`;
    const [low, high, any] = [image(url, "low"), image(url, "high"), image(url, "auto")];
    expect(configOf({ messages: messages(low, low) })).toEqual({ mediaResolution: "MEDIA_RESOLUTION_LOW" });
    expect(configOf({ messages: messages(high) })).toEqual({ mediaResolution: "MEDIA_RESOLUTION_HIGH" });
    expect(configOf({ messages: messages(any) })).toBeUndefined();
    refused({ messages: messages(low, high) }, "images differ in `detail`");
  });

  test.each<readonly [string, JsonObject, string]>([
    ["an address of unknown type", image("https://a.example/b"), "must end in"],
    ["an address without encryption", image("http://a.example/b.png"), "an address with https or gs"],
    [
      "a recording of another format",
      { type: "input_audio", input_audio: { data: "x", format: "flac" } },
      "wav or mp3",
    ],
    ["a file of OpenAI's", { type: "file", file: { file_id: "file-1" } }, "Files API"],
    ["a file without its type", { type: "file", file: { file_data: PIXEL } }, "base64 data with its type"],
  ])("refused: %s", (_case, part, words) => refused({ messages: [{ role: "user", content: [part] }] }, words));
});

describe("tools", () => {
  const declared = [
    {
      functionDeclarations: [
        { name: "weather", description: "Weather of a city", parametersJsonSchema: weather.function.parameters },
      ],
    },
  ];
  const strict = { type: "function", function: { ...weather.function, strict: true } };
  const named = { type: "function", function: { name: "weather" } };
  const allowed = (mode: string) => ({ type: "allowed_tools", allowed_tools: { mode, tools: [named] } });

  test.each<readonly [string, Json, Json | undefined, JsonObject | undefined]>([
    ["nothing said", [weather], undefined, undefined],
    ["auto", [weather], "auto", undefined],
    ["none", [weather], "none", { mode: "NONE" }],
    ["required", [weather], "required", { mode: "ANY" }],
    ["a function", [weather], named, { mode: "ANY", allowedFunctionNames: ["weather"] }],
    ["one of some", [weather], allowed("required"), { mode: "ANY", allowedFunctionNames: ["weather"] }],
    ["some or none", [weather], allowed("auto"), { mode: "VALIDATED", allowedFunctionNames: ["weather"] }],
    ["a strict function", [strict], "auto", { mode: "VALIDATED" }],
  ])("are declared, and chosen with %s", (_case, tools, tool_choice, calling) => {
    const { tools: converted, toolConfig } = convert({ tools, tool_choice: tool_choice as Json });
    expect(converted).toEqual(declared);
    expect(toolConfig).toEqual(calling === undefined ? undefined : { functionCallingConfig: calling });
  });

  test("without parameters have none, and an empty list is no tool", () => {
    const bare = { type: "function", function: { name: "now" } };
    expect(convert({ tools: [bare] }).tools).toEqual([{ functionDeclarations: [{ name: "now" }] }]);
    expect(convert({ tools: [], tool_choice: "none" })).toEqual({ contents: told });
  });

  test.each<readonly [string, JsonObject, string]>([
    ["a custom tool", { tools: [{ type: "custom", custom: { name: "x" } }] }, "`tools[0]` other than a function"],
    ["a choice without tools", { tool_choice: "required" }, "`tool_choice` needs `tools`"],
    [
      "a choice of another",
      { tools: [weather], tool_choice: { type: "function", function: { name: "x" } } },
      'names "x"',
    ],
    [
      "a choice of a custom tool",
      { tools: [weather], tool_choice: { type: "custom", custom: {} } },
      "this `tool_choice`",
    ],
    ["one call at a time", { tools: [weather], parallel_tool_calls: false }, "`parallel_tool_calls`"],
  ])("refused: %s", (_case, body, words) => refused(body, words));
});
