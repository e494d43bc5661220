import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { findEntries, isManifestCurrent } from "../../../../../scripts/library/entries.ts";
import { importsOf } from "../code/layers.ts";
import { built, filesMatching, manifestOf, root, textOf } from "../repository.ts";

const manifest = manifestOf("packages/batchwise");
const entries = findEntries();
/** What a tarball has besides what is built. */
const pages = ["CHANGELOG.md", "LICENSE", "README.md", "package.json"];

interface Tarball {
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** What npm would publish. */
function packed(): Tarball {
  const args = ["pack", "./packages/batchwise", "--dry-run", "--ignore-scripts", "--json"];
  const answer = JSON.parse(
    execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  );
  return (Object.values(answer) as Tarball[])[0] as Tarball;
}

/**
 * Files reached from a built file by relative imports, and the specifiers of everything else they
 * name.
 */
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

  test("package.json and the source folders agree about the entries", () => {
    expect(isManifestCurrent(entries)).toBe(true);
    expect(Object.keys(manifest.exports)).toEqual([...entries.map(({ name }) => name), "./package.json"]);
  });

  test.each(entries)("$name is built for import and for require, each with its types", ({ file }) => {
    for (const extension of [".js", ".cjs", ".d.ts", ".d.cts"]) built(file + extension);
  });

  test("every example of a docstring is in the declarations", () => {
    const examplesIn = (pattern: string): string[] =>
      filesMatching(pattern).flatMap((file) => textOf(file).match(/^ *\* @example$/gm) ?? []);
    const declared = globSync("**/*.d.cts", { cwd: dirname(built("index.d.cts")) }).map((file) => built(file));
    const inDeclarations = declared.flatMap((file) => readFileSync(file, "utf8").match(/^ *\* @example$/gm) ?? []);
    expect(inDeclarations.length).toBe(examplesIn("packages/batchwise/src/**/*.ts").length);
  });

  test("is packed in at most 8 files an entry, and in at most 900 KB, without source maps", () => {
    const { size, files } = packed();
    expect(files.filter(({ path }) => !/^(dist|grafana)\//.test(path)).map(({ path }) => path)).toEqual(pages);
    expect(files.length).toBeLessThanOrEqual(8 * entries.length);
    expect(files.filter(({ path }) => path.endsWith(".map"))).toEqual([]);
    expect(size).toBeLessThanOrEqual(900_000);
  });

  test("is as readable as compiled code is: functions, classes and variables have the names of the sources", () => {
    const sources = filesMatching("packages/batchwise/src/**/*.ts").map(textOf).join("\n");
    const dist = dirname(built("index.cjs"));
    const words = new Set(
      globSync("**/*.cjs", { cwd: dist }).flatMap((file) => textOf(`packages/batchwise/dist/${file}`).match(/\w+/g)),
    );
    const names = new Set([...sources.matchAll(/\b(?:function\*?|class|const|let) (\w{4,})/g)].map(([, name]) => name));
    // Files of threads are ES modules alone; some constants are written in place.
    const others = [...names].filter((name) => !words.has(name as string));
    expect(others.length / names.size).toBeLessThan(0.05);
  });

  test.each([
    ["require", 'const { createDispatcher } = require("batchwise/dispatch")'],
    ["import", 'import { createDispatcher } from "batchwise/dispatch"'],
  ])("shows its functions in the stack of an error, loaded by %s", (way, loading) => {
    const program = `${loading}; try { createDispatcher({ store: 1 }); } catch ({ stack }) { console.log(stack); }`;
    const flags = [`--input-type=${way === "import" ? "module" : "commonjs"}`, "--eval", program];
    const stack = execFileSync(process.execPath, flags, { cwd: `${root}packages/server`, encoding: "utf8" });
    expect(stack).toMatch(/at checkStore \(.*:\d+:\d+\)\n *at resolveOptions .*\n *at createDispatcher /);
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

  test("`batch` alone costs an application as much as with one file a module, and an observer's places", async () => {
    const { outputFiles } = await build({
      stdin: { contents: 'export { batch } from "batchwise";', resolveDir: `${root}packages/server` },
      bundle: true,
      minify: true,
      platform: "browser",
      format: "esm",
      write: false,
    });
    // 30,089 bytes before self-calls, items held at exit, idle options, names of other libraries,
    // `map` and the latency target; 37,649 with them; 38,204 with deadlines of one duration in a
    // list (a million items: a third of the time) and learned caps that are worked out once a
    // change; 38,680 with rounds of tenants whose entries are linked (`fairBy` takes half the time)
    // and chunks that are joined for raised items; 38,882 with chunks that a batch takes whole (a
    // batch of one takes 6 % less time, `submitMany` 8 %) and read results of `map` that are freed;
    // 38,986 with whole chunks of the most urgent line and a short way for items of which only the
    // cost is read (with a cost and three priorities: 15 % less time).
    expect(gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length).toBeLessThan(39_000);
  });

  test("bundles for the browser with the handler of a session, and without the code for threads", async () => {
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
