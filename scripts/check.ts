// Everything that is held without running the product: format and lint with no warning left, types
// (also of the portable part, with browser types alone), the rules between the rooms, the size
// limits, the packages as they would be published, and code that nothing uses. Each step runs alone
// too; the folders with a lock of their own are installed first.

import { availableParallelism } from "node:os";
import { folders, install } from "./folders.ts";
import { runSteps } from "./steps.ts";

install(folders);
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
