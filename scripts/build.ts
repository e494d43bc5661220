// Builds both packages into their dist folders, the library first because the server is typed
// against its output. Each is built beside its dist and swapped in, so that nothing stale is packed
// and a failed build leaves the last good one. It does not check tests, bench or examples:
// `npm run check` does.
//
// The server is compiled file by file. The library is compiled, then bundled into a few files an
// entry, for `import` and for `require`.

import { chmodSync, existsSync, renameSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { bundleDeclarations } from "./library/declarations.ts";
import { findEntries, isManifestCurrent } from "./library/entries.ts";
import { bundleJavaScript } from "./library/javascript.ts";
import { run } from "./steps.ts";

const commandFile = "packages/server/dist/cli/main.js";

function compile(name: string, to: string): void {
  if (!run(`tsc -p packages/${name} --outDir ${to}`)) throw new Error(`packages/${name} does not compile`);
}

async function buildLibrary(to: string): Promise<void> {
  const entries = findEntries();
  if (!isManifestCurrent(entries)) {
    throw new Error("packages/batchwise/package.json does not list the entries that src has: run `npm run exports`");
  }
  const compiled = resolve(`${to}-compiled`);
  try {
    compile("batchwise", compiled);
    await bundleJavaScript(entries, compiled, to);
    await bundleDeclarations(entries, compiled, resolve(to));
  } finally {
    rmSync(compiled, { recursive: true, force: true });
  }
}

async function build(name: string, write: (to: string) => void | Promise<void>): Promise<void> {
  const dist = `packages/${name}/dist`;
  const fresh = `${dist}-${process.pid}`;
  try {
    await write(fresh);
    rmSync(dist, { recursive: true, force: true });
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

try {
  await build("batchwise", buildLibrary);
  await build("server", (to) => compile("server", to));
  if (existsSync(commandFile)) chmodSync(commandFile, 0o755);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
