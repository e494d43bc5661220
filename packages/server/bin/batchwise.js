#!/usr/bin/env node
// The command as npm links it. It is not built, because npm makes no link to a file that is only there after a build.

import { existsSync } from "node:fs";

const built = new URL("../dist/cli/main.js", import.meta.url);

if (existsSync(built)) await import(built.href);
else {
  console.error("batchwise: it is not built yet. Run `npm run build` in the clone.");
  process.exitCode = 1;
}
