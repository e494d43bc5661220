// Loads packages that the user installs when a command needs them: clients of stores and providers,
// the runtime of models. The command depends on none of them.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandError } from "./failures.ts";

/** Files that mark the root of a project, which contains its packages. */
const ROOT_MARKS = [
  ...(["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml"] as const),
  ...(["bun.lock", "bun.lockb", "deno.lock", ".git"] as const),
];

/**
 * Loads from the working folder's project, else from the place of this package. `why`: the option
 * or feature that needs it, for the error.
 */
export function loadPackage<Shape>(name: string, why: string): Shape {
  return createRequire(import.meta.url)(pathFor(name, why)) as Shape;
}

function pathFor(name: string, why: string): string {
  const inProject = projectFolders(process.cwd()).find((folder) => holdsPackage(folder, name));
  const from = [...(inProject === undefined ? [] : [join(inProject, "package.json")]), import.meta.url];
  for (const place of from) {
    const path = pathOf(createRequire(place), name);
    if (path !== null) return path;
  }
  throw new CommandError(`${why} needs the package "${name}", which is not installed here: npm install ${name}`);
}

/**
 * The folder and its parents up to the root of its project, that is, the nearest folder with a lock
 * file or `.git`. Without a root, only the folder itself: a parent may belong to someone else, as
 * `/tmp/node_modules` does.
 */
function projectFolders(folder: string): string[] {
  const folders = [resolve(folder)];
  for (let last = folders[0] as string; !isRoot(last); folders.push(last)) {
    if (dirname(last) === last) return folders.slice(0, 1);
    last = dirname(last);
  }
  return folders;
}

function isRoot(folder: string): boolean {
  return ROOT_MARKS.some((mark) => existsSync(join(folder, mark)));
}

/** Plug'n'Play knows the packages of a project without folders. */
function holdsPackage(folder: string, name: string): boolean {
  return process.versions.pnp !== undefined || existsSync(join(folder, "node_modules", name));
}

/** The class of a client. */
export type ClientClass = new (options: object) => object;

/**
 * A class of a package, found as `loadPackage` finds it. The package may be an ES or a CommonJS
 * module.
 */
export async function loadClient(packageName: string, className: string, why: string): Promise<ClientClass> {
  const found = await import(pathToFileURL(pathFor(packageName, why)).href);
  const { default: inDefault } = found as { readonly default?: Readonly<Record<string, unknown>> };
  const client: unknown = (found as Readonly<Record<string, unknown>>)[className] ?? inDefault?.[className];
  if (typeof client === "function") return client as ClientClass;
  throw new CommandError(`${why} needs a later version of the package "${packageName}": it has no ${className}`);
}

/** Throws if this package's own modules could not import it. `install`: the command for that. */
export function expectPackage(name: string, install: string, why: string): void {
  if (pathOf(createRequire(import.meta.url), name) !== null) return;
  throw new CommandError(`${why} needs the package "${name}", which is not installed here: ${install}`);
}

function pathOf(require: NodeJS.Require, name: string): string | null {
  try {
    return require.resolve(name);
  } catch {
    return null;
  }
}
