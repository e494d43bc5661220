// The folders with their own package.json and lock, outside the workspace. They hold large packages
// that few commands need, so that `npm ci` at the root stays small; each command installs the
// folders that it needs. Packages that a folder does not have come from the root.

import { existsSync, statSync } from "node:fs";
import { runQuietly } from "./steps.ts";

/** Each with its contents and its installed size in MB. */
const FOLDERS = {
  "compat/runtimes": ["Node.js 20, 22 and 26, Bun, Deno, workerd", 861],
  "compat/frameworks": ["Next.js, NestJS, Jest, Prisma, LangChain, job queues and others", 823],
  "compat/versions": ["other releases of the providers' clients and of TypeScript", 144],
  "compat/models": ["trained models, transformers.js", 96],
  "compat/publish": ["publint, Are The Types Wrong", 39],
  site: ["VitePress, TypeDoc", 150],
  bench: ["the libraries of the comparison", 4],
} as const;

export type Folder = keyof typeof FOLDERS;

export const folders = Object.keys(FOLDERS) as readonly Folder[];

/** The folders with tests of `npm test`. */
export const tested: readonly Folder[] = folders.filter((folder) => !["compat/publish", "site"].includes(folder));

/** Prints which folders `install` would install now, and how large they are. */
export function announce(wanted: readonly Folder[]): void {
  for (const folder of missingOf(wanted)) {
    const [holds, megabytes] = FOLDERS[folder];
    console.log(`Installing ${folder}: ${holds} (${megabytes} MB)`);
  }
}

/**
 * Installs folders that are missing or older than their lock, all at once. First prints which, and
 * how large they are; rejects if one fails, with what npm printed.
 */
export async function install(wanted: readonly Folder[]): Promise<void> {
  announce(wanted);
  await Promise.all(
    missingOf(wanted).map(async (folder) => {
      const { passed, output } = await runQuietly("npm ci --silent", folder);
      if (!passed) throw new Error(`npm ci failed in ${folder}\n${output}`);
    }),
  );
}

function missingOf(wanted: readonly Folder[]): Folder[] {
  return wanted.filter((name) => !isInstalled(name));
}

/** npm writes the hidden lock at the end of an installation. */
function isInstalled(folder: Folder): boolean {
  const [lock, installed] = [`${folder}/package-lock.json`, `${folder}/node_modules/.package-lock.json`];
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs;
}
