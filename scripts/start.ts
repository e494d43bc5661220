// Builds, then becomes the server: one process under npm (hence `exec` in the npm script), so that
// a signal to `npm start` reaches the process that drains.

import { run } from "./steps.ts";

const commandFile = new URL("../packages/server/dist/cli/main.js", import.meta.url).pathname;

if (!run("node scripts/build.ts")) process.exit(1);
process.argv.splice(1, 1, commandFile, "serve");
await import(commandFile);
