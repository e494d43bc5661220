// One copy of code for both module systems. A Node.js entry is written once, as a CommonJS file
// that exports a function of its outside dependencies; the `.js` and `.cjs` beside it import these
// in their own way and call it. So the two builds together are not twice the size, code imported as
// ES modules reaches the same instances of the library as the application's other imports, and a
// bundler sees every import by name.
//
// The function makes one instance of the code for each module system that loads it. Exported names
// must not be assigned after their module has run.

import { dirname, posix } from "node:path";

/** A chunk from the bundler, in CommonJS. */
export interface Chunk {
  /** Relative to dist, without its extension. */
  readonly file: string;
  readonly code: string;
  /** Its requires: relative `.cjs` files and `node:` modules. */
  readonly imports: readonly string[];
  /** Its `import()` calls. */
  readonly dynamicImports: readonly string[];
  readonly exports: readonly string[];
}

/** Stands in the code for the URL that a source file would have under dist. */
const urlMark = "__batchwiseUrl";

/**
 * `import.meta.url` of a source file, in the form for the bundler. "" if an application's bundler
 * has removed it.
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
 * Inside `try`, bundlers allow a package to be missing; the program gets the error when it needs
 * it.
 */
function optional(loading: string): string {
  return `async () => { try { return ${loading}; } catch (error) { throw error; } }`;
}

function implOf(file: string): string {
  return `./${posix.basename(file)}.impl.cjs`;
}

/** A module of Node.js is passed as `require` returns it: its default export. */
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

/** The last line never runs: tools read the names of a CommonJS module there. */
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
