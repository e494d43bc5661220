import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { importsOf } from "./layers.ts";
import { built, filesMatching, manifestOf, root, textOf } from "./repository.ts";

const manifest = manifestOf("packages/batchwise");
const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
  typeof target === "string" ? [] : [{ name, ...target }],
);

/** The folder of src that a built entry file comes from, with its slash; "" for src itself. */
function folderOf(main: string): string {
  return main.replace(/^\.\/dist\//, "").replace(/index\.js$/, "");
}

/** Files reached from a built file by relative imports, and the specifiers of everything else they name. */
function reach(file: string): string[] {
  const outside: string[] = [];
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const specifier of importsOf(path, readFileSync(path, "utf8"))) {
      if (specifier.startsWith(".")) visit(new URL(specifier, `file://${path}`).pathname);
      else outside.push(specifier);
    }
  };
  visit(file);
  return outside;
}

describe("the library's package", () => {
  test("depends on nothing", () => {
    expect(manifest.dependencies).toEqual({});
  });

  test("exports the engine and the tools for tests", () => {
    expect(entries.map((entry) => entry.name)).toEqual(expect.arrayContaining([".", "./testing"]));
  });

  test.each(entries)("$name is built from a source folder of the same name", ({ name, types, default: main }) => {
    const folder = folderOf(main);
    expect(folder.split("/").at(-2)).toBe(name === "." ? undefined : name.split("/").at(-1));
    expect(filesMatching(`packages/batchwise/src/${folder}index.ts`)).toHaveLength(1);
    expect(types).toBe(`./dist/${folder}index.d.ts`);
    expect(main).toBe(`./dist/${folder}index.js`);
    built(`${folder}index.js`);
    built(`${folder}index.d.ts`);
  });

  test("every source folder with an entry file is exported", () => {
    const folders = filesMatching("packages/batchwise/src/**/index.ts").map((file) =>
      file.split("/").slice(3, -1).join("/"),
    );
    expect(entries.map((entry) => folderOf(entry.default).slice(0, -1)).sort()).toEqual(folders.sort());
  });

  test("carries the licence of the repository", () => {
    expect(textOf("packages/batchwise/LICENSE")).toBe(textOf("LICENSE"));
    expect(textOf("packages/server/LICENSE")).toBe(textOf("LICENSE"));
  });
});

describe("the built engine", () => {
  test("reaches nothing outside itself, no node: module either", () => {
    expect(reach(built("index.js"))).toEqual([]);
    expect(reach(built("testing/index.js"))).toEqual([]);
    expect(reach(built("tensor/index.js"))).toEqual([]);
    expect(reach(built("onnx/browser.js"))).toEqual([]);
  });

  test("bundles for the browser without an unresolved import or a warning", async () => {
    const result = await build({
      entryPoints: [built("index.js")],
      bundle: true,
      platform: "browser",
      format: "esm",
      write: false,
      metafile: true,
      logLevel: "silent",
    });
    const [output] = Object.values(result.metafile.outputs);
    expect(result.warnings).toEqual([]);
    expect(output?.imports).toEqual([]);
    expect(output?.exports).toContain("batch");
  });

  test("bundles for the browser with the handler of a session, and without what needs threads", async () => {
    const contents = 'export { onnxHandler } from "batchwise/onnx"; export { batchTensors } from "batchwise/tensor";';
    const { warnings, metafile } = await build({
      stdin: { contents, resolveDir: `${root}packages/server` },
      bundle: true,
      platform: "browser",
      format: "esm",
      write: false,
      metafile: true,
      logLevel: "silent",
    });
    const [output] = Object.values(metafile.outputs);
    expect(warnings).toEqual([]);
    expect(output?.imports).toEqual([]);
    expect(output?.exports).toEqual(["batchTensors", "onnxHandler"]);
    expect(Object.keys(output?.inputs ?? {}).filter((file) => file.includes("/threads/"))).toEqual([]);
  });
});
