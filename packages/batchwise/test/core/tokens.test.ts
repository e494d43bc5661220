import { estimateTokens } from "batchwise";
import { describe, expect, test } from "vitest";

const circular: { self?: unknown } = {};
circular.self = circular;

const list: unknown[] = ["text"];
list.push(list, list);
const input: { input?: unknown } = {};
input.input = input;

function nested(depth: number): unknown {
  let value: unknown = "abcdefgh";
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

describe("estimateTokens", () => {
  const table: [string, unknown, number][] = [
    ["counts four characters of a text as one token", "The quick brown fox!", 5],
    ["rounds up", "hello", 2],
    ["is at least 1", "", 1],
    ["counts a character of other scripts as one token", "日本語", 3],
    ["mixes both", "abcd日本", 3],
    ["mixes both in any order", "日ab本cd", 3],
    ["takes the last ASCII character for one of four", "\u007f".repeat(8), 2],
    ["takes the first beyond for a token", "\u0080".repeat(8), 8],
    ["adds up an array of texts", ["abcd", "efgh"], 2],
    ["counts token ids one by one", [101, 2023, 102], 3],
    ["adds four tokens for each message of a chat", { messages: [{ role: "user", content: "abcdefgh" }] }, 6],
    ["reads the parts of a message's content", { messages: [{ content: [{ type: "text", text: "abcdefgh" }] }] }, 6],
    [
      "counts an image as an image, not as the text that holds it",
      {
        messages: [
          {
            content: [
              { type: "image_url", image_url: { url: "x".repeat(9_999) } },
              { type: "text", text: "" },
            ],
          },
        ],
      },
      1_604,
    ],
    ["counts tool calls of a message as their JSON", { messages: [{ content: null, tool_calls: [] }] }, 5],
    ["takes a message that is a text", { messages: ["abcd"] }, 5],
    ["reads input", { input: "abcdefgh" }, 2],
    ["reads prompt", { prompt: ["abcd", "abcd", "abcd"] }, 3],
    ["counts any other object as its JSON", { a: 1 }, 2],
    ["counts what has no JSON as 1", circular, 1],
    ["counts an array that holds itself as 1", list, 1],
    ["counts a body whose input is itself as 1", input, 1],
    ["counts what is nested 20,000 deep as 1", nested(20_000), 1],
    ["reads what is nested 1,000 deep", nested(1_000), 2],
    ["counts null as 1", null, 1],
    ["counts undefined as 1", undefined, 1],
    ["counts a number as 1", 7, 1],
    ["counts a boolean as 1", true, 1],
  ];
  test.each(table)("%s", (_name, value, tokens) => {
    expect(estimateTokens(value)).toBe(tokens);
  });
});
