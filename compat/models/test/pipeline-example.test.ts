import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { built, root } from "../../../packages/batchwise/test/house/repository.ts";

test("the example classifies with the built package, in batches, and ends by itself", () => {
  built("onnx/index.js");
  const file = `${root}compat/models/examples/classification/main.ts`;
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 60_000 });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("NEGATIVE 0.88: The soup was cold.\n");
  expect(stdout).toContain("POSITIVE 0.98: The view was lovely and the train was quick.\n");
  expect(stdout).toMatch(/^1280 sentences in \d+ batches: (?:[2-9]|\d\d)\.\d on average, \d+ at most$/m);
  expect(stdout).toMatch(/^one by one \d+ ms, in batches \d+ ms: \d+\.\d times as fast$/m);
});

test("the example says which model it does not find", () => {
  const file = `${root}compat/models/examples/classification/main.ts`;
  const { status, stderr } = spawnSync(process.execPath, [file, "no-such-model"], {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(status).toBe(1);
  expect(stderr).toContain("no-such-model");
});
