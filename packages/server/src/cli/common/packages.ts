// Packages that the user installs when a command needs them: clients of stores and providers, the
// runtime of models. The command depends on none.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandError } from "./failures.ts";

/** Beside them are the packages of a project. */
const ROOT_MARKS = [
  ...(["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml"] as const),
  ...(["bun.lock", "bun.lockb", "deno.lock", ".git"] as const),
];

/**
 * From the working folder's project, else from beside this package. `why` says what asked for it.
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
 * The folder and those above it up to the root of its project: the nearest with a lock file or
 * `.git`. Without one the folder alone: what is above it may be anybody's, as `/tmp/node_modules`
 * is.
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

/** A class of a client. */
export type ClientClass = new (options: object) => object;

/**
 * One class of a package, found as `loadPackage` finds it. The package may have modules of either
 * kind.
 */
export async function loadClient(packageName: string, className: string, why: string): Promise<ClientClass> {
  const found = await import(pathToFileURL(pathFor(packageName, why)).href);
  const { default: inDefault } = found as { readonly default?: Readonly<Record<string, unknown>> };
  const client: unknown = (found as Readonly<Record<string, unknown>>)[className] ?? inDefault?.[className];
  if (typeof client === "function") return client as ClientClass;
  throw new CommandError(`${why} needs a later version of the package "${packageName}": it has no ${className}`);
}

/** Refuses where this package's own modules could not import it. `spec`: what to install. */
export function expectPackage(name: string, spec: string, why: string): void {
  if (pathOf(createRequire(import.meta.url), name) !== null) return;
  throw new CommandError(`${why} needs the package "${name}", which is not installed here: npm install ${spec}`);
}

function pathOf(require: NodeJS.Require, name: string): string | null {
  try {
    return require.resolve(name);
  } catch {
    return null;
  }
}
