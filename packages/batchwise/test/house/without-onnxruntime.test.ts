// The built package in a folder without onnxruntime-node, as a user has it who has not read the page to its end.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { built } from "./repository.ts";

test("a model says what to install where onnxruntime-node is missing", () => {
  const folder = mkdtempSync(join(tmpdir(), "batchwise-without-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(join(built("index.js"), ".."), folder, { recursive: true });
  const file = join(folder, "main.js");
  const source = `import { onnxModel } from "./onnx/index.js";
    const model = onnxModel({ path: "model.onnx", workers: 1 });
    await model.open().catch(({ code, message }) => console.log(code, message));`;
  writeFileSync(file, source);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const run = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 20_000 });
  expect(run.stdout).toBe(
    "MODEL_LOAD onnxModel runs models with onnxruntime-node, which is not installed. Run `npm install onnxruntime-node`\n",
  );
});
