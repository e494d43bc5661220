// The conversion of every field of OpenAI's types. The tables are records over `keyof`: a new field
// fails to compile until it has an entry.

import fc from "fast-check";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { toEmbedContentRequest } from "../../../../../src/dispatch/providers/shapes/gemini/embedding.ts";
import { toGenerateContentRequest } from "../../../../../src/dispatch/providers/shapes/gemini/request.ts";

/**
 * `converted`: its place in the request. `leftOut`: omitted, because the answer is the same.
 * `refused`: with an error that names it.
 */
interface Fate {
  readonly fate: "converted" | "leftOut" | "refused";
  /** A value with an effect. */
  readonly value: unknown;
  /** Another field that it needs. */
  readonly beside?: JsonObject;
  /** Why it is left out of a body. */
  readonly reason?: string;
}

type Fates<T> = { readonly [K in keyof Required<T>]: Fate };

const converted = (value: unknown, beside: JsonObject = {}): Fate => ({ fate: "converted", value, beside });
const leftOut = (value: unknown, reason = ""): Fate => ({ fate: "leftOut", value, reason });
const refused = (value: unknown): Fate => ({ fate: "refused", value });

const named = { type: "function", function: { name: "f" } };
const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const PIXEL = "iVBORw0KGgoAAAANSUhEUg==";
const MODEL = "gemini-2.5-flash";

const BODY: Fates<OpenAI.ChatCompletionCreateParamsNonStreaming> = {
  messages: converted([{ role: "user", content: "Another." }]),
  model: leftOut("gemini-2.0-flash"),
  audio: refused({ format: "wav", voice: "alloy" }),
  frequency_penalty: converted(1),
  function_call: refused("auto"),
  functions: refused([{ name: "f" }]),
  logit_bias: refused({ "1": 5 }),
  logprobs: converted(true),
  max_completion_tokens: converted(5),
  max_tokens: converted(5),
  metadata: leftOut({ a: "b" }, "labels what OpenAI stores"),
  modalities: refused(["text", "audio"]),
  moderation: refused({ type: "x" }),
  n: converted(2),
  parallel_tool_calls: refused(false),
  prediction: leftOut({ type: "content", content: "x" }, "makes OpenAI faster"),
  presence_penalty: converted(1),
  prompt_cache_key: leftOut("k", "makes OpenAI's cache hit more often"),
  prompt_cache_options: leftOut({ ttl: "1h" }, "says what OpenAI's cache keeps"),
  prompt_cache_retention: leftOut("24h", "says how long OpenAI's cache keeps it"),
  reasoning_effort: converted("low"),
  response_format: converted({ type: "json_object" }),
  safety_identifier: leftOut("u", "names the end user to OpenAI"),
  seed: converted(5),
  service_tier: leftOut("flex", "a batch has a tier of its own"),
  stop: converted(["a"]),
  store: leftOut(true, "says whether OpenAI keeps the answer"),
  stream: refused(true),
  stream_options: leftOut({ include_usage: true }, "says how a stream is sent, and a batch has none"),
  temperature: converted(0.5),
  tool_choice: converted("required", { tools: [named] }),
  tools: converted([named]),
  top_logprobs: converted(2, { logprobs: true }),
  top_p: converted(0.5),
  user: leftOut("u", "names the end user to OpenAI"),
  verbosity: refused("low"),
  web_search_options: refused({}),
};

const USER: Fates<OpenAI.ChatCompletionUserMessageParam> = {
  role: refused("stranger"),
  content: converted("Another."),
  name: refused("Ann"),
};
const SYSTEM: Fates<OpenAI.ChatCompletionSystemMessageParam> = {
  role: refused("stranger"),
  content: converted("Another."),
  name: refused("Ann"),
};
const ASSISTANT: Fates<OpenAI.ChatCompletionAssistantMessageParam> = {
  role: refused("stranger"),
  content: converted("Another."),
  name: refused("Ann"),
  audio: refused({ id: "a" }),
  function_call: refused({ name: "f", arguments: "{}" }),
  refusal: converted("No."),
  tool_calls: converted([call]),
};
const TOOL: Fates<OpenAI.ChatCompletionToolMessageParam> = {
  role: refused("stranger"),
  content: converted("Another."),
  tool_call_id: refused("x"),
};
const TEXT: Fates<OpenAI.ChatCompletionContentPartText> = {
  type: refused("strange"),
  text: converted("Another."),
  prompt_cache_breakpoint: leftOut({ mode: "explicit" }),
};
const IMAGE: Fates<OpenAI.ChatCompletionContentPartImage["image_url"]> = {
  url: converted("https://a.example/b.png"),
  detail: converted("low"),
};
const AUDIO: Fates<OpenAI.ChatCompletionContentPartInputAudio["input_audio"]> = {
  data: converted("AAAA"),
  format: converted("mp3"),
};
const FILE: Fates<OpenAI.ChatCompletionContentPart.File["file"]> = {
  file_data: converted("data:text/plain;base64,AAAA"),
  file_id: converted("files/abc"),
  filename: leftOut("a.pdf"),
};
const DEFINITION: Fates<OpenAI.FunctionDefinition> = {
  name: converted("g"),
  description: converted("What it does."),
  parameters: converted({ type: "object" }),
  strict: converted(true),
};
const EMBEDDING: Fates<OpenAI.EmbeddingCreateParams> = {
  input: converted("Another."),
  model: leftOut("other"),
  dimensions: converted(5),
  encoding_format: refused("base64"),
  user: leftOut("u"),
};

