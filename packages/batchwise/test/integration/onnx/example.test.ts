import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { built, root } from "../../house/repository.ts";
import { fileOf } from "./kit.ts";

test("the example of embeddings runs on the built package, finds the notes, and ends by itself", () => {
  built("onnx/index.js");
  const file = `${root}examples/embeddings/main.ts`;
  const env = { ...process.env, XDG_CACHE_HOME: `${fileOf("")}.cache` };
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 60_000, env });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const [water, first, second, train, platform] = stdout.split("\n");
  expect([water, train]).toEqual(["How much water do the tomatoes need?", "Which platform for the train to Basel?"]);
  expect([first, second].sort().join()).toMatch(/tomatoes.*tomatoes/);
  expect(platform).toContain("The train to Basel leaves from platform nine.");
  expect(stdout).toMatch(/^10 texts of 128 numbers in [3-9] batches$/m);
});
