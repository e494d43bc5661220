// Packages that the user installs when a command needs them: clients of stores and providers, the runtime of models. The
// command depends on none.

import { createRequire } from "node:module";
import { join } from "node:path";
import { CommandError } from "./failures.ts";

/** From the working folder's project, else from beside this package. `why` says what asked for it. */
export function loadPackage<Shape>(name: string, why: string): Shape {
  for (const from of [join(process.cwd(), "package.json"), import.meta.url]) {
    const require = createRequire(from);
    const path = pathOf(require, name);
    if (path !== null) return require(path) as Shape;
  }
  throw new CommandError(`${why} needs the package "${name}", which is not installed here: npm install ${name}`);
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
