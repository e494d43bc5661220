// Texts that are too long, and token ids instead of texts.

import { describe, expect, test } from "vitest";
import { createApp } from "../../src/http/app.ts";
import type { EmbedderOptions } from "../../src/models/embedder.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";
import { jsonPost } from "../support/json-post.ts";
import type { Failure } from "../support/services.ts";
import { wordPieceDefinition } from "../support/word-piece.ts";

const CONFIG = { "config.json": { max_position_embeddings: 5 } };
const LONG = "the piano , the rain , the piano";

async function service(options: EmbedderOptions, files = {}): Promise<(input: unknown) => Promise<[number, unknown]>> {
  const model = await exportFolder(tableGraph(), { ...CONFIG, ...files });
  const app = createApp({ embedder: await openEmbedder({ model, pooling: "mean", ...options }) });
  return async (input) => {
    const response = await app.request("/v1/embeddings", jsonPost({ model: "export", input }));
    return [response.status, await response.json()];
  };
}

describe("a text that is too long", () => {
  test("is refused by default", async () => {
    const ask = await service({});
    expect(await ask(LONG)).toMatchObject([400, { error: { code: "context_length_exceeded" } }]);
  });

  test.each([
    ["right", "the piano ,"],
    ["left", ", the piano"],
  ])("keeps its marks and the fitting part where it is cut on the %s", async (side, rest) => {
    const ask = await service({ truncate: true }, { "tokenizer_config.json": { truncation_side: side } });
    const [status, cut] = await ask(LONG);
    expect(status).toBe(200);
    expect(cut).toMatchObject({ usage: { prompt_tokens: 5 } });
    const [, whole] = await ask(rest);
    expect(vectorOf(cut)).toEqual(vectorOf(whole));
  });

  test("is cut too where it is far too long to count", async () => {
    const ask = await service({ truncate: true });
    const [, cut] = await ask("the piano , ".repeat(5_000));
    expect(vectorOf(cut)).toEqual(vectorOf((await ask("the piano ,"))[1]));
  });

  test("is refused as a list of token ids, which are used as they are", async () => {
    const ask = await service({ truncate: true });
    expect(await ask([2, 4, 5, 6, 7, 3])).toMatchObject([400, { error: { code: "context_length_exceeded" } }]);
  });
});

describe("token ids", () => {
  test.each([[[2, 4, 3]], [[[2, 4, 3]]], [["rain", [2, 4, 3]]]])(
    "as %j are refused where only texts are taken",
    async (input) => {
      const ask = await service({ tokenInput: false });
      expect(await ask(input)).toMatchObject([400, { error: { code: "invalid_type", param: "input" } }]);
      expect(await ask("rain")).toMatchObject([200, {}]);
      expect(await (await service({}))(input)).toMatchObject([200, {}]);
    },
  );
});

describe("token ids without the special tokens of the model's tokenizer", () => {
  test.each([
    [[4, 5], "input"],
    [["rain", [2, 4, 5]], "input[1]"],
  ])("as %j are refused by place, with the way out", async (input, place) => {
    const ask = await service({});
    const [status, answer] = await ask(input);
    expect(status).toBe(400);
    const { error } = answer as Failure;
    expect(error).toMatchObject({ code: "invalid_token", param: "input" });
    expect(error.message).toContain(`\`${place}\` to begin with 2 and end with 3, the special tokens of this model`);
    expect(error.message).toContain("check_embedding_ctx_length=False");
  });

  test("are taken as they are where it adds none", async () => {
    const ask = await service({}, { "tokenizer.json": { ...wordPieceDefinition(), post_processor: null } });
    expect(await ask([4, 5])).toMatchObject([200, { usage: { prompt_tokens: 2 } }]);
  });
});

function vectorOf(answer: unknown): unknown {
  return (answer as { data: { embedding: unknown }[] }).data[0]?.embedding;
}
