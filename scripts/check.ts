// All checks that do not run the product: format and lint without warnings, types (the portable
// part also with browser types only), the layer rules, the size limits, the packages as published,
// and unused code. Each step also runs separately. Installs the folders with their own lock first.

import { availableParallelism } from "node:os";
import { folders, install } from "./folders.ts";
import { runSteps } from "./steps.ts";

await install(folders);
const compiled = folders.filter((folder) => folder !== "compat/publish");

await runSteps(
  [
    { name: "format and lint", command: "npm run --silent check:lint" },
    { name: "types", command: "npm run --silent check:types" },
    ...compiled.map((folder) => ({ name: `types of ${folder}`, command: `tsc -p ${folder}` })),
    { name: "layers and sizes", command: "npm run --silent check:layers" },
    { name: "packages", command: "npm run --silent check:packages" },
    { name: "unused code", command: "npm run --silent check:unused" },
  ],
  { atOnce: availableParallelism() },
);
