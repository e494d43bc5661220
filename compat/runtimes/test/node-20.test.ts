import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { built, root } from "../../../packages/batchwise/test/house/repository.ts";
import { oldestRuntime, runtimes } from "../runtimes.ts";

const fixtures = `${root}packages/batchwise/test/house/fixtures`;

test("the built library runs on an older supported Node.js", () => {
  built("index.js");
  const output = execFileSync(oldestRuntime(), [`${fixtures}/smoke.mjs`], { encoding: "utf8" });
  expect(output).toMatch(/^v2\d\.\d+\.\d+: \d+ entries\n$/);
});

test("on an older Node.js, too, no caller's AsyncLocalStorage store outlives its item", () => {
  const library = pathToFileURL(built("index.js")).href;
  const child = `${root}packages/batchwise/test/core/fixtures/context-stores.mjs`;
  const output = execFileSync(oldestRuntime(), ["--expose-gc", child, library], { encoding: "utf8" });
  expect(JSON.parse(output)).toEqual({ cases: 19, reachable: {} });
});

test("on an older Node.js, too, threads block on a batcher whose handler runs in threads, and all end", () => {
  built("threads/index.js");
  const output = execFileSync(oldestRuntime(), [`${fixtures}/threads.mjs`], { encoding: "utf8", timeout: 30_000 });
  expect(output).toBe('[1000,"DEADLINE_EXCEEDED",true]\n'.repeat(2));
});

describe.each(runtimes())("Node.js %s", (_, node) => {
  test("loads every entry by require and by import, and each build understands the other", () => {
    built("index.cjs");
    const output = execFileSync(node, [`${fixtures}/both-builds.mjs`], { encoding: "utf8", timeout: 30_000 });
    expect(output).toMatch(/^\d+ entries\n$/);
  });
});
