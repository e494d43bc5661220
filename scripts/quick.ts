// `npm run test:quick`: the unit tests that need little time, no server, and no folder with its own
// lock. Arguments go to vitest.

import { run } from "./steps.ts";

process.env.BATCHWISE_QUICK = "1";
const projects = ["unit", "own-process", "threads"].map((name) => `--project ${name}`);
process.exitCode = run(["vitest run", ...projects, ...process.argv.slice(2)].join(" ")) ? 0 : 1;
