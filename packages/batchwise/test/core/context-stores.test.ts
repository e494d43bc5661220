import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const child = fileURLToPath(new URL("./fixtures/context-stores.mjs", import.meta.url));
const library = new URL("../../src/index.ts", import.meta.url).href;

test("a caller's AsyncLocalStorage store is not reachable after its item has settled, however it did", () => {
  const flags = ["--no-warnings", "--expose-gc"];
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, child, library], {
    encoding: "utf8",
    timeout: 120_000,
  });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({ cases: 19, reachable: {} });
});
