// Bundles the compiled modules of the library: one file per entry, and a few that entries share.
//
// The parts for browsers (portable entries) are written twice, as ES modules, of which bundlers can
// take parts, and as CommonJS. Everything else is written once for both; see shared-file.ts. Names
// and lines stay as tsc wrote them, so that stack traces and debuggers show the code; comments are
// removed.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { type OutputChunk, type OutputOptions, type Plugin, type RolldownBuild, rolldown } from "rolldown";
import { type Entry, portableFiles, workerFiles } from "./entries.ts";
import { markUrl, sharedFiles } from "./shared-file.ts";

/**
 * The files in `shared/`. Bundlers omit a whole unused file, but less inside one, so the parts that
 * a program with only `batch` does not need are separate from the core.
 */
const groups = [
  { name: "core", test: /\/(core|padded|makers)\/|\/tokens\/(count|estimate)-/, priority: 1, minShareCount: 1 },
  { name: "tokens", test: /\/tokens\//, minShareCount: 1 },
  { name: "decorators", test: /\/decorators\//, minShareCount: 1 },
  { name: "limits", test: /\/limits\/(?!.*\/)/, minShareCount: 1 },
  { name: "stream", test: /\/stream\//, minShareCount: 1 },
  { name: "tensor", test: /\/tensor\//, minShareCount: 2 },
  { name: "onnx", test: /\/onnx\/(?!text\/|open-session|cores|low-priority|model-|session-)/, minShareCount: 2 },
  { name: "models", test: /\/onnx\//, minShareCount: 2 },
  { name: "threads", test: /\/threads\//, minShareCount: 2 },
  { name: "dispatch", test: /\/dispatch\//, minShareCount: 2 },
];

const isOutside = (name: string): boolean => !name.startsWith(".") && !name.startsWith("/");

/** The groups by the paths of compiled modules, independent of the path of the checkout. */
export function groupsIn<Group extends { readonly test: RegExp }>(
  all: readonly Group[],
  compiled: string,
): (Omit<Group, "test"> & { test: (id: string) => boolean })[] {
  return all.map((group) => ({ ...group, test: (id) => group.test.test(`/${posix.relative(compiled, id)}`) }));
}

/** A built file is not at the place of its source. Sources write `const … = import.meta.url;`. */
function urlPlugin(compiled: string): Plugin {
  return {
    name: "module-urls",
    transform: (code, id) => {
      const file = posix.relative(compiled, id).replace(/\.js$/, "");
      return workerFiles.includes(file) ? null : code.replaceAll("= import.meta.url;", `= ${markUrl(file)};`);
    },
  };
}

async function generate(build: RolldownBuild, format: "esm" | "cjs", compiled: string): Promise<OutputChunk[]> {
  const extension = format === "esm" ? "js" : "cjs";
  const options: OutputOptions = {
    format,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `shared/[name].${extension}`,
    codeSplitting: { groups: groupsIn(groups, compiled) },
    comments: { legal: false, jsdoc: false, annotation: true },
    minifyInternalExports: false,
  };
  const { output } = await build.generate(options);
  return output.filter((file) => file.type === "chunk");
}

/** File names, without extensions, of the portable chunks and of all their imports. */
function reachedFrom(files: readonly string[], chunks: readonly OutputChunk[]): Set<string> {
  const byFile = new Map(chunks.map((chunk) => [baseOf(chunk.fileName), chunk]));
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const name of byFile.get(file)?.imports ?? []) if (byFile.has(baseOf(name))) visit(baseOf(name));
  };
  for (const file of files) visit(file);
  return reached;
}

function baseOf(fileName: string): string {
  return fileName.replace(/\.c?js$/, "");
}

/** A module of Node.js in a file for browsers means that a group of `groups` mixes the two. */
function refuseBuiltins({ fileName, imports }: OutputChunk): void {
  const builtin = imports.find((name) => name.startsWith("node:"));
  if (builtin !== undefined) throw new Error(`${fileName} is for browsers, and imports ${builtin}`);
}

/** The import specifier as written in the chunk's code. */
function specifierOf(name: string, from: string): string {
  if (!/\.cjs$/.test(name)) return name;
  const relative = posix.relative(dirname(from), name);
  return relative.startsWith(".") ? relative : `./${relative}`;
}

/** Bundles the modules that tsc wrote to the folder `compiled` into the folder `dist`. */
export async function bundleJavaScript(entries: readonly Entry[], compiled: string, dist: string): Promise<void> {
  const portable = portableFiles(entries);
  const files = [...new Set([...entries.map(({ file }) => file), ...portable, ...workerFiles])];
  const build = await rolldown({
    cwd: compiled,
    input: Object.fromEntries(files.map((file) => [file, join(compiled, `${file}.js`)])),
    external: isOutside,
    plugins: [urlPlugin(compiled)],
    tsconfig: false,
    onLog: (_, log) => {
      throw new Error(`the bundler says: ${log.message}`);
    },
  });
  const chunks = await generate(build, "cjs", compiled);
  const dual = reachedFrom(portable, chunks);
  const write = (file: string, code: string): void => {
    mkdirSync(dirname(join(dist, file)), { recursive: true });
    writeFileSync(join(dist, file), code);
  };
  for (const chunk of chunks.filter(({ fileName }) => dual.has(baseOf(fileName)))) refuseBuiltins(chunk);
  for (const { fileName, code } of await generate(build, "esm", compiled)) {
    if (dual.has(baseOf(fileName)) || workerFiles.includes(baseOf(fileName))) write(fileName, code);
  }
  for (const { fileName, code, imports, dynamicImports, exports } of chunks) {
    const file = baseOf(fileName);
    const named = (names: readonly string[]): string[] => names.map((name) => specifierOf(name, fileName));
    if (dual.has(file)) write(fileName, code);
    else if (!workerFiles.includes(file)) {
      const chunk = { file, code, exports, imports: named(imports), dynamicImports: named(dynamicImports) };
      for (const [name, text] of Object.entries(sharedFiles(chunk))) write(name, text);
    }
  }
}
