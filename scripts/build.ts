// Compiles both packages to their dist folders, the library first because the server is typed against its output.
// It always starts from empty folders, so that nothing stale is packed; it does not check tests, bench or examples.

import { spawnSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";

for (const name of ["batchwise", "server"]) {
  rmSync(`packages/${name}/dist`, { recursive: true, force: true });
  const { status } = spawnSync("tsc", ["-p", `packages/${name}`], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
chmodSync("packages/server/dist/cli/main.js", 0o755);
