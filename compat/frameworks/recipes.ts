// The blocks of docs/recipes.md as files: what a test imports is what a reader copies.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { root, textOf } from "../../packages/batchwise/test/house/repository.ts";

/** Where the packages of the recipes are installed. */
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
  /** The name that its first line gives it as `// name.ts`, or else `recipe` and its extension. */
  readonly file: string;
  readonly code: string;
  readonly runsAlone: boolean;
}

/** The blocks of one section, in order. Throws where there is no such section or it has none. */
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
 * The CLI of Prisma loads its studio and its development server, which are not installed here, to
 * generate a client too.
 */
const withoutStudio = `import { registerHooks } from "node:module";
registerHooks({
  resolve: (name, context, next) => next(/^@prisma.(dev|studio-core)./.test(name) ? "node:module" : name, context),
});`;

/**
 * Generates the client of the page's Prisma schema into `generated` of a folder. Downloads nothing.
 */
export function writePrismaClient(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const schema = blocksOf("Prisma").find(({ file }) => file === "recipe.prisma")?.code ?? "";
  writeFileSync(`${folder}schema.prisma`, schema);
  const hook = `data:text/javascript,${encodeURIComponent(withoutStudio)}`;
  const args = [`${home}node_modules/prisma/build/index.js`, "generate", "--schema", `${folder}schema.prisma`];
  // Its schema engine, which migrations need, is a program that would be downloaded: any file
  // stands for it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: "1" };
  execFileSync(process.execPath, ["--import", hook, ...args], { cwd: folder, env, stdio: "pipe" });
}
