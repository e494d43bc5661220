// Compiles and imports a fixture with decorators, which vitest does not compile. Its imports of
// batchwise are the sources.

import { rmSync } from "node:fs";
import { build } from "esbuild";
import { root, scratchFolder } from "../house/repository.ts";

/** Standard: TC39 decorators. Legacy: `experimentalDecorators`. */
export type DecoratorForm = "standard" | "legacy";

export async function compiled<Module>(fixture: string, form: DecoratorForm): Promise<Module> {
  const folder = scratchFolder(`${fixture}-${form}`);
  const outfile = `${folder}${fixture}.js`;
  await build({
    entryPoints: [`${root}packages/batchwise/test/core/fixtures/${fixture}.ts`],
    outfile,
    target: "es2022",
    format: "esm",
    tsconfigRaw: { compilerOptions: { experimentalDecorators: form === "legacy" } },
  });
  try {
    return (await import(outfile)) as Module;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
