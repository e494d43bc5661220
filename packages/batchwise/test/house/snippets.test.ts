import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writePrismaClient } from "./recipes.ts";
import { built, filesMatching, root, scratchFolder, textOf } from "./repository.ts";
import { docstringSnippetsIn, snippetsIn } from "./snippets.ts";

const pages = filesMatching("README.md", "docs/**/*.md", "{packages,examples}/**/README.md");
const sources = filesMatching("packages/batchwise/src/**/*.ts");
const snippets = [
  ...pages.flatMap((page) => snippetsIn(page, textOf(page))),
  ...sources.flatMap((source) => docstringSnippetsIn(source, textOf(source))),
];

describe("a page's TypeScript blocks", () => {
  const page = ["# Page", "```ts", "one();", "```", "```sh", "npm test", "```", "```ts run", "two();", "```"];
  page.push("```tsx", "<p>three</p>;", "```", "");

  test("are found by their fence, named by their line, and run only where the fence says so", () => {
    expect(snippetsIn("docs/Page.md", page.join("\n"))).toEqual([
      { name: "docs-page-2.ts", code: "one();\n", runs: false },
      { name: "docs-page-8.ts", code: "two();\n", runs: true },
      { name: "docs-page-11.tsx", code: "<p>three</p>;\n", runs: false },
    ]);
  });
});

describe("the documentation", () => {
  const folder = scratchFolder("snippets");

  beforeAll(() => {
    built("index.js");
    const compilerOptions = { noUnusedLocals: false, jsx: "react-jsx" };
    const config = { extends: `${root}tsconfig.json`, compilerOptions, include: [folder] };
    writeFileSync(`${folder}tsconfig.json`, JSON.stringify({ ...config, exclude: [] }));
    for (const { name, code } of snippets) writeFileSync(folder + name, code);
    writePrismaClient(folder);
    writeFileSync(`${folder}page-that-compiles.ts`, "console.log(1);\n");
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("has TypeScript blocks that all type-check, and so do the examples in docstrings", () => {
    const { stdout } = spawnSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { encoding: "utf8" });
    expect(stdout).toBe("");
  });

  test("has running blocks that all run to their end", () => {
    const running = snippets.filter((snippet) => snippet.runs);
    expect(running).not.toEqual([]);
    for (const { name } of running) {
      const { status, stderr } = spawnSync(process.execPath, [folder + name], { encoding: "utf8", timeout: 30_000 });
      expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: "" });
    }
  });
});
