import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { home as frameworks, writePrismaClient } from "../../../../../compat/frameworks/recipes.ts";
import { built, filesMatching, manifestOf, root, scratchFolder, textOf } from "../repository.ts";
import { docstringSnippetsIn, packagesIn, type Snippet, snippetsIn } from "./snippets.ts";

const pages = filesMatching("README.md", "docs/**/*.md", "{packages,examples,compat}/**/README.md");
const sources = filesMatching("packages/batchwise/src/**/*.ts");
const snippets = [
  ...pages.flatMap((page) => snippetsIn(page, textOf(page))),
  ...sources.flatMap((source) => docstringSnippetsIn(source, textOf(source))),
];

/**
 * The folders from which a block finds what it imports. A block that needs nothing of the others
 * belongs to the root.
 */
const homes = [frameworks, `${root}compat/models/`, `${root}bench/`, root];

function homeOf({ code }: Snippet): string | undefined {
  return homes.find((home) => {
    const { devDependencies = {} } = manifestOf(home.slice(root.length) || ".");
    const needs = code.includes("./generated/client.ts") ? ["prisma"] : packagesIn(code);
    return home === root || needs.some((name) => name in devDependencies);
  });
}

/**
 * Whether these blocks all run to their end, one after another in one process that prints no error
 * and ends by itself.
 */
function runTogether(folder: string, names: readonly string[]): boolean {
  const imports = names.map((name) => `await import("./${name}");`);
  writeFileSync(`${folder}all-blocks.mjs`, `${imports.join("\n")}\nconsole.log("all have run");\n`);
  const options = { encoding: "utf8", timeout: 60_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [`${folder}all-blocks.mjs`], options);
  return status === 0 && stderr === "" && stdout.includes("all have run");
}

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

describe.each(homes)("the documentation, compiled in %s", (home) => {
  const folder = scratchFolder("snippets", home);
  const own = snippets.filter((snippet) => homeOf(snippet) === home);

  beforeAll(() => {
    built("index.js");
    const compilerOptions = { noUnusedLocals: false, jsx: "react-jsx" };
    const config = { extends: `${root}tsconfig.json`, compilerOptions, include: [folder] };
    writeFileSync(`${folder}tsconfig.json`, JSON.stringify({ ...config, exclude: [] }));
    for (const { name, code } of own) writeFileSync(folder + name, code);
    if (home === frameworks) writePrismaClient(folder);
    writeFileSync(`${folder}page-that-compiles.ts`, "console.log(1);\n");
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("has TypeScript blocks that all type-check, and so do the examples in docstrings", () => {
    const { stdout } = spawnSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { encoding: "utf8" });
    expect(stdout).toBe("");
  });

  test("has running blocks that all run to their end", () => {
    const running = own.filter((snippet) => snippet.runs);
    expect(own).not.toEqual([]);
    const names = running.map(({ name }) => name);
    // Saves dozens of processes; where one fails, each shows what it does by itself.
    if (runTogether(folder, names)) return;
    for (const name of names) {
      const { status, stderr } = spawnSync(process.execPath, [folder + name], { encoding: "utf8", timeout: 30_000 });
      expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: "" });
    }
  });
});
