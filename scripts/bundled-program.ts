// Bundles a program that tests start many times with the sources that it imports. A process that
// loads a few files starts in half the time of one that loads hundreds; this pays if a test file
// starts dozens of them.

import { basename, join } from "node:path";
import { build, type Plugin } from "esbuild";
import { findEntries } from "./library/entries.ts";

/** Resolves the library's public names to its sources, as the test runner does. */
const sourceNames: Plugin = {
  name: "source-names",
  setup({ onResolve }) {
    const sources = new Map(findEntries().map(({ specifier, source }) => [specifier, source]));
    onResolve({ filter: /^batchwise(\/|$)/ }, ({ path }) => {
      const source = sources.get(path);
      return source === undefined ? null : { path: source };
    });
  },
};

/** For packages in CommonJS, which also call `require` inside the bundle. */
const REQUIRE = `import { createRequire as createRequireOfBundle } from "node:module";
const require = createRequireOfBundle(import.meta.url);`;

/**
 * Writes the bundle into the folder and returns the path of its file. Includes packages, unless
 * they are external, and the `threads` that it starts, under the names by which it finds them.
 * Of a package in CommonJS, a dynamic import has the default export only.
 */
export async function bundledProgram(
  source: URL,
  folder: string,
  packages: "bundle" | "external" = "bundle",
  threads: Readonly<Record<string, URL>> = {},
): Promise<string> {
  const name = basename(source.pathname, ".ts");
  const files = Object.entries({ [name]: source, ...threads }).map(([out, { pathname }]) => ({ in: pathname, out }));
  await build({
    ...{ entryPoints: files, outdir: folder, outExtension: { ".js": ".mjs" } },
    ...{ bundle: true, format: "esm", platform: "node", target: "node24" },
    // In parts, of which a process loads only those that it needs.
    splitting: true,
    packages,
    plugins: [sourceNames],
    // Optional, and not installed.
    external: ["pg-native"],
    banner: { js: packages === "bundle" ? REQUIRE : "" },
    // Halves the bytes, and saves a third of the start. Names are kept for the stack traces of
    // errors.
    ...{ minifyWhitespace: true, minifySyntax: true, legalComments: "none" },
    logLevel: "error",
  });
  return join(folder, `${name}.mjs`);
}
