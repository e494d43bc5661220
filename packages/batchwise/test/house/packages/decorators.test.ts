import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { built, root, scratchFolder } from "../repository.ts";

// vitest's own compiler leaves standard decorators as they are, and Node.js does not read them yet:
// so the fixture goes through the compilers that users have.
const fixture = `${root}packages/batchwise/test/house/fixtures/decorated.ts`;
const folder = scratchFolder("decorators");

function outputOf(file: string): unknown {
  return JSON.parse(execFileSync(process.execPath, [file], { encoding: "utf8" }));
}

describe("a method decorated with batched()", () => {
  beforeAll(() => {
    built("index.js");
    writeFileSync(`${folder}package.json`, `{ "type": "module" }`);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const expected = {
    results: [[2, 4], [6], [8]],
    first: [[1, 2, 3]],
    second: [[4]],
  };

  test("merges the calls of all callers, per instance, when TypeScript compiled it", () => {
    const config = {
      extends: `${root}tsconfig.base.json`,
      compilerOptions: {
        rootDir: `${root}packages/batchwise/test/house/fixtures`,
        outDir: folder,
        declaration: false,
        declarationMap: false,
        isolatedDeclarations: false,
      },
      files: [fixture],
    };
    writeFileSync(`${folder}tsconfig.json`, JSON.stringify(config));
    execFileSync(`${root}node_modules/.bin/tsc`, ["-p", folder], { stdio: "inherit" });
    expect(outputOf(`${folder}decorated.js`)).toEqual(expected);
  });

  test("merges the calls of all callers, per instance, when esbuild compiled it", async () => {
    await build({ entryPoints: [fixture], outfile: `${folder}by-esbuild.js`, target: "es2022", format: "esm" });
    expect(outputOf(`${folder}by-esbuild.js`)).toEqual(expected);
  });
});
