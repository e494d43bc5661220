// All checks that do not run the product: format and lint without warnings, types (the portable
// part also with browser types only), the layer rules, the size limits, the packages as published,
// and unused code. Installs the folders with their own lock first.

import { availableParallelism } from "node:os";
import { checksAfter } from "./checks.ts";
import { folders, install } from "./folders.ts";
import { printResults, runSteps } from "./steps.ts";

await install(folders);
const build = { name: "build", command: "node scripts/build.ts" };
const layers = { name: "layers and sizes", command: "npm run --silent check:layers" };
const steps = [build, ...checksAfter({ installed: [], built: [build.name] }), layers];
printResults(await runSteps(steps, { atOnce: availableParallelism() }));
