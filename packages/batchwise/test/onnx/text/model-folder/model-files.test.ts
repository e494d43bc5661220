import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { hashingTokenizer } from "../../../../../server/src/models/hashing-tokenizer.ts";
import { temporaryFolder } from "../../../../../server/test/support/folders.ts";
import { wordPieceDefinition } from "../../../../../server/test/support/word-piece.ts";
import { resolveModel } from "../../../../src/onnx/text/model-folder/model-files.ts";

async function folderWith(files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = join(await temporaryFolder(), "all-minilm");
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify(content));
  }
  return folder;
}

describe("a model of the user's", () => {
  test("is found in a folder as hubs lay it out, with its tokenizer and its limit", async () => {
    const folder = await folderWith({
      "onnx/model.onnx": "",
      "tokenizer.json": wordPieceDefinition(),
      "config.json": { max_position_embeddings: 514 },
      "tokenizer_config.json": { model_max_length: 512 },
    });
    const source = await resolveModel({ model: folder });
    expect(source).toMatchObject({
      name: "all-minilm",
      path: join(folder, "onnx", "model.onnx"),
      maxTokens: 512,
    });
  });

  test("is named after its file, and has 512 tokens when no file says otherwise", async () => {
    const folder = await folderWith({ "e5.onnx": "", "tokenizer.json": wordPieceDefinition() });
    expect(await resolveModel({ model: join(folder, "e5.onnx") })).toMatchObject({ name: "e5", maxTokens: 512 });
  });

  test("goes by the name and the limit that the user gives", async () => {
    const folder = await folderWith({ "e5.onnx": "", "words.json": wordPieceDefinition() });
    const source = await resolveModel({
      model: join(folder, "e5.onnx"),
      tokenizer: join(folder, "words.json"),
      name: "ours",
      maxTokens: 99,
    });
    expect(source).toMatchObject({ name: "ours", maxTokens: 99 });
  });

  test("is refused, by path, when it or its tokenizer is missing", async () => {
    const folder = await folderWith({ "e5.onnx": "" });
    await expect(resolveModel({ model: join(folder, "nothing") })).rejects.toThrow(join(folder, "nothing"));
    await expect(resolveModel({ model: join(folder, "e5.onnx") })).rejects.toThrow("no tokenizer.json beside");
  });
});

describe("a model that is described", () => {
  const model = { path: "/models/small.onnx", tokenizer: hashingTokenizer(64), maxTokens: 64 };

  test("needs no files beside it, and has the mean of its tokens' vectors unless it says otherwise", async () => {
    expect(await resolveModel({ model })).toMatchObject({
      ...{ name: "small", path: model.path, maxTokens: 64, firstPosition: 0 },
      readout: { source: "none", poolings: ["mean"] },
    });
    const pooled = await resolveModel({ model: { ...model, pooling: "cls" }, name: "ours", maxTokens: 32 });
    expect(pooled).toMatchObject({ name: "ours", maxTokens: 32, readout: { source: "option", poolings: ["cls"] } });
  });
});
