// Texts without any token that has a vector: an error of the caller.

import { describe, expect, test } from "vitest";
import { createApp } from "../../src/http/app.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";
import { jsonPost } from "../support/json-post.ts";
import { markedPieces, wordPieceDefinition } from "../support/word-piece.ts";

const { model: words, ...definition } = wordPieceDefinition();

async function ask(tokenizer: Record<string, unknown>, input: unknown): Promise<Response> {
  const model = await exportFolder(tableGraph(), { "tokenizer.json": tokenizer });
  const app = createApp({ embedder: await openEmbedder({ model, pooling: "mean" }) });
  return app.request("/v1/embeddings", jsonPost({ model: "export", input }));
}

async function expectRefusal(response: Response, message: RegExp): Promise<void> {
  expect(response.status).toBe(400);
  expect(response.headers.get("x-should-retry")).toBe("false");
  expect(await response.json()).toEqual({
    error: {
      type: "invalid_request_error",
      param: "input",
      code: expect.any(String),
      message: expect.stringMatching(message),
    },
  });
}

describe("a text without tokens", () => {
  const unmarked = { ...definition, model: words, post_processor: null };

  test.each([
    [" ", /`input` has no tokens/],
    [["rain", "\u200b \n"], /`input\[1\]` has no tokens/],
    [[[4, 5], "rain", " "], /`input\[2\]` has no tokens/],
  ])("is refused by its place: %j", async (input, message) => {
    await expectRefusal(await ask(unmarked, input), message);
  });
});

describe("a text for which the tokenizer fails", () => {
  // Without an unknown piece, a word that has no piece of its own is an error of the tokenizer or
  // an id that is none.
  const gaps = { ...definition, model: { ...(words as object), unk_token: "[GONE]" } };

  test("is refused by its place", async () => {
    await expectRefusal(await ask(gaps, [markedPieces([4]), "rain", "zebra"]), /`input\[2\]`/);
  });
});
