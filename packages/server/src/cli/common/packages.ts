// Packages that the user installs when a command needs them: clients of stores and providers, the runtime of models. The
// command depends on none.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandError } from "./failures.ts";

/** From the working folder's project, else from beside this package. `why` says what asked for it. */
export function loadPackage<Shape>(name: string, why: string): Shape {
  return createRequire(import.meta.url)(pathFor(name, why)) as Shape;
}

function pathFor(name: string, why: string): string {
  for (const from of [join(process.cwd(), "package.json"), import.meta.url]) {
    const path = pathOf(createRequire(from), name);
    if (path !== null) return path;
  }
  throw new CommandError(`${why} needs the package "${name}", which is not installed here: npm install ${name}`);
}

/** A class of a client. */
export type ClientClass = new (options: object) => object;

/** One class of a package, found as `loadPackage` finds it. The package may have modules of either kind. */
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
