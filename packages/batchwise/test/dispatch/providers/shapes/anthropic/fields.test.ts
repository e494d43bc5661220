// The conversion of every field of a chat request in OpenAI's format, and of Claude's own.

import type { BetaMessageParam, MessageCreateParamsNonStreaming } from "@anthropic-ai/sdk/resources/beta/messages";
import type OpenAI from "openai";
import { describe } from "vitest";
import type { JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { toMessageParams } from "../../../../../src/dispatch/providers/shapes/anthropic/request.ts";
import { checkFates, type Fates } from "../fates.ts";

type Chat = OpenAI.ChatCompletionCreateParamsNonStreaming;

const HI = { role: "user", content: "Hi" };
const PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
const MARK = { type: "ephemeral", ttl: "1h" };
const EXPLICIT = { mode: "explicit" };
const schema = { type: "object", properties: {} };
const tools = [{ type: "function", function: { name: "now" } }];
const ownTool = { type: "web_search_20250305", name: "web_search", max_uses: 2 };

const convert = (body: object): JsonObject => toMessageParams(body as JsonObject, 1_000);
/** The last block of the only turn, whose only part is `part`. */
const blockOf = (role: string, part: object): JsonObject => {
  const before = role === "user" ? [] : [HI];
  const { messages } = convert({ model: "m", messages: [...before, { role, content: [part] }] });
  const { content } = (messages as { content: JsonObject[] | string }[]).at(-1) ?? {};
  return typeof content === "string" ? { type: "text", text: content } : (content?.[0] as JsonObject);
};

describe("a chat request", () => {
  const base = { model: "m", messages: [HI], tools };
  const fates: Fates<Chat> = {
    messages: { value: [{ role: "user", content: "Ho" }], becomes: { messages: [{ role: "user", content: "Ho" }] } },
    model: { value: "another", becomes: { model: "another" } },
    audio: { value: { format: "wav", voice: "ash" }, refused: true },
    frequency_penalty: { value: 0.5, refused: true },
    function_call: { value: "auto", refused: true },
    functions: { value: [{ name: "now" }], refused: true },
    logit_bias: { value: { "1": 5 }, refused: true },
    logprobs: { value: true, refused: true },
    max_completion_tokens: { value: 7, becomes: { max_tokens: 7 } },
    max_tokens: { value: 8, becomes: { max_tokens: 8 } },
    metadata: { value: { a: "b" }, leftOut: "labels that OpenAI stores" },
    modalities: { value: ["text", "audio"], refused: true },
    moderation: { value: { model: "omni-moderation-latest" }, refused: true },
    n: { value: 2, refused: true },
    parallel_tool_calls: { value: false, becomes: { tool_choice: { type: "auto", disable_parallel_tool_use: true } } },
    prediction: { value: { type: "content", content: "x" }, leftOut: "makes an answer faster, not another" },
    presence_penalty: { value: 0.5, refused: true },
    prompt_cache_key: { value: "k", leftOut: "says where OpenAI caches" },
    prompt_cache_options: { value: { mode: "explicit" }, leftOut: "says how OpenAI caches" },
    prompt_cache_retention: { value: "24h", leftOut: "says how long OpenAI caches" },
    reasoning_effort: { value: "max", becomes: { output_config: { effort: "max" } } },
    response_format: {
      value: { type: "json_schema", json_schema: { name: "a", description: "An answer", schema } },
      becomes: { output_config: { format: { type: "json_schema", schema: { description: "An answer", ...schema } } } },
    },
    safety_identifier: { value: "s", becomes: { metadata: { user_id: "s" } } },
    seed: { value: 1, leftOut: "a best effort at OpenAI too" },
    service_tier: { value: "flex", leftOut: "a batch has a tier of its own" },
    stop: { value: "END", becomes: { stop_sequences: ["END"] } },
    store: { value: true, leftOut: "says what OpenAI stores" },
    stream: { value: true, refused: true },
    stream_options: { value: { include_usage: true }, leftOut: "nothing streams in a batch" },
    temperature: { value: 0, becomes: { temperature: 0 } },
    tool_choice: { value: "required", becomes: { tool_choice: { type: "any" } } },
    tools: { value: [ownTool], becomes: { tools: [ownTool] } },
    top_logprobs: { value: 3, refused: true },
    top_p: { value: 0, becomes: { top_p: 0 } },
    user: { value: "u", becomes: { metadata: { user_id: "u" } } },
    verbosity: { value: "low", refused: true },
    web_search_options: { value: { search_context_size: "low" }, refused: true },
  };
  checkFates(
    "OpenAI's",
    fates,
    (field, value) => convert({ ...base, [field]: value }),
    () => convert(base),
  );
});

describe("a chat request with Claude's own fields", () => {
  const base = { model: "m", messages: [HI], tools };
  const passed = (name: string, value: unknown) => ({ value, becomes: { [name]: value } as JsonObject });
  const fates: Fates<Omit<MessageCreateParamsNonStreaming, keyof Chat>> = {
    system: { value: "Be brief.", refused: true },
    stop_sequences: { value: ["END"], refused: true },
    output_format: { value: { type: "json_schema", schema }, refused: true },
    betas: { value: ["a-beta"], refused: true },
    workspace_id: { value: "wrkspc_1", refused: true },
    output_config: passed("output_config", { effort: "low", task_budget: { type: "tokens", total: 20_000 } }),
    cache_control: passed("cache_control", MARK),
    container: passed("container", { id: "container_1" }),
    diagnostics: passed("diagnostics", { previous_message_id: "msg_1" }),
    inference_geo: passed("inference_geo", "eu"),
    speed: passed("speed", "fast"),
    thinking: passed("thinking", { type: "adaptive" }),
    user_profile_id: passed("user_profile_id", "profile_1"),
    billing_policy: passed("billing_policy", {}),
    compaction: passed("compaction", {}),
    context_management: passed("context_management", { edits: [] }),
    fallback_credit_token: passed("fallback_credit_token", "token"),
    fallbacks: passed("fallbacks", "default"),
    mcp_servers: passed("mcp_servers", [{ type: "url", url: "https://example.com", name: "a" }]),
    thread: passed("thread", { type: "create" }),
  };
  checkFates(
    "Claude's",
    fates,
    (field, value) => convert({ ...base, [field]: value }),
    () => convert(base),
  );
});

describe("messages", () => {
  const system = { role: "system", content: "Be brief." };
  const call = { id: "a", type: "function", function: { name: "now", arguments: "{}" } };
  const asked = [HI, { role: "assistant", tool_calls: [call] }];
  const marked = (text: string) => [{ type: "text", text, cache_control: MARK }];
  const last = (message: object, before: readonly object[]) => {
    const { messages } = convert({ model: "m", messages: [...before, message] });
    return (messages as JsonObject[]).at(-1) as JsonObject;
  };
  type Own = { readonly cache_control: unknown };

  const ofSystem: Fates<Own & OpenAI.ChatCompletionSystemMessageParam> = {
    role: { value: "developer", leftOut: "the two roles mean the same" },
    content: { value: "Be long.", becomes: { system: "Be long." } },
    name: { value: "Ann", refused: true },
    cache_control: { value: MARK, becomes: { system: marked("Be brief.") } },
  };
  const withSystem = (message: object) => convert({ model: "m", messages: [message, HI] });
  checkFates(
    "a system's",
    ofSystem,
    (field, value) => withSystem({ ...system, [field]: value }),
    () => withSystem(system),
  );

  const ofUser: Fates<Own & OpenAI.ChatCompletionUserMessageParam> = {
    role: { value: "function", refused: true },
    content: { value: "Ho", becomes: { content: "Ho" } },
    name: { value: "Ann", refused: true },
    cache_control: { value: MARK, becomes: { content: marked("Hi") } },
  };
  checkFates(
    "a user's",
    ofUser,
    (field, value) => last({ ...HI, [field]: value }, []),
    () => last(HI, []),
  );

  const yes = { role: "assistant", content: "Yes" };
  const thought: BetaMessageParam["content"] = [{ type: "thinking", thinking: "Hm.", signature: "s" }];
  const whole = [{ type: "text", text: "Yes", citations: [{ type: "page_location" }] }];
  type OwnOfAssistant = Own & { reasoning_content: string; thinking_blocks: object[]; content_blocks: object[] };
  type Answer = Pick<OpenAI.ChatCompletionMessage, "annotations">;
  const ofAssistant: Fates<OwnOfAssistant & Answer & OpenAI.ChatCompletionAssistantMessageParam> = {
    role: { value: "robot", refused: true },
    audio: { value: { id: "a" }, refused: true },
    content: { value: "No", becomes: { content: "No" } },
    function_call: { value: { name: "f", arguments: "{}" }, refused: true },
    name: { value: "Ann", refused: true },
    refusal: { value: "No.", becomes: { content: [{ text: "Yes" }, { type: "text", text: "No." }] } },
    tool_calls: {
      value: [{ ...call, cache_control: MARK }],
      becomes: {
        content: [{ text: "Yes" }, { type: "tool_use", id: "a", name: "now", input: {}, cache_control: MARK }],
      },
    },
    cache_control: { value: MARK, becomes: { content: marked("Yes") } },
    annotations: { value: [{ type: "url_citation" }], leftOut: "tells of the text what an answer has told" },
    reasoning_content: { value: "Hm.", leftOut: "has no signature, without which Claude takes no thoughts" },
    thinking_blocks: { value: thought, becomes: { content: [...thought, { type: "text", text: "Yes" }] as never } },
    content_blocks: { value: whole, becomes: { content: whole } },
  };
  checkFates(
    "an assistant's",
    ofAssistant,
    (field, value) => last({ ...yes, [field]: value }, [HI]),
    () => last(yes, [HI]),
  );

  const sun = { role: "tool", tool_call_id: "a", content: "Sun" };
  const result = (fields: JsonObject) => ({ content: [{ type: "tool_result", ...fields }] });
  type OwnOfTool = Own & { is_error: boolean; name: string };
  const ofTool: Fates<OwnOfTool & OpenAI.ChatCompletionToolMessageParam> = {
    role: { value: "function", refused: true },
    content: {
      value: [{ type: "image_url", image_url: { url: PIXEL } }],
      becomes: result({ content: [{ type: "image", source: { type: "base64", media_type: "image/png" } }] }),
    },
    tool_call_id: { value: "b", becomes: result({ tool_use_id: "b" }) },
    name: { value: "now", leftOut: "the call of that id has the name" },
    is_error: { value: true, becomes: result({ is_error: true }) },
    cache_control: { value: MARK, becomes: result({ cache_control: MARK }) },
  };
  checkFates(
    "a tool's",
    ofTool,
    (field, value) => last({ ...sun, [field]: value }, asked),
    () => last(sun, asked),
  );
});

describe("parts", () => {
  type Own = { readonly cache_control: unknown; readonly citations: unknown };
  const text = { type: "text", text: "Hi" };
  const cited = [{ type: "page_location", cited_text: "x" }];
  const ofText: Fates<Own & OpenAI.ChatCompletionContentPartText> = {
    type: { value: "video", refused: true },
    text: { value: "Ho", becomes: { text: "Ho" } },
    cache_control: { value: MARK, becomes: { cache_control: MARK } },
    prompt_cache_breakpoint: { value: EXPLICIT, becomes: { cache_control: { type: "ephemeral" } } },
    citations: { value: cited, becomes: { citations: cited } },
  };
  checkFates(
    "a text's",
    ofText,
    (field, value) => blockOf("user", { ...text, [field]: value }),
    () => blockOf("user", text),
  );

  const image = { type: "image_url", image_url: { url: PIXEL } };
  const ofImage: Fates<Omit<Own, "citations"> & OpenAI.ChatCompletionContentPartImage> = {
    type: { value: "video", refused: true },
    image_url: {
      value: { url: "https://example.com/a.png" },
      becomes: { source: { type: "url", url: "https://example.com/a.png" } },
    },
    cache_control: { value: MARK, becomes: { cache_control: MARK } },
    prompt_cache_breakpoint: { value: EXPLICIT, becomes: { cache_control: { type: "ephemeral" } } },
  };
  checkFates(
    "an image's",
    ofImage,
    (field, value) => blockOf("user", { ...image, [field]: value }),
    () => blockOf("user", image),
  );
  const ofUrl: Fates<OpenAI.ChatCompletionContentPartImage.ImageURL> = {
    url: { value: "ftp://example.com", refused: "an image other than" },
    detail: { value: "low", leftOut: "Claude has one way to scale images" },
  };
  checkFates(
    "an image's address:",
    ofUrl,
    (field, value) => blockOf("user", { ...image, image_url: { url: PIXEL, [field]: value } }),
    () => blockOf("user", image),
  );

  const file = { type: "file", file: { file_data: "data:application/pdf;base64,JVBERi0=" } };
  const ofFile: Fates<Own & { readonly context: unknown } & OpenAI.ChatCompletionContentPart.File> = {
    type: { value: "video", refused: true },
    file: { value: { file_id: "file_1" }, becomes: { source: { type: "file", file_id: "file_1" } } },
    cache_control: { value: MARK, becomes: { cache_control: MARK } },
    prompt_cache_breakpoint: { value: EXPLICIT, becomes: { cache_control: { type: "ephemeral" } } },
    citations: { value: { enabled: true }, becomes: { citations: { enabled: true } } },
    context: { value: "A report", becomes: { context: "A report" } },
  };
  checkFates(
    "a file's",
    ofFile,
    (field, value) => blockOf("user", { ...file, [field]: value }),
    () => blockOf("user", file),
  );
  const source = { file_id: "file_1" };
  const ofSource: Fates<OpenAI.ChatCompletionContentPart.File.File> = {
    file_data: { value: file.file.file_data, becomes: { source: { type: "base64" } } },
    file_id: { value: "file_2", becomes: { source: { file_id: "file_2" } } },
    filename: { value: "a.pdf", becomes: { title: "a.pdf" } },
  };
  checkFates(
    "a file's source:",
    ofSource,
    (field, value) => blockOf("user", { type: "file", file: { ...source, [field]: value } }),
    () => blockOf("user", { type: "file", file: source }),
  );

  const ofRefusal: Fates<Omit<Own, "citations"> & OpenAI.ChatCompletionContentPartRefusal> = {
    type: { value: "video", refused: 'of type "video"' },
    refusal: { value: "Never.", becomes: { text: "Never." } },
    cache_control: { value: MARK, becomes: { cache_control: MARK } },
  };
  checkFates(
    "a refusal's",
    ofRefusal,
    (field, value) => blockOf("assistant", { type: "refusal", refusal: "No.", [field]: value }),
    () => blockOf("assistant", { type: "refusal", refusal: "No." }),
  );

  const sound = { type: "input_audio", input_audio: { data: "AA==", format: "wav" } };
  checkFates(
    "a recording's",
    { type: { value: sound.type, refused: true } },
    () => blockOf("user", sound),
    () => ({}),
  );
});

describe("tools", () => {
  const tool = { type: "function", function: { name: "now" } };
  const toolOf = (value: object) => {
    const { tools: converted } = convert({ model: "m", messages: [HI], tools: [value] });
    return (converted as JsonObject[])[0] as JsonObject;
  };
  const ofTool: Fates<{ readonly cache_control: unknown } & OpenAI.ChatCompletionFunctionTool> = {
    type: { value: "custom", refused: "`tools[0]` other than a function" },
    function: { value: { name: "later" }, becomes: { name: "later" } },
    cache_control: { value: MARK, becomes: { cache_control: MARK } },
  };
  checkFates(
    "a tool:",
    ofTool,
    (field, value) => toolOf({ ...tool, [field]: value }),
    () => toolOf(tool),
  );
  const ofFunction: Fates<OpenAI.FunctionDefinition> = {
    name: { value: "later", becomes: { name: "later" } },
    description: { value: "The time", becomes: { description: "The time" } },
    parameters: {
      value: { properties: { zone: { type: "string" } } },
      becomes: { input_schema: { type: "object", properties: { zone: { type: "string" } } } },
    },
    strict: { value: true, becomes: { strict: true } },
  };
  checkFates(
    "a function's",
    ofFunction,
    (field, value) => toolOf({ ...tool, function: { ...tool.function, [field]: value } }),
    () => toolOf(tool),
  );
});
