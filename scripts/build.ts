// Compiles both packages to their dist folders, the library first because the server is typed against its output.
// Each is compiled beside its dist and swapped in, so that nothing stale is packed and a failed build leaves the
// last good one. It does not check tests, bench or examples: `npm run check` does.

import { chmodSync, existsSync, renameSync, rmSync } from "node:fs";
import { run } from "./steps.ts";

const commandFile = "packages/server/dist/cli/main.js";

for (const name of ["batchwise", "server"]) {
  const dist = `packages/${name}/dist`;
  const fresh = `${dist}-${process.pid}`;
  const built = run(`tsc -p packages/${name} --outDir ${fresh}`);
  if (built) {
    rmSync(dist, { recursive: true, force: true });
    renameSync(fresh, dist);
  } else {
    rmSync(fresh, { recursive: true, force: true });
    process.exit(1);
  }
}
if (existsSync(commandFile)) chmodSync(commandFile, 0o755);
