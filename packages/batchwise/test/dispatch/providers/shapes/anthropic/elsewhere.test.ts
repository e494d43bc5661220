// Anthropic's own fields in a chat request to Claude at Bedrock or Vertex AI.

import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { toParamsElsewhere } from "../../../../../src/dispatch/providers/shapes/anthropic/elsewhere.ts";

const HI = { role: "user", content: "Hi" };
const convert = (body: JsonObject) => toParamsElsewhere({ model: "m", messages: [HI], ...body }, 9, "Bedrock");

describe("refused elsewhere", () => {
  test.each<[string, JsonObject, string]>([
    ["a web search", { type: "web_search_20250305", name: "web_search" }, "`tools[0]` of type web_search_20250305"],
    ["a web fetch", { type: "web_fetch_20250910", name: "web_fetch" }, "web_fetch_20250910"],
    ["code that runs at Anthropic", { type: "code_execution_20250825", name: "code_execution" }, "code_execution"],
    ["tools of an MCP server", { type: "mcp_toolset", mcp_server_name: "s" }, "mcp_toolset"],
    ["a toolset of computers", { type: "computer_toolset_20260801", name: "computer" }, "computer_toolset_20260801"],
    ["what is of an unknown type", { type: "oracle", name: "oracle", input_schema: { type: "object" } }, "oracle"],
  ])("is %s", (_, tool, words) => {
    const message = expect.stringMatching(new RegExp(`${words.replace(/[[\]]/g, "\\$&")}.*/v1/messages`));
    expect(() => convert({ tools: [tool] })).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", message }));
  });

  test.each<[string, JsonObject[]]>([
    ["container_upload", [{ role: "user", content: [{ type: "container_upload", file_id: "f" }] }]],
    ["server_tool_use", [HI, { role: "assistant", content_blocks: [{ type: "server_tool_use", id: "s" }] }, HI]],
    ["web_search_tool_result", [HI, { role: "assistant", content_blocks: [{ type: "web_search_tool_result" }] }, HI]],
    ["mcp_tool_use", [HI, { role: "assistant", content_blocks: [{ type: "mcp_tool_use" }] }, HI]],
  ])("is a block of the type %s", (type, messages) => {
    expect(() => convert({ messages })).toThrow(`Bedrock has no blocks of type ${type}`);
  });
});

describe("taken elsewhere", () => {
  test.each<[string, JsonObject]>([
    ["a tool of Claude's shape", { name: "now", input_schema: { type: "object" } }],
    ["the same with its type", { type: "custom", name: "now", input_schema: { type: "object" } }],
    ["bash", { type: "bash_20250124", name: "bash" }],
    ["a text editor", { type: "text_editor_20250728", name: "str_replace_based_edit_tool" }],
    ["a memory", { type: "memory_20250818", name: "memory" }],
    ["a computer", { type: "computer_20251124", name: "computer", display_width_px: 1, display_height_px: 1 }],
  ])("is %s, which the caller runs", (_, tool) => {
    expect(convert({ tools: [tool] }).tools).toEqual([tool]);
  });

  test("are calls, their results and thoughts of an earlier answer", () => {
    const blocks = [{ type: "thinking", thinking: "Hm.", signature: "s" }];
    const call = { id: "c", type: "function", function: { name: "now", arguments: "{}" } };
    const answer = { role: "assistant", thinking_blocks: blocks, tool_calls: [call] };
    const { messages } = convert({ messages: [HI, answer, { role: "tool", tool_call_id: "c", content: "noon" }] });
    expect(messages).toHaveLength(3);
  });
});
