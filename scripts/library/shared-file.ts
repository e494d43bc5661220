// One copy of code for both module systems. A Node.js entry is written once, as a CommonJS file
// that exports a function of what the code needs from outside; `.js` and `.cjs` beside it import
// that in their own way and call it. So both builds together are not twice the size, code imported
// as ES modules reaches the same instances of the library as the application's other imports, and a
// bundler sees every import by name.
//
// The function makes one instance of the code for each module system that loads it. Names that are
// exported must not be assigned to after their module has run.

import { dirname, posix } from "node:path";

/** A chunk as the bundler gave it, in CommonJS. */
export interface Chunk {
  /** Relative to dist, without its extension. */
  readonly file: string;
  readonly code: string;
  /** What it requires: relative `.cjs` files and `node:` modules. */
  readonly imports: readonly string[];
  /** What it loads by `import()`. */
  readonly dynamicImports: readonly string[];
  readonly exports: readonly string[];
}

/** Stands in the code for the URL that a source file would have under dist. */
const urlMark = "__batchwiseUrl";

/**
 * `import.meta.url` of a source file, as the bundler shall see it. "" where an application's
 * bundler has taken it away.
 */
export function markUrl(file: string): string {
  return `${urlMark}("${file}.js")`;
}

function fillUrls(code: string, file: string): string {
  return code.replaceAll(new RegExp(`${urlMark}\\("([^"]+)"\\)`, "g"), (_, target: string) => {
    const relative = posix.relative(dirname(file), target);
    return `(moduleUrl ? new URL("${relative.startsWith(".") ? relative : `./${relative}`}", moduleUrl).href : "")`;
  });
}

/** The three files of a chunk, by their names. */
export function sharedFiles(chunk: Chunk): Record<string, string> {
  const { file, code, dynamicImports } = chunk;
  const needsUrl = code.includes(urlMark);
  const loaded = dynamicImports.reduce((text, name) => text.replaceAll(`import("${name}")`, `load["${name}"]()`), code);
  const body = `"use strict";\nmodule.exports = (require, exports, load, moduleUrl) => {\n${fillUrls(loaded, file)}\n};\n`;
  return {
    [`${file}.impl.cjs`]: body,
    [`${file}.js`]: esModule(chunk, needsUrl),
    [`${file}.cjs`]: commonJs(chunk, needsUrl),
  };
}

function listOf(names: readonly string[], value: (name: string, index: number) => string): string {
  return `{ ${names.map((name, index) => `"${name}": ${value(name, index)}`).join(", ")} }`;
}

/**
 * Inside `try`, bundlers let a package be absent, which the program hears of when it asks for it.
 */
function optional(loading: string): string {
  return `async () => { try { return ${loading}; } catch (error) { throw error; } }`;
}

function implOf(file: string): string {
  return `./${posix.basename(file)}.impl.cjs`;
}

/** A module of Node.js is passed as `require` gives it: its default export. */
function esModule({ file, imports, dynamicImports, exports }: Chunk, needsUrl: boolean): string {
  const lines = imports.map((name, index) => {
    const isBuiltin = name.startsWith("node:");
    return `import ${isBuiltin ? "" : "* as "}module${index} from "${isBuiltin ? name : name.replace(/\.cjs$/, ".js")}";`;
  });
  return `${[
    ...lines,
    `import define from "${implOf(file)}";`,
    `const modules = ${listOf(imports, (_, index) => `module${index}`)};`,
    `const load = ${listOf(dynamicImports, (name) => optional(`await import("${name}")`))};`,
    "const exports = {};",
    `define((name) => modules[name], exports, load${needsUrl ? ", import.meta.url" : ""});`,
    `export const { ${exports.join(", ")} } = exports;`,
  ].join("\n")}\n`;
}

/**
 * The last line is never run: tools that look for the names of a CommonJS module read them there.
 */
function commonJs({ file, imports, dynamicImports, exports }: Chunk, needsUrl: boolean): string {
  const url = `, require("node:url").pathToFileURL(__filename).href`;
  return `${[
    `"use strict";`,
    `const modules = ${listOf(imports, (name) => `require("${name}")`)};`,
    `const load = ${listOf(dynamicImports, (name) => optional(`require("${name}")`))};`,
    `require("${implOf(file)}")((name) => modules[name], exports, load${needsUrl ? url : ""});`,
    `0 && (module.exports = { ${exports.join(", ")} });`,
  ].join("\n")}\n`;
}
