// Builds the site into site/dist: `npm run site`. Copies the pages of the repository under their
// paths, makes TypeDoc write a page for each entry from the docstrings of its public names, and
// renders all with VitePress. Fails if the sidebar lacks a page, and on a broken link.

import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { sidebar } from "./sidebar.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const site = join(root, "site");
const pages = join(site, "made/pages");
const entries = join(site, "made/entries");

const PATTERNS = [
  "README.md",
  "CONTRIBUTING.md",
  "docs/**/*.{md,svg,png}",
  "{examples,packages,compat/*/examples}/*/README.md",
  "bench/README.md",
];

for (const folder of [pages, entries]) rmSync(folder, { recursive: true, force: true });
const found = PATTERNS.flatMap((pattern) => globSync(pattern, { cwd: root }));
for (const file of found) {
  mkdirSync(dirname(join(pages, file)), { recursive: true });
  cpSync(join(root, file), join(pages, file));
}

const linked = new Set(sidebar.flatMap(({ items }) => items.map(({ link }) => link)));
const unlinked = found.filter((file) => /^docs\/.*\.md$/.test(file) && !linked.has(`/${file.replace(/\.md$/, "")}`));
if (unlinked.length > 0)
  throw new Error(`Expected site/sidebar.ts to name every page, missing are ${unlinked.join(", ")}`);

/**
 * A file for each entry that package.json exports, with the import specifier as name, after which
 * TypeDoc names its page.
 */
const entryPoints = Object.entries(manifest().exports).flatMap(([entry, target]) => {
  const [, built] = /"[^"]*\/dist\/([^"]*)\.js"/.exec(JSON.stringify(target)) ?? [];
  if (built === undefined) return [];
  const file = join(entries, `${join("batchwise", entry)}.ts`.replace("/.ts", ".ts"));
  const index = join(root, "packages/batchwise/src", `${built}.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `export * from "${relative(dirname(file), index)}";\n`);
  return [file];
});
const options = {
  entryPoints,
  basePath: entries,
  out: join(pages, "api"),
  plugin: ["typedoc-plugin-markdown"],
  tsconfig: join(site, "tsconfig.reference.json"),
  readme: "none",
  excludePrivate: true,
  excludeInternal: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  outputFileStrategy: "modules",
  entryFileName: "index",
  useCodeBlocks: true,
  disableSources: true,
  validation: { invalidLink: true, notExported: false },
  treatWarningsAsErrors: true,
  logLevel: "Warn",
};
const optionsFile = join(site, "made/typedoc.json");
writeFileSync(optionsFile, JSON.stringify(options));
run("typedoc", ["--options", optionsFile]);
run("vitepress", ["build", site]);

function manifest(): { readonly exports: Readonly<Record<string, unknown>> } {
  return JSON.parse(readFileSync(join(root, "packages/batchwise/package.json"), "utf8"));
}

function run(command: string, args: readonly string[]): void {
  const bin = [join(site, "node_modules/.bin"), join(root, "node_modules/.bin"), process.env.PATH].join(":");
  const { status } = spawnSync(command, args, { cwd: site, stdio: "inherit", env: { ...process.env, PATH: bin } });
  if (status !== 0) process.exit(status ?? 1);
}
