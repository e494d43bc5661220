// Shared by the house tests: the repository's path, its files, and the parser of TypeScript files.
// Contains no rules, and writes only into the scratch folders.

import { type Dirent, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Comment, type Program, parseSync } from "oxc-parser";

export const root: string = fileURLToPath(new URL("../../../../", import.meta.url));

const generated = /^(node_modules|dist(-\d+)?|\.cache)$/;

/** Paths relative to the repository, with forward slashes, sorted. */
export function filesMatching(...patterns: readonly string[]): string[] {
  const exclude = (entry: Dirent) => generated.test(entry.name);
  const found = globSync([...patterns], { cwd: root, withFileTypes: true, exclude });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length))
    .sort();
}

export function textOf(path: string): string {
  return readFileSync(root + path, "utf8");
}

export function manifestOf(folder: string): Manifest {
  return JSON.parse(textOf(`${folder}/package.json`)) as Manifest;
}

/** The files of one entry in one module system. */
interface Built {
  readonly types: string;
  readonly default: string;
}

export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly exports: Readonly<Record<string, string | { readonly import: Built; readonly require: Built }>>;
}

export function parse(path: string, text: string): Program {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  return program;
}

/** The comments of a file in order, without text in strings that looks like a comment. */
export function commentsIn(path: string, text: string): readonly Comment[] {
  const { comments, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  return comments;
}

/**
 * A fresh folder inside `home`, a folder of the repository whose path ends in a slash, so that
 * packages resolve from it as they do from `home`.
 */
export function scratchFolder(name: string, home: string = root): string {
  mkdirSync(`${home}.cache`, { recursive: true });
  return `${mkdtempSync(`${home}.cache/${name}-`)}/`;
}

/** The absolute path of a built file; tests of the installed package need `npm run build`. */
export function built(path: string): string {
  const file = `${root}packages/batchwise/dist/${path}`;
  if (!existsSync(file)) throw new Error(`${file} is missing: run \`npm run build\` first`);
  return file;
}
