// Every field and every kind of block in Claude's answer is returned.

import type { BetaContentBlock, BetaMessage, BetaUsage } from "@anthropic-ai/sdk/resources/beta/messages";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { toCompletion } from "../../../../../src/dispatch/providers/shapes/anthropic/completion.ts";
import { toMessageParams } from "../../../../../src/dispatch/providers/shapes/anthropic/request.ts";
import { paramsFault } from "../../../../../src/dispatch-testing/fake/anthropic/params.ts";

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inner, name) => (inner as JsonObject | undefined)?.[name], value);

/** A part of an answer, and its place in OpenAI's format. */
interface Told {
  readonly value: unknown;
  readonly at: string;
  readonly as?: unknown;
}

function checkTold(
  what: string,
  told: Readonly<Record<string, Told>>,
  message: (field: JsonObject) => JsonObject,
): void {
  test.each(Object.entries(told))(`${what} \`%s\` comes back`, (name, { value, at: place, as: expected = value }) => {
    const completion = toCompletion(message({ [name]: value as Json }), 0);
    expect(at(completion, place)).toEqual(expected);
  });
}

describe("an answer", () => {
  const choice = "choices.0";
  const refusal = { type: "refusal", category: "bio", explanation: "Not this." };
  const ofMessage: { readonly [K in keyof Required<BetaMessage>]: Told } = {
    id: { value: "msg_1", at: "id" },
    type: { value: "message", at: "object", as: "chat.completion" },
    role: { value: "assistant", at: `${choice}.message.role` },
    model: { value: "claude", at: "model" },
    content: { value: [{ type: "text", text: "Hi" }], at: `${choice}.message.content`, as: "Hi" },
    container: { value: { id: "c", expires_at: "x", skills: null }, at: "container" },
    context_management: { value: { applied_edits: [] }, at: "context_management" },
    diagnostics: { value: { cache_miss_reason: { type: "unavailable" } }, at: "diagnostics" },
    input_transformations: { value: [{ type: "image" }], at: "input_transformations" },
    stop_details: { value: refusal, at: `${choice}.stop_details` },
    stop_reason: { value: "pause_turn", at: `${choice}.native_finish_reason` },
    stop_sequence: { value: "END", at: `${choice}.stop_sequence` },
    usage: { value: { input_tokens: 3, output_tokens: 2 }, at: "usage.total_tokens", as: 5 },
  };
  checkTold("a message's", ofMessage, (field) => ({ content: [], ...field }));

  const ofUsage: { readonly [K in keyof Required<BetaUsage>]: Told } = {
    input_tokens: { value: 3, at: "usage.prompt_tokens" },
    output_tokens: { value: 4, at: "usage.completion_tokens" },
    cache_read_input_tokens: { value: 5, at: "usage.prompt_tokens_details.cached_tokens" },
    cache_creation_input_tokens: { value: 6, at: "usage.prompt_tokens_details.cache_creation_tokens" },
    output_tokens_details: {
      value: { thinking_tokens: 2 },
      at: "usage.completion_tokens_details",
      as: { reasoning_tokens: 2 },
    },
    cache_creation: { value: { ephemeral_1h_input_tokens: 6 }, at: "usage.cache_creation" },
    fallback_credit: { value: { tokens: 1 }, at: "usage.fallback_credit" },
    inference_geo: { value: "eu", at: "usage.inference_geo" },
    iterations: { value: [{ input_tokens: 1 }], at: "usage.iterations" },
    server_tool_use: { value: { web_search_requests: 1 }, at: "usage.server_tool_use" },
    service_tier: { value: "batch", at: "usage.service_tier" },
    speed: { value: "fast", at: "usage.speed" },
  };
  checkTold("of its usage", ofUsage, (field) => ({ content: [], usage: field }));

  test("that is refused says why in OpenAI's words", () => {
    const body = toCompletion({ content: [], stop_reason: "refusal", stop_details: refusal }, 0);
    expect(body).toMatchObject({
      choices: [{ finish_reason: "content_filter", message: { content: null, refusal: "Not this." } }],
    });
    expect(at(body, "choices.0")).not.toHaveProperty("native_finish_reason");
  });

  test("omits absent fields", () => {
    const nothing = { container: null, diagnostics: null, stop_details: null, stop_sequence: null };
    const usage = { input_tokens: 1, output_tokens: 1, cache_creation: null, speed: null };
    const body = toCompletion({ id: "m", content: [], stop_reason: "end_turn", usage, ...nothing }, 0);
    expect(Object.keys(body)).toEqual(["id", "object", "created", "model", "choices", "usage"]);
    expect(Object.keys(at(body, "choices.0") as object)).toEqual(["index", "message", "logprobs", "finish_reason"]);
    expect(Object.keys(at(body, "usage") as object)).toHaveLength(4);
  });

  test("with citations of the web has annotations of the text that they are of", () => {
    const citation = { type: "web_search_result_location", url: "https://example.com", title: "A", cited_text: "x" };
    const content = [
      { type: "text", text: "It is ", citations: null },
      { type: "text", text: "sunny", citations: [citation, { type: "page_location" }] },
    ];
    const place = { url: "https://example.com", title: "A", start_index: 6, end_index: 11 };
    expect(at(toCompletion({ content }, 0), "choices.0.message")).toMatchObject({
      content: "It is sunny",
      annotations: [{ type: "url_citation", url_citation: place }],
      content_blocks: content,
    });
  });
});

