// The library on JSR consists of its sources; jsr.json is derived from package.json and the source
// folders.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Entry } from "./entries.ts";

const library = fileURLToPath(new URL("../../packages/batchwise", import.meta.url));
const jsrFile = `${library}/jsr.json`;
const workspaceManifest = fileURLToPath(new URL("../../package.json", import.meta.url));

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The exact version of each package with which the tests run. */
type Tested = Readonly<Record<string, string>>;

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}

/**
 * Imports of the peers name the tested version and compatible ones: the peers' ranges accept every
 * version, and JSR would take the newest. `compilerOptions` are the options under which the sources
 * have no type errors and which are not Deno's defaults.
 */
function jsrManifest(entries: readonly Entry[]): object {
  const { version, license, peerDependencies } = readJson(`${library}/package.json`) as Manifest;
  const { devDependencies: tested } = readJson(workspaceManifest) as { readonly devDependencies: Tested };
  return {
    name: "@batchwise/batchwise",
    version,
    license,
    exports: Object.fromEntries(entries.map(({ name, file }) => [name, `./src/${file}.ts`])),
    imports: Object.fromEntries(Object.keys(peerDependencies).map((peer) => [peer, `npm:${peer}@^${tested[peer]}`])),
    compilerOptions: { exactOptionalPropertyTypes: true },
    publish: { include: ["src", "jsr.json", "CHANGELOG.md", "LICENSE", "README.md"] },
  };
}

/** True if jsr.json matches package.json and the source folders. */
export function isJsrCurrent(entries: readonly Entry[]): boolean {
  return isDeepStrictEqual(readJson(jsrFile), jsrManifest(entries));
}

export function writeJsr(entries: readonly Entry[]): void {
  writeFileSync(jsrFile, `${JSON.stringify(jsrManifest(entries), null, 2)}\n`);
}
