import { expect, test } from "vitest";
import type { TokenThread } from "../../../src/onnx/text/token-thread.ts";
import { tokenizeAll } from "../../../src/onnx/text/tokenize-all.ts";
import type { TokenCount, Tokenizer } from "../../../src/onnx/text/tokenizer.ts";

const count: TokenCount = { ids: [1], tokens: 1 };
const tokenizer: Tokenizer = { vocabularySize: 2, paddingId: 0, encode: () => [1] };

/** Whether the text was tokenised in the thread. */
async function isLong(text: string): Promise<boolean> {
  let isThere = false;
  const thread = {
    tokensOf: async () => {
      isThere = true;
      return count;
    },
  };
  const limit = { maxTokens: 512, truncate: false };
  await tokenizeAll({ tokenizer, limit, thread: thread as unknown as TokenThread }, [text]);
  return isThere;
}

test.each([
  { what: "512 characters of words", text: "word ".repeat(103).slice(0, 512), expected: false },
  { what: "513 characters of words", text: "word ".repeat(103).slice(0, 513), expected: true },
  { what: "five words of a hundred letters", text: `${"q".repeat(100)} `.repeat(5).slice(0, 500), expected: true },
  {
    what: "a word of 65 letters among 500 characters",
    text: `${"word ".repeat(80)}${"q".repeat(65)} end`,
    expected: true,
  },
  {
    what: "a word of 64 letters among 500 characters",
    text: `${"word ".repeat(80)}${"q".repeat(64)} end`,
    expected: false,
  },
  { what: "one word of 128 letters", text: "q".repeat(128), expected: false },
  { what: "one word of 129 letters", text: "q".repeat(129), expected: true },
])("a text of $what goes to the thread: $expected", async ({ text, expected }) => {
  expect(await isLong(text)).toBe(expected);
});
