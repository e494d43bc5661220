// The checks that do not run the product. All but the types of the folders also run separately, as
// npm scripts.

import { folders } from "./folders.ts";
import type { Step } from "./steps.ts";

/** The steps that install all folders, and the build steps, if they run along with the checks. */
interface Needs {
  readonly installed: readonly string[];
  readonly built: readonly string[];
}

export function checksAfter({ installed, built }: Needs): Step[] {
  const typed = folders.filter((folder) => folder !== "compat/publish");
  return [
    { name: "format and lint", command: "npm run --silent check:lint" },
    { name: "types", command: "npm run --silent check:types" },
    ...typed.map((folder) => ({ name: `types of ${folder}`, command: `tsc -p ${folder}`, after: installed })),
    { name: "unused code", command: "npm run --silent check:unused", after: installed },
    { name: "packages", command: "npm run --silent check:packed", after: [...installed, ...built] },
  ];
}
