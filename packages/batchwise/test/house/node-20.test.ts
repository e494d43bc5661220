import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { built, root } from "./repository.ts";

/** A Node.js of the machine itself, from 20.19 up to, not including, 24: npm scripts run on the pinned newer one. */
function olderNode(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return folders.map((folder) => `${folder}/node`).find((file) => existsSync(file) && isSupported(versionOf(file)));
}

function versionOf(file: string): string {
  return execFileSync(file, ["--version"], { encoding: "utf8" });
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  return major === 20 ? minor >= 19 : major > 20 && major < 24;
}

test("the built library runs on an older supported Node.js", ({ skip }) => {
  built("index.js");
  const node = olderNode();
  if (node === undefined) return skip("no Node.js from 20.19 to 23 on the PATH");
  const output = execFileSync(node, [`${root}packages/batchwise/test/house/fixtures/smoke.mjs`], { encoding: "utf8" });
  expect(output).toMatch(/^v2[0-3]\.\d+\.\d+: \d+ entries\n$/);
});

test("on an older Node.js, too, no caller's AsyncLocalStorage store outlives his item", ({ skip }) => {
  built("index.js");
  const node = olderNode();
  if (node === undefined) return skip("no Node.js from 20.19 to 23 on the PATH");
  const library = pathToFileURL(`${root}packages/batchwise/dist/index.js`).href;
  const child = `${root}packages/batchwise/test/core/fixtures/context-stores.mjs`;
  const output = execFileSync(node, ["--expose-gc", child, library], { encoding: "utf8" });
  expect(JSON.parse(output)).toEqual({ cases: 17, reachable: {} });
});

test("on an older Node.js, too, threads block on a batcher whose handler runs in threads, and all end", ({ skip }) => {
  built("threads/index.js");
  const node = olderNode();
  if (node === undefined) return skip("no Node.js from 20.19 to 23 on the PATH");
  const child = `${root}packages/batchwise/test/house/fixtures/threads.mjs`;
  const output = execFileSync(node, [child], { encoding: "utf8", timeout: 30_000 });
  expect(output).toBe('[1000,"DEADLINE_EXCEEDED",true]\n'.repeat(2));
});
