// The built package in a folder without its optional peers, as a user has it who has not read the
// page to its end.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { built } from "../repository.ts";

/** The code and message with which opening a model fails. */
function failure(open: string): string {
  const folder = mkdtempSync(join(tmpdir(), "batchwise-without-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(join(built("index.js"), ".."), folder, { recursive: true });
  const file = join(folder, "main.js");
  const source = `import { onnxModel, openEmbedder } from "./onnx/index.js";
    await ${open}.catch(({ code, message }) => console.log(code, message));`;
  writeFileSync(file, source);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  for (const name of ["model.onnx", "tokenizer.json"]) writeFileSync(join(folder, name), '{ "model": {} }');
  return spawnSync(process.execPath, [file], { cwd: folder, encoding: "utf8", timeout: 20_000 }).stdout;
}

test("a model names the package to install where onnxruntime-node is missing", () => {
  expect(failure('onnxModel({ path: "model.onnx", workers: 1 }).open()')).toBe(
    "MODEL_LOAD Models run with onnxruntime-node, which is not installed. Run `ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@1` (`skip` leaves out libraries for GPUs, which come from another host)\n",
  );
});

test("an embedder names the package to install where @huggingface/tokenizers is missing", () => {
  expect(failure('openEmbedder({ model: ".", workers: 1 })')).toBe(
    "MODEL_LOAD A tokenizer.json is read with @huggingface/tokenizers, which is not installed. Run `npm install @huggingface/tokenizers`\n",
  );
});
