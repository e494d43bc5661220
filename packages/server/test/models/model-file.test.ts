import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Embedder } from "../../src/models/embedder.ts";
import { temporaryFolder } from "../support/folders.ts";
import { wordPieceDefinition } from "../support/word-piece.ts";

async function opened(content: string): Promise<Embedder> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "tokenizer.json"), JSON.stringify(wordPieceDefinition()));
  await writeFile(join(folder, "model.onnx"), content);
  return Embedder.open({ model: folder });
}

describe("a file that is no model", () => {
  test("is refused by name, with the way out, where it is a pointer of Git LFS", async () => {
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:abcd\nsize 90405214\n";
    await expect(opened(pointer)).rejects.toThrow(/model\.onnx is a pointer of Git LFS .* git lfs pull/);
  });

  test("is refused by name where it is empty", async () => {
    await expect(opened("")).rejects.toThrow(/model\.onnx is empty/);
  });
});
