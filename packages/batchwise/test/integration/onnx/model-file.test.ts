import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onnxModel } from "batchwise/onnx";
import { describe, expect, test } from "vitest";

async function opening(content: string): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "batchwise-test-"));
  const path = join(folder, "model.onnx");
  try {
    await writeFile(path, content);
    return await onnxModel({ path })
      .open()
      .catch((error: unknown) => error);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("a file that is no model", () => {
  test("is refused by name, with the way out, where it is a pointer of Git LFS", async () => {
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:abcd\nsize 90405214\n";
    expect(await opening(pointer)).toMatchObject({
      code: "MODEL_LOAD",
      message: expect.stringMatching(/model\.onnx: the file is a pointer of Git LFS .* git lfs pull/),
    });
  });

  test("is refused by name where it is empty", async () => {
    expect(await opening("")).toMatchObject({ message: expect.stringMatching(/model\.onnx: the file is empty/) });
  });
});
