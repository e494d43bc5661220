// Bundles the compiled declarations of the library: one `.d.cts` per entry, and a few that entries
// share. The `.d.ts` beside it exports the same declarations, so a type is the same in both builds.

import { writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import type { Entry } from "./entries.ts";
import { groupsIn } from "./javascript.ts";

/** The files in `shared/`: for each folder, the parts that several entries use. */
const groups = [
  { name: "types", test: /\/core\// },
  { name: "tensor-types", test: /\/tensor\// },
  { name: "dispatch-types", test: /\/dispatch\// },
].map((group) => ({ ...group, minShareCount: 2 }));

/**
 * Names that TypeScript has only in the library esnext.disposable, which a project has to enable.
 */
const disposable = /\bSymbol\.(dispose|asyncDispose)\b|\b(Async)?Disposable\b/;

/** Bundles the declarations that tsc wrote to the folder `compiled` into the folder `dist`. */
export async function bundleDeclarations(entries: readonly Entry[], compiled: string, dist: string): Promise<void> {
  const build = await rolldown({
    cwd: compiled,
    input: Object.fromEntries(entries.map(({ file }) => [file, join(compiled, `${file}.d.ts`)])),
    external: (name) => !name.startsWith(".") && !name.startsWith("/"),
    plugins: [
      dts({
        dtsInput: true,
        emitDtsOnly: true,
        sourcemap: false,
        tsconfig: resolve("packages/batchwise/tsconfig.json"),
      }),
    ],
  });
  const { output } = await build.write({
    dir: dist,
    format: "esm",
    entryFileNames: "[name].d.cts",
    chunkFileNames: "shared/[name].d.cts",
    codeSplitting: { groups: groupsIn(groups, compiled) },
    minifyInternalExports: false,
  });
  for (const chunk of output) {
    if (chunk.type !== "chunk" || !disposable.test(chunk.code)) continue;
    writeFileSync(join(dist, chunk.fileName), `/// <reference lib="esnext.disposable" />\n${chunk.code}`);
  }
  for (const { file } of entries) {
    writeFileSync(join(dist, `${file}.d.ts`), `export * from "./${basename(file)}.cjs";\n`);
  }
}
