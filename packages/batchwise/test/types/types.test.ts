import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { built, root, scratchFolder } from "../house/repository.ts";

// The fixtures beside this file are compiled as a user's program is: against the declarations that were built.
const here = `${root}packages/batchwise/test/types`;

test("the built declarations infer, accept and refuse what the fixtures say, in a strict program", () => {
  built("index.d.ts");
  const folder = scratchFolder("types");
  const config = {
    compilerOptions: {
      target: "es2022",
      lib: ["es2023", "esnext.disposable", "esnext.decorators"],
      module: "nodenext",
      types: ["node"],
      typeRoots: [`${root}node_modules/@types`],
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
      allowImportingTsExtensions: true,
    },
    files: ["handlers.ts", "mistakes.ts", "decorated.ts"].map((file) => `${here}/${file}`),
  };
  writeFileSync(`${folder}tsconfig.json`, JSON.stringify(config));
  const { stdout, stderr } = spawnSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  expect(stdout + stderr).toBe("");
});