describe("a block goes into the next turn as it came", () => {
  const tool = (type: string) => ({ type, tool_use_id: "s", content: [] });
  const direct = { type: "direct" };
  const samples: { readonly [K in BetaContentBlock["type"]]: JsonObject } = {
    text: { type: "text", text: "Hi", citations: [{ type: "page_location", cited_text: "x" }] },
    thinking: { type: "thinking", thinking: "Hm.", signature: "s" },
    redacted_thinking: { type: "redacted_thinking", data: "d" },
    tool_use: { type: "tool_use", id: "t", name: "now", input: {}, caller: direct, toolset_name: "clock" },
    server_tool_use: { type: "server_tool_use", id: "s", name: "web_search", input: {}, caller: direct },
    web_search_tool_result: tool("web_search_tool_result"),
    web_fetch_tool_result: tool("web_fetch_tool_result"),
    advisor_tool_result: tool("advisor_tool_result"),
    code_execution_tool_result: tool("code_execution_tool_result"),
    bash_code_execution_tool_result: tool("bash_code_execution_tool_result"),
    text_editor_code_execution_tool_result: tool("text_editor_code_execution_tool_result"),
    tool_search_tool_result: tool("tool_search_tool_result"),
    mcp_tool_use: { type: "mcp_tool_use", id: "m", name: "a", server_name: "b", input: {} },
    mcp_tool_result: tool("mcp_tool_result"),
    mcp_tool_listing: { type: "mcp_tool_listing" },
    container_upload: { type: "container_upload", file_id: "file_1" },
    compaction: { type: "compaction", content: "x" },
    fallback: { type: "fallback" },
  };
  const again = { role: "user", content: "Again" };

  /** The blocks of an answer that is sent back as history. */
  function sentBack(content: readonly JsonObject[]): unknown {
    const answer = at(toCompletion({ content }, 0), "choices.0.message") as JsonObject;
    const calls = content.filter(({ type }) => type === "tool_use");
    const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "12:00" }));
    const messages = [again, answer, ...results, again] as JsonObject[];
    const params = toMessageParams({ model: "m", messages }, 100);
    expect(paramsFault(params)).toBeNull();
    return at(params, "messages.1.content");
  }

  test.each(Object.entries(samples))("%s", (_type, block) => {
    const lead = { type: "text", text: "First." };
    expect(sentBack([lead, block])).toEqual([lead, block]);
  });

  test("thoughts, text and calls of the usual order need no copy, and thoughts keep their signatures", () => {
    const { content_blocks, ...answer } = at(
      toCompletion({ content: [samples.thinking, { type: "text", text: "Hi" }] as Json[] }, 0),
      "choices.0.message",
    ) as JsonObject;
    expect(content_blocks).toBeUndefined();
    expect(answer).toMatchObject({ reasoning_content: "Hm.", thinking_blocks: [samples.thinking] });
    const call = { type: "tool_use", id: "t", name: "now", input: { zone: "UTC" } };
    const content = [samples.thinking, samples.redacted_thinking, { type: "text", text: "I look." }, call];
    expect(sentBack(content)).toEqual(content);
  });
});