const chat = (body: object): JsonObject =>
  toGenerateContentRequest({ model: MODEL, messages: [{ role: "user", content: "Hi" }], ...body });
const withMessage = (message: object) => chat({ messages: [{ role: "user", content: "Hi" }, message] });
const withTool = (message: object) =>
  chat({ messages: [{ role: "user", content: "Hi" }, { role: "assistant", tool_calls: [call] }, message] });
const withPart = (type: string) => (inner: object) => withMessage({ role: "user", content: [{ type, [type]: inner }] });

const TABLES: readonly (readonly [string, Readonly<Record<string, Fate>>, object, (changed: object) => JsonObject])[] =
  [
    ["a body", BODY, {}, chat],
    ["a user's message", USER, { role: "user", content: "Hi" }, withMessage],
    ["instructions", SYSTEM, { role: "system", content: "Hi" }, withMessage],
    ["an answer", ASSISTANT, { role: "assistant", content: "Hi" }, withMessage],
    ["a result", TOOL, { role: "tool", tool_call_id: "c", content: "Hi" }, withTool],
    ["a text", TEXT, { type: "text", text: "Hi" }, (part) => withMessage({ role: "user", content: [part] })],
    ["an image", IMAGE, { url: `data:image/png;base64,${PIXEL}` }, withPart("image_url")],
    ["a recording", AUDIO, { data: PIXEL, format: "wav" }, withPart("input_audio")],
    ["a file", FILE, { file_data: `data:application/pdf;base64,${PIXEL}` }, withPart("file")],
    [
      "a function",
      DEFINITION,
      { name: "f" },
      (definition) => chat({ tools: [{ type: "function", function: definition }] }),
    ],
    ["an embedding", EMBEDDING, { model: "e", input: "Hi" }, (body) => toEmbedContentRequest(body as JsonObject)],
  ];

const cases = TABLES.flatMap(([what, fates, plain, convert]) =>
  Object.entries(fates).map(([field, { fate, value, beside = {} }]) => ({
    ...{ what, field, fate },
    plain: () => convert({ ...plain, ...beside }),
    changed: () => convert({ ...plain, ...beside, [field]: value }),
  })),
);

describe("every field of OpenAI's types", () => {
  test.each(cases)("$field of $what is $fate", ({ field, fate, plain, changed }) => {
    if (fate === "refused") {
      const message = expect.stringContaining(field === "type" ? "type" : field);
      expect(changed).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", message }));
    } else if (fate === "leftOut") {
      expect(changed()).toEqual(plain());
    } else {
      expect(changed()).not.toEqual(plain());
    }
  });

  test("is left out of a body only for a reason that is written down", () => {
    // The model is part of the batch's address.
    const { model: _model, ...others } = BODY;
    const left = Object.values(others).filter(({ fate }) => fate === "leftOut");
    expect(left.every(({ reason = "" }) => reason.length > 10)).toBe(true);
  });

  test("keeps its fate whatever stands beside it", () => {
    const single = Object.entries(BODY).filter(([name]) => name !== "top_logprobs" && name !== "tool_choice");
    fc.assert(
      fc.property(fc.subarray(single), (chosen) => {
        const body = Object.fromEntries(chosen.map(([name, { value }]) => [name, value]));
        const wrong = chosen.filter(([, { fate }]) => fate === "refused").map(([name]) => name);
        if (wrong.length > 0) expect(() => chat(body)).toThrow(new RegExp(wrong.join("|")));
        else expect(chat(body)).toEqual(chat(withoutLeftOut(body)));
      }),
    );
  });

  test("that OpenAI does not have is refused by name, unless it says nothing", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^x_[a-z]{1,8}$/), fc.oneof(fc.boolean(), fc.nat(), fc.string()), (name, value) => {
        expect(() => chat({ [name]: value })).toThrow(name);
        expect(chat({ [name]: null })).toEqual(chat({}));
      }),
    );
  });
});

function withoutLeftOut(body: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.entries(body).filter(([name]) => name === "model" || BODY[name as keyof typeof BODY]?.fate !== "leftOut"),
  );
}
