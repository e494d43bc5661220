// A dispatcher in a process of its own that dies by SIGKILL when a point is reached for the nth
// time. Run as `node kill-child.ts <json of KillDeath>`. Prints what it did only if it lived.

import { flushCompileCache } from "node:module";
import { dispatchAll, type KillWork } from "./kill-run.ts";

export interface KillDeath extends KillWork {
  readonly dieAt: string;
  readonly dieAtCount: number;
}

const { dieAt, dieAtCount, ...work } = JSON.parse(process.argv[2] ?? "") as KillDeath;
let reached = 0;

const report = await dispatchAll(work, (name) => {
  if (name !== dieAt) return;
  reached += 1;
  if (reached < dieAtCount) return;
  // A killed process writes no compile cache, so write it before.
  flushCompileCache();
  process.kill(process.pid, "SIGKILL");
});
console.log(JSON.stringify(report));
