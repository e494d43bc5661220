import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { built } from "../../../packages/batchwise/test/house/repository.ts";
import { runtimes } from "../runtimes.ts";

function run(node: string, name: string): { stdout: string; stderr: string; status: number | null } {
  const program = fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
  built("index.js");
  return spawnSync(node, [program], { encoding: "utf8", timeout: 20_000 });
}

describe.each(runtimes())("under Node.js %s", (_, node) => {
  test("turns, async contexts and streams are the same as elsewhere", () => {
    expect(run(node, "turns.mjs")).toMatchObject({ stderr: "", stdout: "all of it holds\n", status: 0 });
  });

  test("an idle batcher holds no timer and no handle, and the process ends by itself", () => {
    expect(run(node, "idle.mjs")).toMatchObject({ stderr: "", stdout: "ended by itself\n", status: 0 });
  });

  test("a `fetch` at batch price and the webhook of providers work", () => {
    expect(run(node, "batch-fetch.mjs")).toMatchObject({ stderr: "", stdout: "answered\n", status: 0 });
  });
});
