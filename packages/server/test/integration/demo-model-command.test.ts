import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onnxModel, openEmbedder } from "batchwise/onnx";
import { batchTensors, type Tensor } from "batchwise/tensor";
import { expect, test } from "vitest";
import { startCommand } from "../support/command.ts";
import { temporaryFolder } from "../support/folders.ts";
import { ended } from "../support/practice.ts";

function similarity(a: ArrayLike<number> = [], b: ArrayLike<number> = []): number {
  return Array.from(a).reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

async function demoModel(): Promise<string> {
  const folder = join(await temporaryFolder(), "made", "demo");
  const { code, output } = await ended(startCommand("demo-model", folder));
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining(join(folder, "model.onnx")) });
  expect(output).toContain(`batchwise serve --model ${folder}`);
  return folder;
}

test("demo-model writes a folder that openEmbedder opens without a warning, and in which shared words are near", async () => {
  const folder = await demoModel();
  await using embedder = await openEmbedder({ model: folder, workers: 1 });
  expect(embedder.warnings).toEqual([]);
  expect(embedder.model).toMatchObject({ dimensions: 128, maxTokens: 512 });
  const texts = ["the piano plays in the rain", "The Piano plays in thé rain!", "17 grey bricks by a wall"];
  const [one, same, other] = await embedder.embed(texts);
  expect(similarity(one, same)).toBeGreaterThan(0.9);
  expect(similarity(one, same)).toBeGreaterThan(similarity(one, other) + 0.2);
});

test("demo-model writes a model for onnxModel, whose rows do not depend on their batch", async () => {
  const folder = await demoModel();
  const model = onnxModel<Record<string, Tensor<"int64">>, { embedding: Tensor<"float32"> }>({
    path: join(folder, "model.onnx"),
    workers: 1,
  });
  await using run = batchTensors(model);
  const row = (...ids: readonly bigint[]): Record<string, Tensor<"int64">> => {
    const dims = [1, ids.length];
    const ones = new BigInt64Array(ids.length).fill(1n);
    return {
      input_ids: { type: "int64", data: BigInt64Array.from(ids), dims },
      attention_mask: { type: "int64", data: ones, dims },
    };
  };
  const together = await Promise.all([run(row(1n, 9n, 2n)), run(row(1n, 7n, 8n, 9n, 2n))]);
  const alone = await run(row(1n, 9n, 2n));
  expect(together[0]?.embedding.dims).toEqual([1, 128]);
  expect(similarity(together[0]?.embedding.data, alone.embedding.data)).toBeCloseTo(1, 4);
});

test("demo-model writes the same twice, and does not change a file of another program", async () => {
  const folder = await demoModel();
  expect(await ended(startCommand("demo-model", folder))).toMatchObject({ code: 0 });
  const path = join(folder, "tokenizer.json");
  await writeFile(path, "{}");
  const says = `${path} is there already, with other content; name another folder`;
  expect(await ended(startCommand("demo-model", folder))).toMatchObject({
    code: 2,
    output: expect.stringContaining(says),
  });
  expect(await readFile(path, "utf8")).toBe("{}");
  expect(await ended(startCommand("demo-model"))).toMatchObject({
    code: 2,
    output: expect.stringContaining("missing required argument 'folder'"),
  });
});
