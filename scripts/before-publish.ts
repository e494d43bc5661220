// Runs in a package's folder before `npm publish`. Fails unless the commit of the package's version
// is checked out without changes, the manifest has its addresses, and `dist` equals the build of
// that commit. To check that, it builds again.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Addresses, publishRefusalsOf } from "./release-checks.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = process.cwd();

function git(...args: readonly string[]): string[] {
  const lines = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n");
  return lines.filter((line) => line !== "");
}

/** One digest of the names and contents of all files in the package's dist. */
function digestOfDist(): string {
  const hash = createHash("sha256");
  const files = globSync("dist/**/*", { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map((file) => `${file.parentPath}/${file.name}`).sort()) {
    const content = readFileSync(path);
    hash.update(`${relative(folder, path)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

/** Builds, and says what to do if that changed dist. */
function buildRefusals(version: string): string[] {
  const before = digestOfDist();
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
  if (digestOfDist() === before) return [];
  return [`dist was not what v${version} builds. It is now: run \`npm run ci\`, then publish again.`];
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Addresses & { readonly version: string };
const refusals = publishRefusalsOf(manifest.version, {
  changes: git("status", "--porcelain"),
  tagsHere: git("tag", "--points-at", "HEAD"),
  manifests: { [relative(root, `${folder}/package.json`)]: manifest },
});
if (refusals.length === 0) refusals.push(...buildRefusals(manifest.version));
for (const refusal of refusals) console.error(refusal);
if (refusals.length > 0) process.exitCode = 1;
