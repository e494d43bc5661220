// `npm run test:quick`: the unit tests that need no server and take less than ten seconds each. Arguments go to vitest.

import { run } from "./steps.ts";
import { slow } from "./test-files.ts";

const projects = ["unit", "own-process", "threads"].map((name) => `--project ${name}`);
const excluded = slow.map((file) => `--exclude ${file}`);
const ended = run(["vitest run", ...projects, ...excluded, ...process.argv.slice(2)].join(" "));
process.exitCode = ended ? 0 : 1;
