// A program that tests start again and again, as one bundle of the sources that it imports. A
// process that loads a few files starts in half the time of one that loads hundreds: worth it where
// a test file starts dozens of them.

import { basename, join } from "node:path";
import { build, type Plugin } from "esbuild";
import { findEntries } from "./library/entries.ts";

/** The library's public names mean its sources, as they do in the test runner. */
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

/** For packages in CommonJS, which call it inside the bundle too. */
const REQUIRE = `import { createRequire as createRequireOfBundle } from "node:module";
const require = createRequireOfBundle(import.meta.url);`;

/**
 * Writes the bundle into that folder and answers its file. Packages are in it too, or are imported
 * as they are where it says "external". A module that is imported dynamically runs when it is
 * needed.
 */
export async function bundledProgram(
  source: URL,
  folder: string,
  packages: "bundle" | "external" = "bundle",
): Promise<string> {
  await build({
    ...{ entryPoints: [source.pathname], outdir: folder, outExtension: { ".js": ".mjs" } },
    ...{ bundle: true, format: "esm", platform: "node", target: "node24" },
    packages,
    plugins: [sourceNames],
    // Optional, and not installed.
    external: ["pg-native"],
    banner: { js: packages === "bundle" ? REQUIRE : "" },
    // Half of the bytes, and a third of the start. Names stay, for the traces of errors.
    ...{ minifyWhitespace: true, minifySyntax: true, legalComments: "none" },
    logLevel: "error",
  });
  return join(folder, `${basename(source.pathname, ".ts")}.mjs`);
}
