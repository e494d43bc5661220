// Makes a release: `npm run release -- 1.2.3`. Fails if the tree has changes, the version is not
// above the current one, a changelog lacks it or a manifest lacks an address. Then it writes the
// version into the packages, runs everything that must pass, commits and tags. It never pushes or
// publishes: it prints the commands that do.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { type Addresses, refusalsOf } from "./release-checks.ts";
import { run } from "./steps.ts";

const packages = ["packages/batchwise", "packages/server"];

interface Manifest extends Addresses {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function git(...args: readonly string[]): string[] {
  const lines = execFileSync("git", args, { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line !== "");
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as Manifest;
}

/** The server depends on exactly the library version of its release. */
function writeVersion(folder: string, version: string): void {
  const manifest = manifestOf(folder);
  const { dependencies } = manifest;
  const pinned = dependencies?.batchwise === undefined ? {} : { dependencies: { ...dependencies, batchwise: version } };
  writeFileSync(`${folder}/package.json`, `${JSON.stringify({ ...manifest, version, ...pinned }, null, 2)}\n`);
}

const [version = ""] = process.argv.slice(2);
const refusals = refusalsOf(version, {
  changes: git("status", "--porcelain"),
  branch: git("branch", "--show-current")[0] ?? "",
  tags: git("tag"),
  current: manifestOf(packages[0] as string).version,
  changelogs: Object.fromEntries(
    packages.map((folder) => [`${folder}/CHANGELOG.md`, readFileSync(`${folder}/CHANGELOG.md`, "utf8")]),
  ),
  manifests: Object.fromEntries(packages.map((folder) => [`${folder}/package.json`, manifestOf(folder)])),
});
if (refusals.length > 0) {
  for (const refusal of refusals) console.error(refusal);
  process.exit(1);
}

for (const folder of packages) writeVersion(folder, version);
const isReady =
  run("npm install --package-lock-only --ignore-scripts") &&
  run("npm run --silent exports") &&
  run("biome check --write packages/batchwise/package.json packages/batchwise/jsr.json packages/server/package.json") &&
  run("npm run --silent ci");
if (!isReady) {
  console.error(`Not released. \`git checkout .\` takes the version ${version} back.`);
  process.exit(1);
}
git("commit", "--all", "--message", `release: ${version}`);
git("tag", `v${version}`);
console.log(`v${version} is committed and tagged here. To publish it:\n\n  git push --follow-tags`);
for (const folder of packages) console.log(`  npm publish ./${folder} --access public`);
console.log("  (cd packages/batchwise && npx deno publish)");
