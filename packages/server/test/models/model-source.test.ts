import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BUILT_IN_MODEL_NAME, resolveModel } from "../../src/models/model-source.ts";
import { temporaryFolder } from "../support/folders.ts";

const SMALL = { layers: 1, hidden: 16, feedForward: 16, vocabulary: 32, maxTokens: 64 };

describe("the built-in model", () => {
  test("is there without any option but a place to keep it", async () => {
    const source = await resolveModel({ modelDirectory: await temporaryFolder(), encoder: SMALL });
    expect(source).toMatchObject({ name: BUILT_IN_MODEL_NAME, model: { maxTokens: 64 } });
  });

  test("takes as many tokens as the user names", async () => {
    const options = { modelDirectory: await temporaryFolder(), encoder: SMALL };
    expect(await resolveModel({ ...options, maxTokens: 16 })).toMatchObject({
      maxTokens: 16,
      model: { maxTokens: 64 },
    });
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

test("a model of the user's is described to the library as it is", async () => {
  expect(await resolveModel({ model: "e5.onnx", modelName: "ours", maxTokens: 9, pooling: "cls" })).toEqual({
    ...{ model: "e5.onnx", name: "ours", maxTokens: 9, pooling: "cls", tokenizer: undefined },
  });
});
