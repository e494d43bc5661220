/**
 * Loaded with `node --import` into processes that tests start from the sources: resolves the library's public names
 * to its sources, as the test runner does in its own process.
 */

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

const library = new URL("../../../batchwise/", import.meta.url);
const { exports: entries } = JSON.parse(readFileSync(new URL("package.json", library), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly import: { readonly default: string } }>>;
};

/** The source file of `batchwise` or `batchwise/entry`; undefined for other names. */
function sourceOf(specifier: string): string | undefined {
  const entry = /^batchwise(?=\/|$)/.test(specifier) ? entries[`.${specifier.slice("batchwise".length)}`] : undefined;
  if (entry === undefined || typeof entry === "string") return undefined;
  return new URL(entry.import.default.replace("./dist/", "src/").replace(/\.js$/, ".ts"), library).href;
}

registerHooks({
  resolve: (specifier, context, next) => next(sourceOf(specifier) ?? specifier, context),
});
