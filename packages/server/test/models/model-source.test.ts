import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { BUILT_IN_MODEL_NAME, resolveModel } from "../../src/models/model-source.ts";
import { temporaryFolder } from "../support/folders.ts";
import { wordPieceDefinition } from "../support/word-piece.ts";

const SMALL = { layers: 1, hidden: 16, feedForward: 16, vocabulary: 32, maxTokens: 64 };

async function folderWith(files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = join(await temporaryFolder(), "all-minilm");
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify(content));
  }
  return folder;
}

describe("the built-in model", () => {
  test("is there without any option but a place to keep it", async () => {
    const source = await resolveModel({ modelDirectory: await temporaryFolder(), encoder: SMALL });
    expect(source).toMatchObject({ name: BUILT_IN_MODEL_NAME, builtIn: true, maxTokens: 64 });
  });

  test("takes a lower limit on tokens, and no higher one than it has positions for", async () => {
    const options = { modelDirectory: await temporaryFolder(), encoder: SMALL };
    expect((await resolveModel({ ...options, maxTokens: 16 })).maxTokens).toBe(16);
    expect((await resolveModel({ ...options, maxTokens: 4096 })).maxTokens).toBe(64);
  });

  test("refuses a tokenizer that is not its own", async () => {
    await expect(resolveModel({ tokenizer: "tokenizer.json" })).rejects.toThrow("without a model");
  });

  test("says which folder it could not be kept in", async () => {
    const file = join(await temporaryFolder(), "file");
    await writeFile(file, "");
    await expect(resolveModel({ modelDirectory: join(file, "x"), encoder: SMALL })).rejects.toThrow(file);
  });
});

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
      builtIn: false,
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
      modelName: "ours",
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
