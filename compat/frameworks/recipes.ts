// The blocks of docs/recipes.md as files, so that a test imports exactly what a reader copies.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { root, textOf } from "../../packages/batchwise/test/house/repository.ts";

/** The folder in which the packages of the recipes are installed. */
export const home: string = `${root}compat/frameworks/`;

const page = textOf("docs/recipes.md");

/** The headings of the page, each with the TypeScript and Prisma blocks of its section. */
export const sections: ReadonlyMap<string, string> = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf("\n")), text] as const),
);

export interface Block {
  /** The name in its first line, `// name.ts`, or else `recipe` and its extension. */
  readonly file: string;
  readonly code: string;
  readonly runsAlone: boolean;
}

/** The blocks of one section, in order. Throws if there is no such section or it has none. */
export function blocksOf(heading: string): Block[] {
  const fences = sections.get(heading)?.matchAll(/^```(tsx?|prisma)( run)?\n([\s\S]*?)^```$/gm) ?? [];
  const blocks = [...fences].map(([, kind = "", run, code = ""]) => {
    const [, named] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
    return { file: named ?? `recipe.${kind}`, code, runsAlone: run !== undefined };
  });
  if (blocks.length === 0) throw new Error(`docs/recipes.md has no code under "${heading}"`);
  return blocks;
}

/** Writes the blocks of a section into a folder, which ends in a slash. */
export function writeRecipe(heading: string, folder: string): void {
  for (const { file, code } of blocksOf(heading)) writeFileSync(folder + file, code);
}

/**
 * Prisma's CLI loads its studio and its development server even to generate a client; they are not
 * installed here.
 */
const withoutStudio = `import { registerHooks } from "node:module";
registerHooks({
  resolve: (name, context, next) => next(/^@prisma.(dev|studio-core)./.test(name) ? "node:module" : name, context),
});`;

/**
 * Generates the client of the page's Prisma schema into the folder's `generated`. Downloads
 * nothing.
 */
export function writePrismaClient(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const schema = blocksOf("Prisma").find(({ file }) => file === "recipe.prisma")?.code ?? "";
  writeFileSync(`${folder}schema.prisma`, schema);
  const hook = `data:text/javascript,${encodeURIComponent(withoutStudio)}`;
  const args = [`${home}node_modules/prisma/build/index.js`, "generate", "--schema", `${folder}schema.prisma`];
  // The schema engine, which only migrations need, would be downloaded; any existing file prevents
  // that.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: "1" };
  execFileSync(process.execPath, ["--import", hook, ...args], { cwd: folder, env, stdio: "pipe" });
}
