// The entries of the library, read from its source folders: each folder with an `index.ts` is one.
// The parts of package.json that list entries (`exports`, `typesVersions`) are derived from them:
// `npm run exports` writes these, and the build fails if package.json differs.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const library = fileURLToPath(new URL("../../packages/batchwise", import.meta.url));
const manifestFile = `${library}/package.json`;

/** Folders that group entries and are not a part of an entry's name. */
const groupFolders = new Set(["providers", "stores"]);

/** Folders whose entries have another name. */
const namesOfFolders: Readonly<Record<string, string>> = { "dispatch-testing": "dispatch/testing" };

/** Loaded in a browser instead of the entry: these files reach no `node:` module. */
const browserFiles: Readonly<Record<string, string>> = { "./onnx": "onnx/browser" };

/**
 * Bundlers use parts of these, so each is a complete ES module and a complete CommonJS module; see
 * javascript.ts.
 */
const portableEntries = new Set([".", "./testing", "./tensor"]);

/** Modules that run in worker threads, loaded by URL from either build: only ES modules. */
export const workerFiles: readonly string[] = [
  "threads/handler-worker",
  "onnx/session-handler",
  "onnx/text/token-handler",
  "onnx/text/vector-handler",
];

export interface Entry {
  /** As in `exports`: `./dispatch/openai`. */
  readonly name: string;
  /** As programs import it: `batchwise/dispatch/openai`. */
  readonly specifier: string;
  /** The absolute path of the source file. */
  readonly source: string;
  /**
   * The source file relative to src, without its extension; the built files have the same path
   * under dist.
   */
  readonly file: string;
}

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly typesVersions?: unknown;
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync(manifestFile, "utf8")) as Manifest;
}

function nameOf(file: string): string {
  const folders = file.split("/").slice(0, -1);
  const named = folders.filter((folder) => !groupFolders.has(folder));
  return [".", ...named.map((folder) => namesOfFolders[folder] ?? folder)].join("/");
}

export function findEntries(): Entry[] {
  const entries = globSync("**/index.ts", { cwd: `${library}/src` }).map((path) => {
    const name = nameOf(path);
    return {
      name,
      specifier: `batchwise${name.slice(1)}`,
      file: path.replace(/\.ts$/, ""),
      source: `${library}/src/${path}`,
    };
  });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The files from which bundles for browsers are made. */
export function portableFiles(entries: readonly Entry[]): string[] {
  const portable = entries.filter(({ name }) => portableEntries.has(name)).map(({ file }) => file);
  return [...portable, ...Object.values(browserFiles)];
}

/**
 * `import` and `require` of one entry, each with its own types; the first matching condition is
 * used.
 */
function conditionsOf({ name, file }: Entry): object {
  const browser = browserFiles[name];
  const build = (types: string, extension: string): object => ({
    types: `./dist/${file}${types}`,
    ...(browser === undefined
      ? {}
      : { browser: `./dist/${browser}${extension}`, "react-native": `./dist/${browser}${extension}` }),
    default: `./dist/${file}${extension}`,
  });
  return { import: build(".d.ts", ".js"), require: build(".d.cts", ".cjs") };
}

/** `typesVersions` is for TypeScript's `node10`, which does not read `exports`. */
function manifestParts(entries: readonly Entry[]): Manifest {
  const conditions = entries.map((entry) => [entry.name, conditionsOf(entry)]);
  const types = entries
    .filter(({ name }) => name !== ".")
    .map(({ name, file }) => [name.slice("./".length), [`./dist/${file}.d.cts`]]);
  return {
    exports: { ...Object.fromEntries(conditions), "./package.json": "./package.json" },
    typesVersions: { "*": Object.fromEntries(types) },
  };
}

/** True if package.json lists the entries of the source folders. */
export function isManifestCurrent(entries: readonly Entry[]): boolean {
  const { exports, typesVersions } = readManifest();
  return isDeepStrictEqual({ exports, typesVersions }, manifestParts(entries));
}

export function writeManifest(entries: readonly Entry[]): void {
  writeFileSync(manifestFile, `${JSON.stringify({ ...readManifest(), ...manifestParts(entries) }, null, 2)}\n`);
}
